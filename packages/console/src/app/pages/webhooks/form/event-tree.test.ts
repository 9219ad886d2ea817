import assert from 'node:assert/strict';
import { test } from 'node:test';
import { groupsOf, typesOf, withGroup, withType } from './event-tree.ts';

const types = [
  'login_failed',
  'login_succeeded',
  'logout',
  'logout_all',
  'role_created',
  'role_deleted',
  'role_group_created',
];
const groups = groupsOf(types);
const [, role] = groups;
assert.ok(role);
const on = { isOn: true, groups };
const off = { isOn: false, groups };

test('groups are what a beginning and an asterisk match; the others are together at the end', () => {
  assert.deepEqual(groups, [
    { prefix: 'login_', types: ['login_failed', 'login_succeeded'] },
    { prefix: 'role_', types: ['role_created', 'role_deleted', 'role_group_created'] },
    { prefix: null, types: ['logout', 'logout_all'] },
  ]);
  for (const { prefix, types: members } of groups)
    if (prefix !== null) assert.deepEqual(typesOf([`${prefix}*`], types), members);
});

test('patterns match as the service matches them', () => {
  assert.deepEqual(typesOf(['*'], types), types);
  assert.deepEqual(typesOf(['role_group_*', 'logout'], types), ['logout', 'role_group_created']);
  assert.deepEqual(typesOf(['log_out', 'gone_*'], types), []);
});

test('a type is added by its name, and a whole group by its beginning, which replaces its parts', () => {
  assert.deepEqual(withType(['logout'], 'role_created', on), ['logout', 'role_created']);
  assert.deepEqual(withType(['logout'], 'logout', on), ['logout']);
  assert.deepEqual(withGroup(['role_created', 'role_group_*', 'logout'], role, on), ['logout', 'role_*']);
  const alone = groups[2];
  assert.ok(alone);
  assert.deepEqual(withGroup(['logout'], alone, on), ['logout', 'logout_all']);
});

test('a type that a pattern matches is taken out by naming the others', () => {
  assert.deepEqual(withType(['role_*', 'logout'], 'role_deleted', off), [
    'role_created',
    'role_group_created',
    'logout',
  ]);
  assert.deepEqual(withType(['role_created'], 'role_created', off), []);
  assert.deepEqual(withType(['*'], 'login_failed', off), [
    'login_succeeded',
    'role_*',
    'logout',
    'logout_all',
  ]);
});

test('a group that is taken out leaves the patterns of others, and what this console does not know', () => {
  assert.deepEqual(withGroup(['role_created', 'role_*', 'login_*', 'gone_*'], role, off), [
    'login_*',
    'gone_*',
  ]);
  assert.deepEqual(typesOf(withGroup(['*'], role, off), types), [
    'login_failed',
    'login_succeeded',
    'logout',
    'logout_all',
  ]);
});
