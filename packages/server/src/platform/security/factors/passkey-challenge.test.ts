// Tests challenges of passkeys: each is valid for one purpose and one binding, for ten minutes, in one spelling.
import assert from 'node:assert/strict';
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { type ChallengePurpose, createPasskeyChallenges } from './passkey-challenge.ts';

const start = Date.UTC(2030, 0, 1);
const minute = 60_000;
const purposes: readonly ChallengePurpose[] = ['sign_in', 'second_factor', 'step_up', 'registration'];

function fixture(key = randomBytes(32)) {
  const clock = { ms: start, now: () => clock.ms };
  return { key, clock, challenges: createPasskeyChallenges({ key, clock }) };
}

const base64url = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** Returns every text that differs from the given one in a single character. */
function* oneCharacterOff(text: string): Generator<string> {
  for (let index = 0; index < text.length; index++) {
    for (const other of `${base64url}.+/= \0é`) {
      if (text[index] !== other) yield text.slice(0, index) + other + text.slice(index + 1);
    }
  }
}

describe('a new challenge', () => {
  test('is 54 bytes in base64url and never repeats', () => {
    const { challenges } = fixture();
    const issued = Array.from({ length: 1000 }, () => challenges.issue('sign_in', 'browser').challenge);
    assert.equal(new Set(issued).size, 1000);
    for (const challenge of issued) assert.match(challenge, /^[\w-]{72}$/);
  });

  test('is read back with the hash of its bytes and the time at which it expires', () => {
    const { challenges } = fixture();
    for (const purpose of purposes) {
      const { challenge, expiresAt } = challenges.issue(purpose, 'binding');
      assert.equal(expiresAt.getTime(), start + 10 * minute);
      const hash = createHash('sha256').update(Buffer.from(challenge, 'base64url')).digest();
      assert.deepEqual(challenges.read(challenge, purpose, 'binding'), { hash, expiresAt });
    }
  });

  test('is read by another instance with the same key, and by none with another key', () => {
    const { challenges, key } = fixture();
    const { challenge } = challenges.issue('step_up', 'session');
    assert.notEqual(fixture(key).challenges.read(challenge, 'step_up', 'session'), null);
    assert.equal(fixture().challenges.read(challenge, 'step_up', 'session'), null);
  });
});

describe('a challenge is refused', () => {
  test('for another purpose', () => {
    const { challenges } = fixture();
    for (const purpose of purposes) {
      const { challenge } = challenges.issue(purpose, 'binding');
      for (const other of purposes)
        assert.equal(challenges.read(challenge, other, 'binding') !== null, other === purpose);
    }
  });

  test('for another binding', () => {
    const { challenges } = fixture();
    const { challenge } = challenges.issue('sign_in', 'binding');
    for (const other of ['', 'Binding', 'binding ', 'binding\0', '\0binding'])
      assert.equal(challenges.read(challenge, 'sign_in', other), null);
  });

  test('if it differs in a single character', () => {
    const { challenges } = fixture();
    for (const forged of oneCharacterOff(challenges.issue('sign_in', 'binding').challenge))
      assert.equal(challenges.read(forged, 'sign_in', 'binding'), null);
  });

  test('if it is anything else', () => {
    const { challenges, key } = fixture();
    const { challenge } = challenges.issue('sign_in', 'binding');
    const body = Buffer.from(challenge, 'base64url').subarray(0, 22);
    const unlabelled = createHmac('sha256', key).update('binding').update(body).digest();
    const rows = [
      '',
      challenge.slice(1),
      `${challenge}A`,
      `${challenge}\n`,
      ` ${challenge}`,
      `${challenge}=`,
    ];
    rows.push(challenge + challenge, 'x'.repeat(1e6), 'A'.repeat(72));
    rows.push(Buffer.concat([body, unlabelled]).toString('base64url'));
    for (const row of rows) assert.equal(challenges.read(row, 'sign_in', 'binding'), null, row.slice(0, 80));
    fc.assert(fc.property(fc.string(), (text) => challenges.read(text, 'sign_in', 'binding') === null));
  });
});

describe('a challenge', () => {
  const ages: [name: string, ageMs: number, isValid: boolean][] = [
    ['at once', 0, true],
    ['one millisecond before ten minutes', 10 * minute - 1, true],
    ['after ten minutes', 10 * minute, false],
    ['after a year', 525_600 * minute, false],
    ['from an instance whose clock is a minute ahead', -minute, true],
    ['from further in the future', -minute - 1, false],
  ];
  for (const [name, ageMs, isValid] of ages) {
    test(`${name}: ${isValid ? 'valid' : 'refused'}`, () => {
      const { challenges, clock } = fixture();
      const { challenge } = challenges.issue('sign_in', 'binding');
      clock.ms = start + ageMs;
      assert.equal(challenges.read(challenge, 'sign_in', 'binding') !== null, isValid);
    });
  }
});

test('a short key is refused at start', () => {
  assert.throws(() => createPasskeyChallenges({ key: randomBytes(31), clock: { now: () => 0 } }), RangeError);
});
