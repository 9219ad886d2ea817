import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { readPassword } from './password-input.ts';

/** Returns a terminal on which these lines are typed, and what it shows. `\r` is the Enter key. */
function terminal(...typed: string[]) {
  const keyboard = Object.assign(new PassThrough(), { isTTY: true });
  const screen = new PassThrough();
  let shown = '';
  screen.on('data', (chunk) => {
    shown += chunk;
    // Types the next line after each prompt.
    if (String(chunk).endsWith(': ')) keyboard.write(typed.shift() ?? '\u0004');
  });
  return { keyboard, screen, shown: () => shown };
}

const piped = (...chunks: (string | Buffer)[]) => {
  const input = new PassThrough();
  for (const chunk of chunks) input.write(chunk);
  input.end();
  return readPassword(input, new PassThrough());
};

test('a password typed twice is accepted and never shown', async () => {
  const { keyboard, screen, shown } = terminal('Vexing#Quartz82Lime\r', 'Vexing#Quartz82Lime\r');
  assert.equal(await readPassword(keyboard, screen), 'Vexing#Quartz82Lime');
  assert.equal(shown(), 'Password: \nRepeat the password: \n');
});

test('two different passwords are refused', async () => {
  const { keyboard, screen } = terminal('Vexing#Quartz82Lime\r', 'Vexing#Quartz82Line\r');
  await assert.rejects(readPassword(keyboard, screen), { message: 'the two passwords differ.' });
});

for (const [name, key] of [
  ['Ctrl-C', '\u0003'],
  ['Ctrl-D', '\u0004'],
])
  test(`${name} cancels`, async () => {
    const { keyboard, screen } = terminal(key as string);
    await assert.rejects(readPassword(keyboard, screen), { message: 'cancelled.' });
  });

test('from a pipe, one line end after the password is removed and nothing else', async () => {
  assert.equal(await piped(' with spaces \r\n'), ' with spaces ');
  assert.equal(await piped('two lines\n\n'), 'two lines\n');
  assert.equal(await piped('none'), 'none');
});

test('a character that arrives in two chunks is read as one', async () => {
  const [first, second] = [Buffer.from('é').subarray(0, 1), Buffer.from('é').subarray(1)];
  assert.equal(await piped(first, second), 'é');
});

test('empty and far too long input from a pipe is refused', async () => {
  await assert.rejects(piped('\n'), { message: 'no password was given on standard input.' });
  await assert.rejects(piped('x'.repeat(4_097)), /has more than 4096 bytes/);
});
