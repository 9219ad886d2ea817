// Tests the scores of the strength meter and its limits: timeouts, queue, crashed workers, exit of the process.
// It must not depend on the speed of the machine: small worker scripts that hang, crash or wait cause the faults.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { readBannedWords } from './banned-words.ts';
import { brokenRules } from './policy.ts';
import { createStrengthMeter, type StrengthMeterOptions, StrengthUnavailableError } from './strength.ts';

const demands = {
  policy: 'spec' as const,
  bannedWords: readBannedWords(''),
  hasBreachFile: false,
  minLength: 12,
  minStrength: 3,
  isBreached: false,
};
const person = ['jane.doe@example.com', 'Jane', 'Doe'];

function workerScript(body: string): URL {
  const script = `import { parentPort as port } from 'node:worker_threads'; ${body}`;
  return new URL(`data:text/javascript,${encodeURIComponent(script)}`);
}

// Scores 4, but hangs on "hang" and crashes on "die".
const faulty = workerScript(`
  port.on('message', ({ password }) => {
    if (password === 'hang') for (;;);
    if (password === 'die') throw new Error('crashed');
    port.postMessage(4);
  });
  port.postMessage('ready');
`);

async function withMeter(
  options: StrengthMeterOptions,
  use: (meter: ReturnType<typeof createStrengthMeter>, lost: string[]) => Promise<void>,
): Promise<void> {
  const lost: string[] = [];
  const onWorkerLost = (reason: 'timeout' | Error) =>
    lost.push(reason === 'timeout' ? reason : reason.message);
  const meter = createStrengthMeter({ onWorkerLost, ...options });
  try {
    await use(meter, lost);
  } finally {
    await meter.close();
  }
}

const isUnavailable = (error: unknown) => error instanceof StrengthUnavailableError;

describe('scores', () => {
  const meter = createStrengthMeter();
  after(() => meter.close());

  for (const password of ['QaRegisterPass!47', 'ReplacementPassword!42', 'Vexing#Quartz82Lime']) {
    test(`${password} is strong enough and breaks no rule`, async () => {
      const score = await meter.score(password, person);
      assert.ok(score >= 3, `scored ${score}`);
      assert.deepEqual(brokenRules(password, { ...demands, score }), []);
    });
  }

  for (const password of ['password', 'Short1!', 'SecurePassword123!']) {
    test(`${password} breaks a rule at its real score`, async () => {
      const score = await meter.score(password, person);
      assert.notDeepEqual(brokenRules(password, { ...demands, score }), []);
    });
  }

  for (const password of ['Passw0rd!Passw0rd!', 'Qwertyuiop!1', 'Monkey!Monkey!1', '', 'aaaaaaaaaaaaaaaa']) {
    test(`${JSON.stringify(password)} is too weak`, async () => {
      assert.ok((await meter.score(password, [])) < 3);
    });
  }

  const own: [part: string, password: string, userInputs: string[]][] = [
    ['address', 'Zoltanberg@Quexmail.example1!', ['zoltanberg@quexmail.example']],
    ['local part', 'Zoltanberg.Quexfeld1!', ['zoltanberg.quexfeld@mail.example']],
    ['domain label', 'Zoltanbergquex1!', ['me@zoltanbergquex.example']],
    ['name', 'Zoltánbergquex1!', ['me@mail.example', 'Zolta\u0301nbergquex']],
    ['second name', 'Zoltanbergquex1!', ['me@mail.example', 'Mary Zoltanbergquex']],
  ];
  for (const [part, password, userInputs] of own) {
    test(`a password that contains the user's own ${part} is weak for this user`, async () => {
      assert.ok((await meter.score(password, [])) >= 3);
      assert.ok((await meter.score(password, userInputs)) < 3);
    });
  }

  test('only the first 64 characters count, composed or decomposed', async () => {
    assert.ok((await meter.score(`${'ab'.repeat(32)}Vexing#Quartz82Lime`, [])) < 3);
    assert.equal(await meter.score('e\u0301'.repeat(64), []), await meter.score('\u00e9'.repeat(64), []));
  });

  test('very long inputs, property names and lone surrogates get a score', async () => {
    const endless = 'a.b@'.repeat(1_000_000);
    await meter.score(endless, [
      endless,
      '__proto__',
      'constructor',
      '\ud800',
      '',
      '@',
      ...Array(10_000).fill('x'),
    ]);
    assert.ok((await meter.score('__proto__constructor\ud800', ['__proto__'])) >= 0);
  });

  test('parallel calls each get their own score', async () => {
    const passwords = ['password', 'Vexing#Quartz82Lime', 'qwertyuiop', 'ReplacementPassword!42'];
    const alone: number[] = [];
    for (const password of passwords) alone.push(await meter.score(password, []));
    assert.deepEqual(await Promise.all(passwords.map((password) => meter.score(password, []))), alone);
  });
});

describe('faults', () => {
  test('a password that times out scores 0, and a new worker scores the others', async () => {
    await withMeter({ worker: faulty, timeoutMs: 500 }, async (meter, lost) => {
      const passwords = ['fine', 'hang', 'fine', 'hang', 'fine'];
      const scores = await Promise.all(passwords.map((password) => meter.score(password, [])));
      assert.deepEqual(scores, [4, 0, 4, 0, 4]);
      assert.deepEqual(lost, ['timeout', 'timeout']);
    });
  });

  test('a password that crashes the worker scores 0, and a new worker scores the others', async () => {
    await withMeter({ worker: faulty, timeoutMs: 60_000 }, async (meter, lost) => {
      const scores = await Promise.all(['fine', 'die', 'fine'].map((password) => meter.score(password, [])));
      assert.deepEqual(scores, [4, 0, 4]);
      assert.deepEqual(lost, ['crashed']);
    });
  });

  for (const [name, body] of [
    ['throws', 'throw new Error("no start")'],
    ['ends', 'process.exit(0)'],
    ['hangs', 'for (;;);'],
  ] as const) {
    test(`a worker that ${name} at its start fails every waiting call, and the next call starts a new one`, async () => {
      await withMeter({ worker: workerScript(body), startTimeoutMs: 500 }, async (meter, lost) => {
        const calls = [meter.score('a', []), meter.score('b', [])];
        for (const call of calls) await assert.rejects(call, isUnavailable);
        await assert.rejects(meter.score('c', []), isUnavailable);
        assert.equal(lost.length, 2);
      });
    });
  }

  test('a call is refused at once if the queue is full', async () => {
    await withMeter({ worker: faulty, maxQueue: 2 }, async (meter) => {
      const accepted = [meter.score('a', []), meter.score('b', [])];
      await assert.rejects(meter.score('c', []), isUnavailable);
      assert.deepEqual(await Promise.all(accepted), [4, 4]);
      assert.equal(await meter.score('d', []), 4);
    });
  });

  test('closing refuses waiting and later calls', async () => {
    const meter = createStrengthMeter({ worker: faulty, timeoutMs: 60_000 });
    await meter.score('fine', []);
    const calls = [meter.score('hang', []), meter.score('fine', [])].map((call) =>
      assert.rejects(call, isUnavailable),
    );
    await meter.close();
    await Promise.all(calls);
    await assert.rejects(meter.score('fine', []), isUnavailable);
    await meter.close();
  });
});

test('a waiting call keeps the process alive, an idle worker does not', async () => {
  const program = `
    const { createStrengthMeter } = await import(${JSON.stringify(new URL('./strength.ts', import.meta.url).href)});
    process.stdout.write(String(await createStrengthMeter().score('Vexing#Quartz82Lime', [])));
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program], {
    timeout: 60_000,
  });
  assert.equal(stdout, '4');
});
