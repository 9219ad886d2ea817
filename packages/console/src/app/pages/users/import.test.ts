// What an import reads from a file, and what it would do with each row.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ListedUser } from '@castellan/sdk';
import { judgeRows, MAX_ROWS, parseCsv, readRows, textOf } from './import.ts';

test('cells may hold quotes, separators and line breaks', () => {
  assert.deepEqual(parseCsv('\uFEFFa,b\r\n"x, ""y""","1\n2"\r\n\r\nz'), [
    ['a', 'b'],
    ['x, "y"', '1\n2'],
    ['z'],
  ]);
});

test('spreadsheets that write semicolons are read', () => {
  assert.deepEqual(parseCsv('email;first_name\na@example.com;Ada'), [
    ['email', 'first_name'],
    ['a@example.com', 'Ada'],
  ]);
});

test('a file in Windows-1252 keeps its umlauts', () => {
  assert.equal(textOf(Uint8Array.from([0x4d, 0xfc, 0x6c, 0x6c, 0x65, 0x72]).buffer), 'Müller');
  assert.equal(textOf(new TextEncoder().encode('Müller').buffer), 'Müller');
});

test('columns may stand in any order, and an export can be imported', () => {
  assert.deepEqual(readRows("roles,First_Name,id,EMAIL\nEditor; Auditor,'=Ada,7, Ada@Example.com "), [
    {
      line: 2,
      email: 'ada@example.com',
      first_name: '=Ada',
      last_name: '',
      roles: ['Editor', 'Auditor'],
    },
  ]);
});

test('a file without rows, without columns or with too many rows is refused', () => {
  assert.equal(readRows(''), 'empty');
  assert.equal(readRows('email,first_name'), 'empty');
  assert.equal(readRows('mail,name\na@example.com,Ada'), 'columns');
  const rows = 'a@example.com,Ada\n'.repeat(MAX_ROWS + 1);
  assert.equal(readRows(`email,first_name\n${rows}`), 'rows');
});

const ada: ListedUser = {
  id: 'u1',
  email: 'ada@example.com',
  first_name: 'Ada',
  last_name: '',
  is_active: true,
  is_superuser: false,
  verified: true,
  must_change_password: false,
  roles: [{ id: 'r1', name: 'Editor', description: '' }],
  permissions: [],
  created_at: '',
  updated_at: '',
};

test('each row gets a verdict', () => {
  const rows = readRows(
    [
      'email,first_name,last_name,roles',
      'new@example.com,Neo,,EDITOR',
      'ada@example.com,Other,,editor;Auditor',
      'ADA@example.com,Ada,,',
      'nobody,Ada,,',
      'noname@example.com,,,',
      'role@example.com,Rob,,Unknown',
    ].join('\n'),
  );
  assert.ok(Array.isArray(rows));
  const verdicts = judgeRows(
    rows,
    new Map([[ada.email, ada]]),
    new Map([
      ['editor', 'r1'],
      ['auditor', 'r2'],
    ]),
  );
  assert.deepEqual(
    verdicts.map((one) => [one.row.line, one.kind, one.kind === 'error' ? one.problem : null]),
    [
      [2, 'create', null],
      [3, 'assign', null],
      [4, 'error', 'duplicate'],
      [5, 'error', 'email'],
      [6, 'error', 'name'],
      [7, 'error', 'role'],
    ],
  );
  assert.deepEqual(verdicts[0]?.kind === 'create' && verdicts[0].roleIds, ['r1']);
  assert.deepEqual(verdicts[1]?.kind === 'assign' && verdicts[1].roleNames, ['Auditor']);
});

test('a user who has all roles stays as they are', () => {
  const rows = readRows('email,first_name,roles\nada@example.com,Ada,Editor');
  assert.ok(Array.isArray(rows));
  const [verdict] = judgeRows(rows, new Map([[ada.email, ada]]), new Map([['editor', 'r1']]));
  assert.equal(verdict?.kind, 'same');
});
