// Answers of passkeys that were made on another page, for another ceremony, by a copy, or that somebody altered on the way.
// It must not repeat which fields are malformed: packages/server/test/passkeys does.
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { after } from 'node:test';
import type { Answer, Body, TestClient } from '@castellan/testing/client';
import { assertSound } from '@castellan/testing/invariants';
import type { AssertionTweaks, Authenticator } from '@castellan/testing/passkeys/authenticator';
import {
  addPasskeyUser,
  beginSecondStep,
  newAuthenticator,
  PASSKEY_URL,
  type PasskeyUser,
  passkeySignIn,
  register,
  signInOptions,
} from '@castellan/testing/passkeys/own';
import { byTurns, rounds, scenariosOf } from '@castellan/testing/scenario';
import { completeSignIn } from '@castellan/testing/second-factors/app';
import { eventsOf } from '@castellan/testing/sessions/audit-events';
import { openPair } from '../fixture.ts';
import { AUTH, assertLetsNobodyIn } from './fixture.ts';

const scenario = scenariosOf('factors');
const { service, twin } = await openPair(
  { after },
  {
    PUBLIC_URL: PASSKEY_URL,
    CONCURRENT_SESSION_LIMIT: '0',
    PASSKEY_ORIGINS: 'https://shop.example',
    PASSKEY_FORMER_RP_IDS: 'former.test',
  },
);

/** A ceremony that was begun: its options, and where the answer to them goes. */
type Begun = { options: Body; send(passkey: Body): Promise<Answer> };
const ceremonies: Readonly<Record<string, (user: PasskeyUser, client: TestClient) => Promise<Begun>>> = {
  'a sign-in': async (_user, client) => ({
    options: await signInOptions(client),
    send: (passkey) => client.post(`${AUTH}/login/passkey`, { passkey }),
  }),
  'a second step': async (user, client) => {
    const { token, passkey: options } = await beginSecondStep(client, user);
    return { options, send: (passkey) => completeSignIn(client, token, { passkey }) };
  },
  'a step-up': async ({ client }) => ({
    options: (await client.post(`${AUTH}/step-up/options`, {})).body.data.passkey,
    send: (passkey) => client.post(`${AUTH}/step-up`, { passkey }),
  }),
};

function assertRefused(answer: Answer, codes: readonly string[], what: string): void {
  assert.equal(answer.status, 422, `${what}: ${answer.text}`);
  assert.ok(codes.includes(answer.body.code), `${what}: ${answer.text}`);
  assertLetsNobodyIn(answer, what);
}

/** Origins of pages that look like the sign-in page, or that once were it. */
const otherPages: readonly string[] = [
  'http://castellan.test',
  'https://castellan.test:8443',
  'https://castellan.test.',
  'https://CASTELLAN.test',
  'https://castellan.test/',
  'https://login.castellan.test',
  'https://castellan.test.evil.example',
  'https://castellan-test.example',
  'https://xn--cstellan-7fg.test',
  'https://evil.example#https://castellan.test',
  'https://castellan.test@evil.example',
  'https://former.test',
  'https://shop.example.evil.example',
  'null',
  '',
];

for (const [place, begin] of Object.entries(ceremonies))
  scenario(
    `${place} that another page relays is refused, and the page of the service goes on`,
    async (tally) => {
      for (const [index, origin] of otherPages.entries()) {
        const user = await addPasskeyUser(service);
        const { options, send } = await begin(user, (index % 2 ? service : twin).client());
        const relayed = user.authenticator.assert(options, { clientData: { origin } });
        assertRefused(await send(relayed), ['passkey_refused'], origin);
        const own = await send(user.authenticator.assert(options));
        assert.equal(own.status, 200, own.text);
        tally.tried(2);
        tally.held(2);
      }
      tally.held(await assertSound(service));
    },
  );

type Owned = Begun & { place: string; what: string; owner: PasskeyUser };

/** Begins every ceremony of both users, also twice where another browser can. */
async function beginAll(user: PasskeyUser, other: PasskeyUser): Promise<Owned[]> {
  const begun: Owned[] = [];
  for (const [place, begin] of Object.entries(ceremonies)) {
    const add = async (what: string, owner: PasskeyUser, where = service): Promise<void> => {
      begun.push({ ...(await begin(owner, where.client())), place, what: `${place} ${what}`, owner });
    };
    await add('of the user', user);
    await add('of somebody else', other);
    // All step-ups of a session are one ceremony.
    if (place !== 'a step-up') await add('at another browser', user, twin);
  }
  return begun;
}

scenario(
  'an answer is accepted by the ceremony that it was made for, once, and by no other',
  async (tally) => {
    for (const tried of Object.keys(ceremonies)) {
      // A session may try 30 times a minute, and a sign-in ten times.
      const [user, other] = [await addPasskeyUser(service), await addPasskeyUser(service)];
      const begun = await beginAll(user, other);
      const registration = await user.client.post(`${AUTH}/factors/passkeys/options`, { kind: 'passkey' });
      const challenges = begun.map(({ options }) => options.challenge);
      challenges.push(registration.body.data.passkey.challenge);
      for (const { what, owner, options, send } of begun.filter(({ place }) => place === tried)) {
        for (const challenge of challenges.filter((one) => one !== options.challenge)) {
          const answer = await send(owner.authenticator.assert({ ...options, challenge }));
          assertRefused(answer, ['sign_in_expired', 'passkey_refused'], what);
          tally.tried();
          tally.held();
        }
        const passkey = owner.authenticator.assert(options);
        const first = await send(passkey);
        assert.equal(first.status, 200, `${what}: ${first.text}`);
        assertRefused(await send(passkey), ['sign_in_expired', 'passkey_refused'], `${what}, again`);
        tally.tried(2);
        tally.held(2);
      }
    }
    tally.held(await assertSound(service));
  },
);

const members = ['clientDataJSON', 'authenticatorData', 'signature', 'userHandle'] as const;

/** Returns the answer with one bit turned. */
function altered(passkey: Body, member: (typeof members)[number], bit: number): Body {
  const bytes = Buffer.from(passkey.response[member], 'base64url');
  bytes.writeUInt8(bytes.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
  return { ...passkey, response: { ...passkey.response, [member]: bytes.toString('base64url') } };
}

/** Returns the numbers of the bits. Of a signature, those of its two numbers: how they are packed (DER) is not signed. */
function bitsOf(member: string, bytes: Buffer): number[] {
  const second = 6 + bytes.readUInt8(3);
  const isPacking = (at: number): boolean => at < 4 || at === second - 2 || at === second - 1;
  return Array.from({ length: bytes.length * 8 }, (_, bit) => bit).filter(
    (bit) => member !== 'signature' || !isPacking(bit >> 3),
  );
}

for (const member of members)
  scenario(`an answer with one bit of ${member} turned is refused, and uses nothing up`, async (tally) => {
    const user = await addPasskeyUser(service);
    const client = service.client();
    const options = await signInOptions(client);
    const passkey = user.authenticator.assert(options);
    const bits = bitsOf(member, Buffer.from(passkey.response[member] ?? '', 'base64url'));
    const chosen = byTurns(bits, 60, randomInt(bits.length));
    for (const bit of chosen) {
      const answer = await client
        .at((bit % 2 ? service : twin).url)
        .post(`${AUTH}/login/passkey`, { passkey: altered(passkey, member, bit) });
      // A bit of the challenge makes it one that was never issued.
      assertRefused(answer, ['passkey_refused', 'sign_in_expired'], `bit ${bit}`);
      tally.tried();
      tally.held();
    }
    assert.equal((await client.post(`${AUTH}/login/passkey`, { passkey })).status, 200);
    tally.held();
  });

scenario('a challenge with any character changed was never issued', async (tally) => {
  const user = await addPasskeyUser(service);
  const client = service.client();
  const { challenge } = await signInOptions(client);
  for (let at = 0; at < challenge.length; at += 1) {
    const other = challenge[at] === 'A' ? 'B' : 'A';
    const forged = `${challenge.slice(0, at)}${other}${challenge.slice(at + 1)}`;
    const passkey = user.authenticator.assert({ challenge: forged });
    assertRefused(await client.post(`${AUTH}/login/passkey`, { passkey }), ['sign_in_expired'], `at ${at}`);
    tally.tried();
    tally.held();
  }
});

scenario(
  'of a device-bound passkey and its copy, whichever is behind is refused, and both are told of',
  async (tally) => {
    for (let round = 0; round < rounds(2, 12); round += 1) {
      const user = await addPasskeyUser(service);
      let highest = 1;
      let refused = 0;
      const use = async (signCount: number): Promise<void> => {
        const answer = await passkeySignIn(service.client(), user.authenticator, { signCount });
        if (signCount > highest) {
          assert.equal(answer.status, 200, answer.text);
          highest = signCount;
        } else {
          assertRefused(answer, ['passkey_refused'], `${signCount} after ${highest}`);
          refused += 1;
        }
        tally.tried();
        tally.held();
      };
      for (const signCount of [2, 2, 5, 3, 4, 5, 6, 0, 6, 7]) await use(signCount);
      for (let more = 0; more < 5; more += 1) await use(randomInt(0, 12));
      assert.equal((await eventsOf(service, 'passkey_counter_regressed', user)).length, refused);
      tally.held();
    }
  },
);

scenario('a key whose PIN somebody set later does not sign in alone', async (tally) => {
  for (const verifiesUser of [false, true]) {
    const user = await addPasskeyUser(service, { kind: 'security_key', verifiesUser: false });
    const client = service.client();
    const options = await signInOptions(client);
    // The key is asked by its id, as its thief can.
    const [row] = await service.sql<{ id: Buffer }>(
      'select credential_id as id from passkeys where user_id = $1',
      [user.id],
    );
    assert.ok(row);
    const tweaks: AssertionTweaks = {
      verified: verifiesUser,
      credentialId: row.id,
      userHandle: Buffer.from(user.id.replaceAll('-', ''), 'hex'),
    };
    const passkey = user.authenticator.assert(options, tweaks);
    assertRefused(await client.post(`${AUTH}/login/passkey`, { passkey }), ['passkey_refused'], 'PIN');
    tally.tried();
    tally.held();
  }
});

/** Answers with the key of one account in the name of another. */
function answerFor(
  victim: PasskeyUser,
  authenticator: Authenticator,
  { options, send }: Begun,
): Promise<Answer> {
  const { allowCredentials: _, ...open } = options;
  const userHandle = Buffer.from(victim.id.replaceAll('-', ''), 'hex');
  return send(authenticator.assert(open, { userHandle }));
}

scenario(
  'the passkey of one account proves nothing about another, whatever user handle it names',
  async (tally) => {
    for (const [place, begin] of Object.entries(ceremonies))
      for (let round = 0; round < rounds(1, 4); round += 1) {
        const [victim, thief] = [await addPasskeyUser(service), await addPasskeyUser(service)];
        const answer = await answerFor(victim, thief.authenticator, await begin(victim, service.client()));
        assertRefused(answer, ['passkey_unknown', 'passkey_refused'], place);
        const unknown = newAuthenticator();
        await register(thief.client, unknown);
        await service.sql('delete from passkeys where user_id = $1', [thief.id]);
        const removed = await answerFor(victim, unknown, await begin(victim, service.client()));
        assertRefused(removed, ['passkey_unknown'], `${place}, removed`);
        tally.tried(2);
        tally.held(2);
      }
  },
);

scenario(
  'backup flags that move let in who has the key, and are noted; impossible ones are refused',
  async (tally) => {
    const user = await addPasskeyUser(service, { isSynced: true });
    const flags: [boolean, boolean, boolean][] = [
      [true, true, true],
      [true, false, true],
      [false, false, true],
      [false, true, false],
      [true, true, true],
    ];
    for (const [backupEligible, backedUp, isAccepted] of flags) {
      const answer = await passkeySignIn(service.client(), user.authenticator, { backupEligible, backedUp });
      if (isAccepted) assert.equal(answer.status, 200, answer.text);
      else assertRefused(answer, ['passkey_refused'], 'backed up, and not eligible');
      tally.tried();
      tally.held();
    }
    assert.equal((await eventsOf(service, 'passkey_backup_changed', user)).length, 2);
    tally.held();
  },
);
