import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs, { closeSync, constants, mkdtempSync, openSync, readFileSync, readSync, rmSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { MAX_UNWRITTEN_BYTES, openOutput } from './log-output.ts';

const LINE_BYTES = 1_024;
const lineOf = (number: number): string =>
  `${String(number)
    .padStart(8, '0')
    .padEnd(LINE_BYTES - 1, '.')}\n`;
/** More than the pipe and the buffer of the output can hold. */
const MANY = (MAX_UNWRITTEN_BYTES / LINE_BYTES) * 1.25;

type Pipe = { writer: number; read(): string };

function pipeOf(t: TestContext): Pipe {
  const folder = mkdtempSync(join(tmpdir(), 'castellan-output-'));
  const path = join(folder, 'pipe');
  execFileSync('mkfifo', [path]);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const writer = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  t.after(() => {
    closeSync(reader);
    closeSync(writer);
    rmSync(folder, { recursive: true });
  });
  const buffer = Buffer.alloc(1_048_576);
  const read = (): string => {
    try {
      return buffer.toString('utf8', 0, readSync(reader, buffer));
    } catch {
      return '';
    }
  };
  return { writer, read };
}

/** Returns everything that is read until nothing has come for a while. */
async function readAll({ read }: Pipe): Promise<string> {
  const parts: string[] = [];
  for (let idle = 0; idle < 50; ) {
    const part = read();
    parts.push(part);
    idle = part === '' ? idle + 1 : 0;
    await pause(part === '' ? 10 : 0);
  }
  return parts.join('');
}

test('what a sleeping reader leaves is kept up to 16 MiB, in whole lines and their order, and is not lost', async (t) => {
  const pipe = pipeOf(t);
  const output = openOutput(pipe.writer);
  for (let number = 0; number < MANY; number += 1) output.write(lineOf(number));
  const text = await readAll(pipe);
  assert.ok(text.length <= MAX_UNWRITTEN_BYTES, `${text.length} bytes`);
  assert.ok(text.length > MAX_UNWRITTEN_BYTES - LINE_BYTES, `${text.length} bytes`);
  for (let number = 0; number * LINE_BYTES < text.length; number += 1)
    assert.equal(text.slice(number * LINE_BYTES, (number + 1) * LINE_BYTES), lineOf(number));
  // The buffer has room again.
  output.write(lineOf(MANY));
  assert.equal(await readAll(pipe), lineOf(MANY));
});

test('at the end a pipe that is full is waited for, for a second; one that is read gets everything', async (t) => {
  const asleep = pipeOf(t);
  const output = openOutput(asleep.writer);
  for (let number = 0; number < 1_000; number += 1) output.write(lineOf(number));
  await pause(50);
  // The pipe is never read: without a limit this would not return.
  output.finish();
  const awake = pipeOf(t);
  const other = openOutput(awake.writer);
  for (let number = 0; number < 40; number += 1) other.write(lineOf(number));
  other.finish();
  assert.equal((await readAll(awake)).length, 40 * LINE_BYTES);
});

test('a full disk is given up at the end at once, and tried again before', async () => {
  const fd = openSync('/dev/full', 'w');
  const output = openOutput(fd);
  for (let number = 0; number < MANY; number += 1) output.write(lineOf(number));
  await pause(50);
  output.write(lineOf(0));
  output.finish();
  closeSync(fd);
});

test('a file has every line in order, long ones as well', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'castellan-output-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'log');
  const fd = openSync(path, 'w');
  const output = openOutput(fd);
  const lines = [lineOf(1), `${'é'.repeat(300_000)}\n`, lineOf(2), lineOf(3)];
  for (const line of lines) output.write(line);
  while (readFileSync(path).length < Buffer.byteLength(lines.join(''))) await pause(5);
  assert.equal(readFileSync(path, 'utf8'), lines.join(''));
  closeSync(fd);
});

test('a reader that has gone makes no fault and no work', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'castellan-output-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'pipe');
  execFileSync('mkfifo', [path]);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const writer = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  closeSync(reader);
  const output = openOutput(writer);
  for (let number = 0; number < 10; number += 1) {
    output.write(lineOf(number));
    await pause(2);
  }
  output.finish();
  closeSync(writer);
});

test('lines of one turn go out in one write', async (t) => {
  const pipe = pipeOf(t);
  const output = openOutput(pipe.writer);
  const writes = t.mock.method(fs, 'write');
  syncBuiltinESMExports();
  t.after(() => {
    writes.mock.restore();
    syncBuiltinESMExports();
  });
  for (let number = 0; number < 20; number += 1) output.write(lineOf(number));
  assert.equal((await readAll(pipe)).length, 20 * LINE_BYTES);
  // The rest of them again if the pipe took a part: of a user with many pipes, one holds 4 KiB (pipe(7)).
  const [written = ''] = writes.mock.calls.map(({ arguments: [, part] }) => part);
  assert.equal(Buffer.byteLength(written), 20 * LINE_BYTES);
});
