// Unsaved changes of roles: marks, what still applies, what somebody else has changed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  changesByRole,
  countOf,
  differences,
  differs,
  flip,
  nothingPending,
  resolved,
  stillApplying,
} from './pending.ts';

const held = new Map([
  ['lead', new Set(['read', 'write'])],
  ['agent', new Set(['read'])],
]);
const cell = (roleId: string, permissionId: string) => ({ roleId, permissionId });

test('a flip marks, a second one unmarks, and other rows keep their identity', () => {
  const one = flip(nothingPending, cell('lead', 'read'), held);
  const two = flip(one, cell('agent', 'write'), held);
  assert.deepEqual(changesByRole(two), [
    { roleId: 'lead', add: [], remove: ['read'] },
    { roleId: 'agent', add: ['write'], remove: [] },
  ]);
  assert.equal(two.get('read'), one.get('read'));
  assert.equal(countOf(flip(flip(two, cell('lead', 'read'), held), cell('agent', 'write'), held)), 0);
});

test('marks that are done, or whose record is gone, go; the others stay', () => {
  let pending = flip(nothingPending, cell('lead', 'read'), held);
  pending = flip(pending, cell('agent', 'write'), held);
  pending = flip(pending, cell('agent', 'old'), held);
  const now = new Map([
    ['lead', new Set(['read'])],
    ['agent', new Set(['read', 'write'])],
  ]);
  assert.deepEqual(changesByRole(stillApplying(pending, now, new Set(['read', 'write']))), [
    { roleId: 'lead', add: [], remove: ['read'] },
  ]);
  assert.equal(countOf(stillApplying(pending, new Map(), new Set(['read', 'write', 'old']))), 0);
});

test('differences tell theirs and mine, and only roles that somebody changed', () => {
  let pending = flip(nothingPending, cell('lead', 'read'), held);
  pending = flip(pending, cell('agent', 'write'), held);
  const now = new Map([
    ['lead', new Set(['read', 'write'])],
    ['agent', new Set(['delete'])],
  ]);
  const found = differences(pending, held, now);
  assert.deepEqual(found, [
    { permissionId: 'read', roleId: 'agent', before: true, theirs: false, mine: true },
    { permissionId: 'delete', roleId: 'agent', before: false, theirs: true, mine: false },
    { permissionId: 'write', roleId: 'agent', before: false, theirs: false, mine: true },
  ]);
  assert.ok(found.every(differs));
  const alike = differences(pending, held, new Map([['agent', new Set(['read', 'write'])]]));
  assert.deepEqual(alike.filter(({ roleId }) => roleId === 'agent').map(differs), [false]);
});

test('choices decide cell by cell, on the basis of what somebody else saved', () => {
  const pending = flip(flip(nothingPending, cell('agent', 'write'), held), cell('lead', 'read'), held);
  const now = new Map([...held, ['agent', new Set(['delete'])]]);
  const found = differences(pending, held, now);
  const choices = new Map([
    ['agent read', 'mine'],
    ['agent delete', 'theirs'],
    ['agent write', 'theirs'],
  ] as const);
  assert.deepEqual(changesByRole(resolved(pending, found, choices)), [
    { roleId: 'lead', add: [], remove: ['read'] },
    { roleId: 'agent', add: ['read'], remove: [] },
  ]);
});
