// What a user may do by his roles: tables over a small graph made by hand.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { mayDo, permissionsOf, rolesOf } from './effective.ts';
import type { Graph, RoleNode } from './graph.ts';

const role = (id: string, name: string, permissions: string[]): [string, RoleNode] => [
  id,
  { id, name, description: '', is_system: false, permissions },
];
const graph: Graph = {
  version: 7n,
  roles: new Map([
    role('1', 'Writer', ['a.read', 'a.write']),
    role('2', 'Reader', ['a.read', 'b.read']),
    role('3', 'Empty', []),
  ]),
  allPermissions: ['a.read', 'a.write', 'b.read', 'c.unassigned'],
};
const by = (...role_ids: string[]) => ({ is_superuser: false, role_ids });
const superuser = { is_superuser: true, role_ids: [] };

describe('mayDo', () => {
  const cases: [string, Parameters<typeof mayDo>[1], string, boolean][] = [
    ['nobody without roles', by(), 'a.read', false],
    ['by a role that holds it', by('1'), 'a.write', true],
    ['not by a role that lacks it', by('2'), 'a.write', false],
    ['by any of several roles', by('3', '2', '1'), 'a.write', true],
    ['not by a role that is gone from the graph', by('9'), 'a.read', false],
    ['not by a name that is only a part', by('1'), 'a', false],
    ['not by a name in another case', by('1'), 'A.READ', false],
    ['a superuser, whatever his roles', superuser, 'c.unassigned', true],
    ['a superuser, also what this version does not know', superuser, 'd.new', true],
  ];
  for (const [name, subject, permission, expected] of cases)
    test(name, () => assert.equal(mayDo(graph, subject, permission), expected));
});

describe('permissionsOf', () => {
  test('is sorted and holds each name once, however many roles give it', () => {
    assert.deepEqual(permissionsOf(graph, by('2', '1', '2')), ['a.read', 'a.write', 'b.read']);
    assert.deepEqual(permissionsOf(graph, by('1', '2')), permissionsOf(graph, by('2', '1')));
  });
  test('is empty without roles, with empty ones and with unknown ones', () => {
    for (const subject of [by(), by('3'), by('9')]) assert.deepEqual(permissionsOf(graph, subject), []);
  });
  test('of a superuser is every permission, also those in no role', () => {
    assert.deepEqual(permissionsOf(graph, superuser), graph.allPermissions);
  });
  test('agrees with mayDo on every permission and set of roles', () => {
    for (const ids of [[], ['1'], ['2'], ['3'], ['1', '2'], ['9', '2']]) {
      const held = new Set(permissionsOf(graph, by(...ids)));
      for (const name of graph.allPermissions) assert.equal(mayDo(graph, by(...ids), name), held.has(name));
    }
  });
  test('leaves the graph as it was', () => {
    const before = structuredClone(graph);
    permissionsOf(graph, by('2', '1'));
    rolesOf(graph, by('2', '1'));
    assert.deepEqual(graph, before);
  });
});

test('rolesOf is by name and leaves out what is gone', () => {
  const names = (...ids: string[]): string[] => rolesOf(graph, by(...ids)).map((one) => one.name);
  assert.deepEqual(names('1', '9', '3', '2'), ['Empty', 'Reader', 'Writer']);
  assert.deepEqual(names(), []);
});
