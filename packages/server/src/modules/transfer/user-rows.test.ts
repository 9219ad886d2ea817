// The rules for a row of users: what is normalized, what is refused, and that no refusal shows a hash.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readUser } from './user-rows.ts';

const rules = { privileged: false, withoutPasswords: false };
const bcrypt = '$2b$05$0sJMdtCPv9DQ2JQ9yq8rnuotiGBiKjVmAT63bQzO9am/1Rn1IVi.6';

function accepted(row: Record<string, unknown>, more: Partial<typeof rules> = {}) {
  const read = readUser({ email: 'ada@example.com', ...row }, { ...rules, ...more });
  assert.ok('user' in read, JSON.stringify(read));
  return read.user;
}

function codes(row: Record<string, unknown>): string[] {
  const read = readUser({ email: 'ada@example.com', ...row }, rules);
  assert.ok('errors' in read, 'the row was accepted');
  return read.errors.map(({ field, code }) => `${field}: ${code}`);
}

describe('accepted', () => {
  test('an email alone: an active, verified user without a password', () => {
    assert.deepEqual(accepted({ email: ' Ada@Example.com ' }), {
      id: null,
      email: 'ada@example.com',
      first_name: 'ada',
      last_name: '',
      password_hash: null,
      is_active: true,
      is_superuser: false,
      verified: true,
      must_change_password: false,
      invite: false,
      invited_at: null,
      deletion_due_at: null,
      language: null,
      created_at: null,
      updated_at: null,
      roles: undefined,
      external_id: null,
      attributes: {},
    });
  });

  const names: [Record<string, string>, string, string][] = [
    [{ name: 'Ada King Lovelace' }, 'Ada King', 'Lovelace'],
    [{ name: 'Plato' }, 'Plato', ''],
    [{ name: 'Ignored', first_name: 'Ada', last_name: 'Lovelace' }, 'Ada', 'Lovelace'],
    [{ last_name: 'Lovelace' }, 'Lovelace', ''],
    [{ first_name: '', last_name: '', name: '' }, 'ada', ''],
  ];
  for (const [row, first, last] of names)
    test(`names of ${JSON.stringify(row)}`, () => {
      const { first_name, last_name } = accepted(row);
      assert.deepEqual([first_name, last_name], [first, last]);
    });

  test('booleans of JSON, of CSV, and the time of a verification', () => {
    for (const yes of [true, 'true', 'T', '1', 1, 'yes', '2022-01-02 03:04:05'])
      assert.equal(accepted({ verified: yes }).verified, true, String(yes));
    for (const no of [false, 'false', 'f', '0', 0, 'no', '', null])
      assert.equal(accepted({ verified: no }).verified, false, String(no));
  });

  test('times with and without a zone', () => {
    const times: Record<string, string> = {
      '2022-01-02T03:04:05Z': '2022-01-02T03:04:05.000Z',
      '2022-01-02 03:04:05.123456+02': '2022-01-02T01:04:05.123Z',
      '2022-01-02 03:04:05-0330': '2022-01-02T06:34:05.000Z',
      '2022-01-02 03:04:05': '2022-01-02T03:04:05.000Z',
      '2022-01-02': '2022-01-02T00:00:00.000Z',
    };
    for (const [text, expected] of Object.entries(times))
      assert.equal(accepted({ created_at: text }).created_at, expected);
  });

  test('when an account that its owner deleted is removed, which is in the future', () => {
    const due = '2999-01-02T03:04:05.000Z';
    assert.equal(accepted({ is_active: false, deletion_due_at: due }).deletion_due_at, due);
  });

  test('names that an invitation lacks, of an export', () => {
    const invited = { invited_at: '2022-01-02T03:04:05.000Z', verified: false, first_name: '' };
    const namesOf = (row: Record<string, unknown>) => {
      const { first_name, last_name } = accepted(row);
      return [first_name, last_name];
    };
    assert.deepEqual(namesOf({ ...invited, last_name: '' }), ['', '']);
    assert.deepEqual(namesOf({ ...invited, last_name: ' King ' }), ['', 'King']);
    assert.deepEqual(namesOf({ ...invited, verified: true }), ['ada', '']);
    assert.deepEqual(namesOf({ ...invited, password_hash: bcrypt }), ['ada', '']);
    assert.deepEqual(namesOf({ ...invited, invite: true }), ['ada', '']);
  });

  test('roles as a list, as a text, and none', () => {
    assert.deepEqual(accepted({ roles: ['A', 'B', 'A'] }).roles, ['A', 'B']);
    assert.deepEqual(accepted({ roles: 'A; B' }).roles, ['A', 'B']);
    assert.deepEqual(accepted({ roles: '' }).roles, []);
  });

  test('hashes in the stored spelling, or none', () => {
    assert.equal(accepted({ password_hash: `bcrypt$${bcrypt}` }).password_hash, bcrypt);
    assert.equal(accepted({ password_hash: `{CRYPT}${bcrypt}\n` }).password_hash, bcrypt);
    assert.equal(accepted({ password_hash: '!unusable' }).password_hash, null);
    assert.equal(accepted({ password_hash: '{CRYPT}*' }).password_hash, null);
    assert.equal(accepted({ password_hash: 'md5' }, { withoutPasswords: true }).password_hash, null);
  });

  test('superusers, if the operator allows them', () => {
    assert.equal(accepted({ is_superuser: true }, { privileged: true }).is_superuser, true);
  });
});

describe('refused', () => {
  const rows: [string, Record<string, unknown>, string[]][] = [
    ['no email', { email: undefined }, ['email: invalid_email']],
    ['an email that is a number', { email: 5 }, ['email: wrong_type']],
    ['not an email', { email: 'ada' }, ['email: invalid_email']],
    ['an unknown field', { phone: '1' }, ['phone: unknown_field']],
    ['a field of every object', { constructor: '1' }, ['constructor: unknown_field']],
    ['markup in a name', { first_name: '<b>x' }, ['first_name: markup']],
    ['a long name', { last_name: 'x'.repeat(101), first_name: 'a' }, ['last_name: too_long']],
    ['an id that is no UUID', { id: '17' }, ['id: invalid_id']],
    ['a superuser', { is_superuser: true }, ['is_superuser: needs_privileged']],
    ['not a boolean', { is_active: 'maybe' }, ['is_active: wrong_type']],
    ['a time of the future', { created_at: '2999-01-01' }, ['created_at: invalid_time']],
    ['a time of the year 0', { created_at: '0001-01-01 00:00:00+14' }, ['created_at: invalid_time']],
    ['not a time', { created_at: '2022-13-45' }, ['created_at: invalid_time']],
    ['roles that are no texts', { roles: [1] }, ['roles: wrong_type']],
    ['a role with a NUL', { roles: ['a\u0000'] }, ['roles: control_character']],
    ['a role with half a surrogate pair', { roles: ['\ud800'] }, ['roles: ill_formed']],
    ['an empty role', { roles: ['A', ''] }, ['roles: too_short']],
    ['the nil UUID', { id: '00000000-0000-0000-0000-000000000000' }, ['id: invalid_id']],
    ['a language that is none', { language: 'x1' }, ['language: invalid_language']],
    ['everything that is wrong', { id: '1', roles: {} }, ['id: invalid_id', 'roles: wrong_type']],
  ];
  for (const [name, row, expected] of rows) test(name, () => assert.deepEqual(codes(row), expected));

  test('hashes that cannot be used, without showing them', () => {
    const hashes = {
      '5f4dcc3b5aa765d61d8327deb882cf99': 'hash_unsupported',
      [bcrypt.slice(0, 30)]: 'hash_malformed',
      [bcrypt.replace('$05$', '$31$')]: 'hash_too_costly',
    };
    for (const [hash, code] of Object.entries(hashes)) {
      const read = readUser({ email: 'ada@example.com', password_hash: hash }, rules);
      assert.ok('errors' in read);
      assert.deepEqual(
        read.errors.map((one) => one.code),
        [code],
      );
      assert.ok(!JSON.stringify(read).includes(hash));
    }
  });
});
