import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { confirm } from './confirmation.ts';

/** Returns a terminal with typed input. */
function terminal(typed: string) {
  const keyboard = Object.assign(new PassThrough(), { isTTY: true });
  const screen = new PassThrough();
  keyboard.end(typed);
  return { keyboard, screen, shown: () => String(screen.read() ?? '') };
}

const ask = (typed: string, yes = false) => {
  const { keyboard, screen, shown } = terminal(typed);
  return { shown, asked: confirm({ values: { yes } }, ['All of it goes.'], keyboard, screen) };
};

test('the consequences are shown, and "yes" confirms', async () => {
  for (const typed of ['yes\n', ' YES \r\n', 'yes']) {
    const { shown, asked } = ask(typed);
    await asked;
    assert.equal(shown(), 'All of it goes.\nType yes to continue: ');
  }
});

test('any other input, and the end of the input, cancel', async () => {
  for (const typed of ['no\n', 'y\n', '\n', 'yes please\n', ''])
    await assert.rejects(ask(typed).asked, /^Error: nothing was changed\.$/);
});

test('--yes confirms without asking', async () => {
  const { shown, asked } = ask('no\n', true);
  await asked;
  assert.equal(shown(), '');
});

test('without a terminal, "yes" on standard input does not confirm', async () => {
  const input = new PassThrough();
  input.end('yes\n');
  await assert.rejects(
    confirm({ values: { yes: false } }, ['All of it goes.'], input, new PassThrough()),
    /All of it goes\. Nothing was changed\. Confirm with --yes/,
  );
});
