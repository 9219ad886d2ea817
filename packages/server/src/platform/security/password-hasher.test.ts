// Tests the hasher: parameters, equal work for unknown accounts, limits of stored hashes and of the queue.
// They must not assert wall-clock times, because the machine is shared: work is compared by CPU time and counters.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { hash } from '@node-rs/argon2';
import { createPasswordHasher, HasherBusyError } from './password-hasher.ts';

const salt = 'c29tZXNhbHRzb21lc2FsdA';
const output = 'A'.repeat(43);
const phcOf = (memory: number, passes: number, lanes: number) =>
  `$argon2id$v=19$m=${memory},t=${passes},p=${lanes}$${salt}$${output}`;

type Work = () => Promise<unknown>;

async function cpuOf(work: Work): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

/**
 * Returns the processor time of `work` against that of `other`, by the least of seven each: everything else that the process does
 * only adds to it. They take turns, because the machine is slower at times.
 */
async function cpuRatio(work: Work, other: Work): Promise<number> {
  const [own, others]: [number[], number[]] = [[], []];
  for (let turn = 0; turn < 7; turn += 1) {
    own.push(await cpuOf(work));
    others.push(await cpuOf(other));
  }
  return Math.min(...own) / Math.min(...others);
}

describe('hash and verify', () => {
  test('a hash is argon2id with the OWASP parameters, salted afresh each time', async () => {
    const hasher = createPasswordHasher();
    const [one, two] = await Promise.all([
      hasher.hash('Vexing#Quartz82Lime'),
      hasher.hash('Vexing#Quartz82Lime'),
    ]);
    for (const phc of [one, two]) {
      assert.match(phc, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
    }
    assert.notEqual(one, two);
    assert.equal(await hasher.verify(one, 'Vexing#Quartz82Lime'), true);
    assert.equal(await hasher.verify(one, 'vexing#quartz82lime'), false);
  });

  test('composed and decomposed spellings are one password', async () => {
    const hasher = createPasswordHasher();
    assert.equal(await hasher.verify(await hasher.hash('Caf\u00e9'), 'Cafe\u0301'), true);
    assert.equal(await hasher.verify(await hasher.hash('Cafe\u0301'), 'Caf\u00e9'), true);
  });

  const noBreak = 'Vexing\u00a0Quartz\u202f82\u3000Lime#';
  const plain = 'Vexing Quartz 82 Lime#';

  test('every kind of space is a plain one', async () => {
    const hasher = createPasswordHasher();
    assert.equal(await hasher.verify(await hasher.hash(noBreak), plain), true);
    assert.equal(await hasher.verify(await hasher.hash(plain), noBreak), true);
    assert.equal(await hasher.verify(await hasher.hash(plain), plain.replaceAll(' ', '')), false);
    assert.equal(await hasher.verify(await hasher.hash(plain), plain.replaceAll(' ', '\t')), false);
  });

  // Hashed by this hasher's library as the hasher did before it replaced spaces.
  test('a hash that kept its spaces is verified still', async () => {
    const hasher = createPasswordHasher();
    const own = await hash(noBreak, { memoryCost: 19_456, timeCost: 2, parallelism: 1 });
    assert.equal(await hasher.verify(own, noBreak), true);
    assert.equal(await hasher.verify(own, plain), false);
  });

  test('other spaces take twice the work, with an account and without', async () => {
    const hasher = createPasswordHasher({ concurrency: 1 });
    const own = await hasher.hash(plain);
    const once = () => hasher.verify(own, plain);
    for (const stored of [own, null, 'unreadable']) {
      const ratio = await cpuRatio(() => hasher.verify(stored, noBreak), once);
      assert.ok(ratio > 1.4 && ratio < 3, `CPU time against one verification: ${ratio.toFixed(2)}`);
    }
  });

  test('every character counts, beyond any length and after a NUL', async () => {
    const hasher = createPasswordHasher();
    for (const start of ['a'.repeat(72), 'a'.repeat(5_000), 'a\0']) {
      const phc = await hasher.hash(`${start}x`);
      assert.equal(await hasher.verify(phc, `${start}x`), true);
      assert.equal(await hasher.verify(phc, `${start}y`), false);
    }
  });

  test('a run of combining marks that is too long to normalize is still hashed in full', async () => {
    const hasher = createPasswordHasher();
    const marks = `a${'\u0301\u0323'.repeat(100_000)}`;
    const phc = await hasher.hash(marks);
    assert.equal(await hasher.verify(phc, marks), true);
    assert.equal(await hasher.verify(phc, marks.slice(0, -1)), false);
  });
});

describe('hashes read back', () => {
  const unreadable: Record<string, string | null> = {
    'no account': null,
    'an empty string': '',
    'no PHC string': 'password',
    'an unknown scheme': '$y$j9T$F5Jx5fExrKuPp53xLKQ..1$X3DX6M94c7o.9agCG9G317fhZg9SqC.5i5rd.RhAtQ7',
    'bcrypt of cost 31': '$2b$31$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy',
    'memory of 1 GiB': phcOf(1_048_576, 2, 1),
    'memory just over the bound': phcOf(2 ** 18 + 1, 2, 1),
    'memory of 4 TiB': phcOf(4_294_967_295, 2, 1),
    'too many passes': phcOf(2 ** 18, 5, 1),
    'a million passes': phcOf(19_456, 1_000_000, 1),
    'too many lanes': phcOf(19_456, 2, 17),
    'a salt that does not decode': `$argon2id$v=19$m=19456,t=2,p=1$${'A'.repeat(21)}$${output}`,
    'an output of 1 MB': `$argon2id$v=19$m=19456,t=2,p=1$${salt}$${'A'.repeat(1_000_000)}`,
  };

  for (const [name, phc] of Object.entries(unreadable)) {
    test(`${name}: false, and the work of a real verification`, async () => {
      const hasher = createPasswordHasher({ concurrency: 1 });
      const real = await hasher.hash('Vexing#Quartz82Lime');
      assert.equal(await hasher.verify(phc, 'Vexing#Quartz82Lime'), false);
      const ratio = await cpuRatio(
        () => hasher.verify(phc, 'wrong'),
        () => hasher.verify(real, 'wrong'),
      );
      assert.ok(ratio > 0.4 && ratio < 2.5, `CPU time against a real verification: ${ratio.toFixed(2)}`);
    });
  }

  test('hashes with other parameters within the bounds are verified and need a rehash', async () => {
    const hasher = createPasswordHasher();
    // argon2id of 'password' and the salt 'somesalt', m=65536, t=2, p=1: the reference implementation's README and
    // tests.
    const foreign = '$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc';
    assert.equal(await hasher.verify(foreign, 'password'), true);
    assert.equal(await hasher.verify(foreign, 'passwore'), false);
    assert.equal(hasher.needsRehash(foreign), true);
    assert.equal(hasher.needsRehash('nonsense'), true);
    assert.equal(hasher.needsRehash(phcOf(19_456, 1, 1)), true);
    assert.equal(hasher.needsRehash(await hasher.hash('password')), false);
  });
});

describe('hashes of other systems', () => {
  const bcrypt = '$2a$05$retX0CBykoCOp2JgLI9Wi.wkbS3WnwaWVrTb9ITUTXF4JuOP8/ekO';

  test('are verified as typed, and need a rehash', async () => {
    const hasher = createPasswordHasher();
    assert.equal(await hasher.verify(bcrypt, 'Kestrel-Über-42!'), true);
    assert.equal(await hasher.verify(bcrypt, 'Kestrel-Uber-42!'), false);
    assert.equal(hasher.needsRehash(bcrypt), true);
  });

  test('spaces of other kinds count as typed and as plain ones', async () => {
    const hasher = createPasswordHasher();
    // `hashlib.pbkdf2_hmac('sha256', b'a b', b'pepperlesspepper', 1200)` of Python 3.11, and the same of 'a\u00a0b'.
    const ofPlain =
      '$pbkdf2-sha256$i=1200$cGVwcGVybGVzc3BlcHBlcg$7kNr2xaAvtmDbIVh0f27/z2yoxevfLXzELD6mZnDLC0';
    const ofNoBreak =
      '$pbkdf2-sha256$i=1200$cGVwcGVybGVzc3BlcHBlcg$T/EmhvDg4pSgboAVpZC09qQIXJ6beiviI7wR4aS9TtA';
    assert.equal(await hasher.verify(ofPlain, 'a\u00a0b'), true);
    assert.equal(await hasher.verify(ofNoBreak, 'a\u00a0b'), true);
    assert.equal(await hasher.verify(ofNoBreak, 'a b'), false);
  });

  test('a decomposed spelling of the password counts too', async () => {
    const hasher = createPasswordHasher();
    assert.equal(await hasher.verify(bcrypt, 'Kestrel-U\u0308ber-42!'), true);
  });

  test('a hash with former parameters is one of the composed password', async () => {
    const former = createPasswordHasher({ work: { memoryCost: 64, timeCost: 1, parallelism: 1 } });
    const hasher = createPasswordHasher();
    const phc = await former.hash('Caf\u00e9');
    assert.equal(hasher.needsRehash(phc), true);
    assert.equal(await hasher.verify(phc, 'Cafe\u0301'), true);
  });

  test('a wrong password costs at least the work of an own hash', async () => {
    const hasher = createPasswordHasher({ concurrency: 1 });
    const own = await hasher.hash('x');
    const ratio = await cpuRatio(
      () => hasher.verify(bcrypt, 'wrong'),
      () => hasher.verify(own, 'wrong'),
    );
    assert.ok(ratio > 0.6, `CPU time against an own hash: ${ratio.toFixed(2)}`);
  });
});

describe('bounds', () => {
  test('no more than `concurrency` run at once', async () => {
    const hasher = createPasswordHasher({ concurrency: 2, maxQueue: 10 });
    const calls = Array.from({ length: 8 }, async () => {
      await hasher.verify(null, 'x');
      assert.ok(hasher.stats().running <= 2);
    });
    assert.deepEqual(hasher.stats(), { hashes: 0, verifications: 0, queued: 6, running: 2 });
    await Promise.all(calls);
    assert.deepEqual(hasher.stats(), { hashes: 0, verifications: 8, queued: 0, running: 0 });
  });

  test('waiting calls run in the order of arrival', async () => {
    const hasher = createPasswordHasher({ concurrency: 1, maxQueue: 10 });
    const finished: number[] = [];
    await Promise.all(
      Array.from({ length: 6 }, async (_, i) => {
        await hasher.verify(null, 'x');
        finished.push(i);
      }),
    );
    assert.deepEqual(finished, [0, 1, 2, 3, 4, 5]);
  });

  test('a call is refused at once when the queue is full, and accepted again afterwards', async () => {
    const hasher = createPasswordHasher({ concurrency: 1, maxQueue: 2, waitMs: 60_000 });
    const accepted = [hasher.hash('a'), hasher.verify(null, 'b'), hasher.hash('c')];
    for (const refused of [hasher.hash('d'), hasher.verify(null, 'e')]) {
      await assert.rejects(
        refused,
        (error) => error instanceof HasherBusyError && error.retryAfterSeconds === 60,
      );
    }
    await Promise.all(accepted);
    await hasher.hash('f');
    assert.deepEqual(hasher.stats(), { hashes: 3, verifications: 1, queued: 0, running: 0 });
  });

  test('keys take turns: many calls of one key delay a call of another by one turn', async () => {
    const hasher = createPasswordHasher({ concurrency: 1, maxQueue: 10 });
    const finished: string[] = [];
    const call = async (name: string, key: string): Promise<void> => {
      await hasher.verify(null, 'x', { key });
      finished.push(name);
    };
    await Promise.all([
      ...[1, 2, 3, 4].map((n) => call(`many ${n}`, 'many')),
      call('other 1', 'other'),
      call('third 1', 'third'),
      call('other 2', 'other'),
    ]);
    assert.deepEqual(finished, ['many 1', 'many 2', 'other 1', 'third 1', 'many 3', 'other 2', 'many 4']);
  });

  test('one key cannot fill the queue', async () => {
    const hasher = createPasswordHasher({ concurrency: 1, maxQueue: 10, maxQueuePerKey: 2 });
    const many = Array.from({ length: 5 }, () => hasher.verify(null, 'x', { key: 'many' }));
    const other = hasher.verify(null, 'x', { key: 'other' });
    const settled = await Promise.allSettled(many);
    assert.deepEqual(
      settled.map(({ status }) => status),
      ['fulfilled', 'fulfilled', 'fulfilled', 'rejected', 'rejected'],
    );
    await other;
    assert.deepEqual(hasher.stats(), { hashes: 0, verifications: 4, queued: 0, running: 0 });
  });

  test('a call whose turn comes after the longest wait is refused and does no work', async () => {
    const hasher = createPasswordHasher({ concurrency: 1, maxQueue: 5, waitMs: 0 });
    const [first, ...late] = await Promise.allSettled([hasher.hash('a'), hasher.hash('b'), hasher.hash('c')]);
    assert.equal(first?.status, 'fulfilled');
    for (const call of late) assert.ok(call.status === 'rejected' && call.reason instanceof HasherBusyError);
    assert.deepEqual(hasher.stats(), { hashes: 1, verifications: 0, queued: 0, running: 0 });
  });

  test('a call that aborts while it waits does no work and leaves the queue', async () => {
    const hasher = createPasswordHasher({ concurrency: 1 });
    const gone = new AbortController();
    const first = hasher.hash('a');
    const second = hasher.verify(null, 'b', { signal: gone.signal });
    const third = hasher.hash('c');
    gone.abort(new Error('the client left'));
    await assert.rejects(second, /the client left/);
    await Promise.all([first, third]);
    assert.deepEqual(hasher.stats(), { hashes: 2, verifications: 0, queued: 0, running: 0 });
  });

  test('at least one runs on any machine, and a failed one ends its turn', async () => {
    const hasher = createPasswordHasher({ concurrency: 1, maxQueue: 0 });
    await assert.rejects(hasher.hash(undefined as unknown as string), TypeError);
    assert.deepEqual(hasher.stats(), { hashes: 0, verifications: 0, queued: 0, running: 0 });
    assert.ok(await createPasswordHasher().hash('a'));
  });
});

test('a reserved place counts against the bounds until a call takes it or it is freed', async () => {
  const hasher = createPasswordHasher({ concurrency: 1, maxQueue: 1 });
  const place = hasher.reserve();
  const other = hasher.reserve();
  assert.throws(() => hasher.reserve(), HasherBusyError);
  other.free();
  other.free();
  const running = hasher.verify(null, 'a');
  await assert.rejects(hasher.verify(null, 'b'), HasherBusyError);
  assert.equal(await hasher.verify(null, 'c', { place }), false);
  await running;
  assert.equal(hasher.stats().queued, 0);
  for (const free of [hasher.reserve(), hasher.reserve()]) free.free();
});
