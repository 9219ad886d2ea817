import assert from 'node:assert/strict';
import { test } from 'node:test';
import { COMPLETE } from './command.ts';
import { run } from './program.ts';

async function completed(...words: string[]): Promise<string[]> {
  const printed: string[] = [];
  const environment = { CASTELLAN_CONFIG: '/nonexistent/config.json' };
  await run({ environment, print: (text) => void printed.push(text) }, [COMPLETE, ...words], '');
  return printed.join('\n').split('\n');
}

test('commands, their commands, options and choices are completed', async () => {
  assert.deepEqual(await completed('ro'), ['rotate-keys', 'role', 'role-group']);
  assert.deepEqual(await completed('user', 'roles', ''), ['add', 'remove', 'set']);
  assert.deepEqual(await completed('help', 'user', 'ses'), ['sessions']);
  assert.deepEqual(await completed('user', 'list', '--st'), ['--status']);
  assert.deepEqual(await completed('user', 'list', '--all', '--status', 'un'), ['unverified']);
  assert.deepEqual(await completed('completion', ''), ['bash', 'zsh', 'fish']);
  assert.deepEqual(await completed('user', 'get', '--url', 'x', '--js'), ['--json']);
});

test('nothing is offered where only the user knows the value, or for a wrong command', async () => {
  for (const words of [
    ['user', 'get', ''],
    ['user', 'create', '--from', ''],
    ['bogus', ''],
    ['serve', 'x', ''],
  ])
    assert.deepEqual(await completed(...words), [''], words.join(' '));
});
