import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { allCommands, commandLinePath, withCommands } from './command-line.ts';

const page = await readFile(commandLinePath, 'utf8');
const listed = await allCommands();

test('docs/operate/command-line.md lists the present commands', () => {
  assert.equal(page, withCommands(page, listed), 'run `npm run gen`');
});

test('the examples of the page name commands and options that exist', () => {
  const examples = page
    .split('\n')
    .flatMap((line) =>
      [...line.matchAll(/(?:^|[|(] ?)castellan ([a-z][^#|<>&)]*)/g)].map((match) => match[1] ?? ''),
    );
  assert.ok(examples.length > 15);
  for (const example of examples) {
    const words = example.trim().split(/\s+/);
    const found = listed
      .filter(({ name }) => `${words.join(' ')} `.startsWith(`${name} `))
      .sort((a, b) => b.name.length - a.name.length)[0];
    assert.ok(found, `castellan ${example}`);
    const options = (found.command.options ?? []).map(({ flags }) => flags.split(' ')[0]);
    for (const word of words.filter((one) => one.startsWith('--')))
      assert.ok(options.includes(word), `${example}: ${word}`);
  }
});

test('every command has a summary that is a sentence, and options with help', () => {
  assert.ok(listed.length > 60);
  for (const { name, command } of listed) {
    assert.match(command.summary, /^[A-Z].+\.$/, name);
    const options = command.options ?? [];
    for (const { flags, help } of options) assert.match(help, /^.+\.$/, `${name} ${flags}`);
    assert.equal(new Set(options.map(({ flags }) => flags.split(' ')[0])).size, options.length, name);
  }
});
