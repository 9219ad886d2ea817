import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findWords, isChecked } from './words.ts';

const found = (path: string, text: string): string[] =>
  findWords(path, text).map(({ line, found }) => `${line} ${found}`);

test('a word to avoid is found in a page, with its line and a better word', () => {
  assert.deepEqual(findWords('docs/guide.md', 'A user\nchanges his password.'), [
    { line: 2, found: 'his', better: 'they, their, or the noun' },
  ]);
  assert.deepEqual(found('README.md', 'Back-ups and time-outs'), ['1 Back-ups', '1 time-outs']);
});

test('examples, inline code and link targets of a page are ignored', () => {
  assert.deepEqual(found('docs/a.md', '```sh\necho his\n```\nthe `his` of [x](#back-up)'), []);
  assert.deepEqual(found('docs/a.md', '```\nhis\n```\nhis'), ['4 his']);
});

test('a phrase is found where it is wrong, and not where it is right', () => {
  const wrong = {
    'The key stands in the set.': 'stands in',
    'Columns may stand in any order.': 'stand in',
    'A DNS name that leads to the proxy.': 'name that leads to',
    'The roles that lead to a permission.': 'roles that lead to',
    'Permissions beside the built-in ones.': 'Permissions beside',
    'The key meanwhile expires.': 'meanwhile',
    'Meanwhile checks the lock.': 'Meanwhile',
    'The row does not exist any more.': 'any more',
    'Only the own record is open.': 'the own',
    'Send it on a connection of its own.': 'a connection of its own',
    'Whoever has the file is trusted.': 'Whoever',
    'Protect a service of yours.': 'a service of yours',
  };
  for (const [text, phrase] of Object.entries(wrong))
    assert.deepEqual(found('docs/a.md', text), [`1 ${phrase}`]);
  const right = [
    'A role stands in the way of the deletion, a class stands in for the client, and a label stands in front of it.',
    'The stand-in for tests. A link leads to the list, and a wrong host leads to an error.',
    'A pane beside the list. Other panes beside each other.',
    'Meanwhile, other instances answer.',
    'It reads no more than that, nor any more rows. Are there any more than ten?',
    'Users read their own record. It ends of its own accord.',
    'A path of its own origin. Your own service.',
    'One of yours is renamed.',
  ];
  for (const text of right) assert.deepEqual(found('docs/a.md', text), [], text);
});

test('in source code, comments and messages are checked, names are not', () => {
  const path = 'packages/server/src/a.ts';
  assert.deepEqual(found(path, "const he = row['his'];"), []);
  assert.deepEqual(found(path, '// The moment of the deed.'), ['1 deed']);
  assert.deepEqual(found(path, '/** His row. */'), ['1 His']);
  assert.deepEqual(found(path, 'throw new Error("the way in is closed");'), ['1 way in']);
  assert.deepEqual(found(path, '// The one way in which it is replaced.'), []);
});

test('in test files only the test names are checked, including those on a line of their own', () => {
  const path = 'packages/server/test/a.test.ts';
  assert.deepEqual(found(path, "test('he keeps his role', async () => {\n  const his = 'his own row';"), [
    '1 he',
  ]);
  assert.deepEqual(found(path, "  scenario(\n    'a storm of requests',\n    async () => {"), ['2 storm']);
  assert.deepEqual(found(path, "assert.ok(\n  'his',\n"), []);
});

test('generated data and migrations are not checked', () => {
  assert.ok(isChecked('packages/server/src/app.ts'));
  assert.ok(isChecked('docs/decisions/0001-embedded-postgresql.md'));
  assert.ok(isChecked('packages/console/src/app/shell/Shell.tsx'));
  assert.ok(isChecked('deploy/drills/restore.ts'));
  assert.ok(!isChecked('scripts/checks/words.ts'));
  assert.ok(!isChecked('docs/openapi.json'));
  const mail = 'packages/server/src/modules/auth/mail-templates/verification';
  assert.ok(isChecked(`${mail}.en.html`));
  for (const part of ['html', 'text.txt', 'subject.txt']) assert.ok(!isChecked(`${mail}.de.${part}`));
  assert.ok(!isChecked('packages/server/migrations/0001-accounts.sql'));
});
