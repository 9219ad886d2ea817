// What an import reads from a file, and what it would do with each row.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ListedUser } from '@castellan/sdk';
import { emailKey, impactOfCreation, judgeRows, MAX_ROWS, readRows, textOf } from './import.ts';

test('a file in Windows-1252 keeps its umlauts', () => {
  assert.equal(textOf(Uint8Array.from([0x4d, 0xfc, 0x6c, 0x6c, 0x65, 0x72]).buffer), 'Müller');
  assert.equal(textOf(new TextEncoder().encode('Müller').buffer), 'Müller');
});

test('a file in UTF-16, as spreadsheets save "Unicode text", is read', () => {
  assert.equal(textOf(Uint8Array.from([0xff, 0xfe, 0x61, 0, 0xfc, 0]).buffer), 'aü');
  assert.equal(textOf(Uint8Array.from([0xfe, 0xff, 0, 0x61, 0, 0xfc]).buffer), 'aü');
});

test('columns may be in any order, and an export can be imported', () => {
  assert.deepEqual(readRows("roles,First_Name,id,EMAIL\nEditor; Auditor,'=Ada,7, Ada@Example.com "), [
    {
      line: 2,
      email: 'ada@example.com',
      first_name: '=Ada',
      last_name: '',
      roles: ['Editor', 'Auditor'],
      external_id: '',
      attributes: {},
      isTooLong: false,
    },
  ]);
});

test('rows keep the lines of the file, also behind blank ones and cells of several lines', () => {
  const rows = readRows('email,first_name\n\n"a@example.com","Ada\nB."\n\nb@example.com,Bob');
  assert.ok(Array.isArray(rows));
  assert.deepEqual(
    rows.map(({ line }) => line),
    [3, 6],
  );
});

test('a file without rows, without columns or with too many rows is refused', () => {
  assert.deepEqual(readRows(''), { problem: 'empty' });
  assert.deepEqual(readRows('email,first_name'), { problem: 'empty' });
  assert.deepEqual(readRows('mail,name\na@example.com,Ada'), { problem: 'columns' });
  assert.deepEqual(readRows('email,first_name,Email\na@example.com,Ada,x'), { problem: 'columns' });
  assert.deepEqual(readRows('email,first_name,attributes.a,attributes.a\na@example.com,Ada,x,y'), {
    problem: 'columns',
  });
  const rows = 'a@example.com,Ada\n'.repeat(MAX_ROWS + 1);
  assert.deepEqual(readRows(`email,first_name\n${rows}`), { problem: 'rows' });
});

test('a quote that is not closed swallows nothing: the file is refused, with its line', () => {
  assert.deepEqual(readRows('email,first_name\na@example.com,"Ada\nb@example.com,Bob\n'), {
    problem: 'unclosed',
    line: 2,
  });
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
  external_id: null,
  invited_at: null,
  deletion_due_at: null,
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
      'long@example.com,Lou,,,more',
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
    [],
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
      [8, 'error', 'cells'],
    ],
  );
  assert.equal(verdicts[2]?.kind === 'error' && verdicts[2].detail, '3', 'the line of the first one');
  assert.deepEqual(verdicts[0]?.kind === 'create' && verdicts[0].roleIds, ['r1']);
  assert.deepEqual(verdicts[1]?.kind === 'assign' && verdicts[1].roleNames, ['Auditor']);
});

test('new users gain what their roles give, each permission once', () => {
  const rows = readRows('email,first_name,roles\nnew@example.com,Neo,One;Two\nplain@example.com,Pia,');
  assert.ok(Array.isArray(rows));
  const ids = new Map([
    ['one', 'r1'],
    ['two', 'r2'],
  ]);
  const permission = (name: string) => ({ name });
  const impact = impactOfCreation(
    judgeRows(rows, new Map(), ids, []),
    new Map([
      ['r1', { permissions: [permission('a.read')] }],
      ['r2', { permissions: [permission('a.read'), permission('a.write')] }],
    ]),
  );
  assert.deepEqual([impact.gaining, impact.losing], [1, 0]);
  assert.deepEqual(impact.subjects[0]?.gained, ['a.read', 'a.write']);
  assert.deepEqual(impact.gained, [
    { permission: 'a.read', subjects: 1 },
    { permission: 'a.write', subjects: 1 },
  ]);
});

test('a user who has all roles stays as they are', () => {
  const rows = readRows('email,first_name,roles\nada@example.com,Ada,Editor');
  assert.ok(Array.isArray(rows));
  const [verdict] = judgeRows(rows, new Map([[ada.email, ada]]), new Map([['editor', 'r1']]), []);
  assert.equal(verdict?.kind, 'same');
});

test('both spellings of an internationalized domain are one email', () => {
  const rows = readRows('email,first_name\nada@münchen.example,Ada\nada@xn--mnchen-3ya.example,Ada');
  assert.ok(Array.isArray(rows));
  const user = { ...ada, email: 'ada@münchen.example' };
  const verdicts = judgeRows(rows, new Map([[emailKey(user.email), user]]), new Map(), []);
  assert.deepEqual(
    verdicts.map(({ kind }) => kind),
    ['same', 'error'],
  );
  assert.equal(emailKey('ada@example.com'), 'ada@example.com');
  assert.equal(emailKey('ada@bü cher'), 'ada@bü cher');
});
