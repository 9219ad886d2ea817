// What nobody handles: every line of an output that a program reads is JSON, and a terminal shows text.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { atEnd, temporaryFolder, until } from '@castellan/embedded-postgres/testing';
import { TEST_SECRET_KEY } from '@castellan/testing/harness';
import { startChild } from '@castellan/testing/start/child';

const program = fileURLToPath(new URL('../../start.mjs', import.meta.url));
// Nothing listens there: the service listens before it reaches its database.
const settings = {
  DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
  SECRET_KEY: TEST_SECRET_KEY,
  WORKERS: '1',
};

/** Returns Node options that run this code on SIGUSR2. */
const onUsr2 = (what: string): string =>
  `--import=data:text/javascript,${encodeURIComponent(`process.on('SIGUSR2',()=>{${what}})`)}`;

type Line = { level: string; msg: string; warning?: string; err: { message: string; stack: string } };

const linesOf = (text: string): Line[] =>
  text
    .trimEnd()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

suite('outside a terminal', { concurrency: 3 }, () => {
  test('a warning of Node.js is a line of the log', async (t) => {
    const warn = onUsr2("process.emitWarning('planted', 'PlantedWarning')");
    const child = startChild(t, { ...settings, NODE_OPTIONS: warn });
    await child.listening();
    child.kill('SIGUSR2');
    await until('it is logged', () => child.out().includes('planted') || child.err() !== '');
    assert.equal(child.err(), '');
    const found = linesOf(child.out()).find(({ err }) => err?.message === 'planted');
    assert.deepEqual([found?.level, found?.warning], ['warn', 'PlantedWarning']);
  });

  for (const [name, code] of [
    ['an exception', "throw new Error('planted')"],
    ['a rejection', "Promise.reject(new Error('planted'))"],
    ['a rejection without an error', "Promise.reject('planted')"],
  ] as const)
    test(`${name} that nobody handles is one line of level fatal and ends the process`, async (t) => {
      const child = startChild(t, { ...settings, LOG_LEVEL: 'fatal', NODE_OPTIONS: onUsr2(code) });
      await child.listening();
      child.kill('SIGUSR2');
      assert.deepEqual(await child.ended, { code: 1, signal: null });
      const lines = linesOf(child.err());
      assert.equal(lines.length, 1, child.err());
      assert.equal(lines[0]?.level, 'fatal');
      assert.match(lines[0]?.msg ?? '', /unexpected error/);
      assert.match(lines[0]?.err.message ?? '', /planted/);
      assert.match(lines[0]?.err.stack ?? '', /\n +at |planted/);
    });

  test('standard error that nobody reads does not keep the process', async (t) => {
    const fill = "process.stderr.write('x'.repeat(1e6)),setImmediate(()=>{throw new Error('planted')})";
    const child = spawn(process.execPath, [program], {
      env: { ...settings, PORT: '0', DATA_DIR: temporaryFolder(t), NODE_OPTIONS: onUsr2(fill) },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    atEnd(t, () => child.kill('SIGKILL'));
    let out = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text;
    });
    await until('it listens', () => out.includes('"msg":"listening"'));
    child.kill('SIGUSR2');
    await until('it has ended', () => child.exitCode !== null);
    assert.equal(child.exitCode, 1);
  });
});

test('at a terminal, warnings and errors stay text', async (t) => {
  const code = onUsr2("process.emitWarning('first'),setImmediate(()=>{throw new Error('planted')})");
  // `script` of util-linux; Debian has it in an essential package (bsdutils).
  const command = `echo "pid $$"; exec '${process.execPath}' '${program}'`;
  const terminal = spawn('script', ['-qec', command, '/dev/null'], {
    env: {
      ...settings,
      PATH: process.env.PATH,
      SHELL: '/bin/sh',
      PORT: '0',
      DATA_DIR: temporaryFolder(t),
      NODE_OPTIONS: code,
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  atEnd(t, () => terminal.kill('SIGKILL'));
  let out = '';
  terminal.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  await until('it listens', () => /^Castellan listens on /m.test(out) || terminal.exitCode !== null);
  process.kill(Number(/^pid (\d+)/m.exec(out)?.[1]), 'SIGUSR2');
  await until('it has ended', () => terminal.exitCode !== null);
  assert.equal(terminal.exitCode, 1, out);
  assert.match(out, /Warning: first/);
  assert.match(out, /^Error: planted/m);
  assert.doesNotMatch(out, /"level":"fatal"/);
});
