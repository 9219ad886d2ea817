// Tests how permissions follow from roles, with tables over a small graph.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { mayDo, permissionsOf, rolesOf, type Subject } from './effective.ts';
import { emptyGraph, RoleNode } from './graph/compiled-graph.ts';
import { everywhere } from './scope.ts';

const names = ['b.read', 'a.write', 'a.read', 'c.unassigned'];
const table = emptyGraph.permissions.next(
  'all',
  names.map((name) => ({
    id: `id of ${name}`,
    name,
    lower_name: name,
    required_acr: null,
    max_auth_age: null,
  })),
);
const role = (id: string, name: string, permissions: string[]): RoleNode =>
  RoleNode.of(
    {
      id,
      name,
      description: '',
      is_system: false,
      required_acr: null,
      enforced_from_ms: null,
      permission_ids: permissions.map((one) => `id of ${one}`).join() || null,
    },
    table,
  );
const graph = emptyGraph.next('7', table, 'all', [
  role('1', 'Writer', ['a.write', 'a.read']),
  role('2', 'Reader', ['b.read', 'a.read']),
  role('3', 'Empty', []),
]);
const by = (...role_ids: string[]) => ({ is_superuser: false, role_ids });
const narrowed = (role: string, ...narrowed_to: string[]) => ({ ...by(role), narrowed_to });
const superuser = { is_superuser: true, role_ids: [] };

describe('mayDo', () => {
  const cases: [string, Subject, string, boolean][] = [
    ['refuses a user without roles', by(), 'a.read', false],
    ['allows a permission of the role', by('1'), 'a.write', true],
    ['refuses a permission that the role lacks', by('2'), 'a.write', false],
    ['allows a permission of any of several roles', by('3', '2', '1'), 'a.write', true],
    ['ignores a role that is not in the graph', by('9'), 'a.read', false],
    ['refuses a prefix of a permission name', by('1'), 'a', false],
    ['compares permission names ignoring case', by('1'), 'A.READ', true],
    ['allows a superuser every permission', superuser, 'c.unassigned', true],
    ['refuses everybody a permission that does not exist, superusers included', superuser, 'd.new', false],
    [
      'refuses a narrowed key a permission that its roles give',
      narrowed('1', 'id of b.read'),
      'a.read',
      false,
    ],
    [
      'allows a narrowed key what its roles give and it is narrowed to',
      narrowed('1', 'id of a.read'),
      'a.read',
      true,
    ],
    ['refuses a narrowed key what its roles do not give', narrowed('3', 'id of a.read'), 'a.read', false],
    ['refuses everything to a key that is narrowed to nothing', narrowed('1'), 'a.read', false],
  ];
  for (const [name, subject, permission, expected] of cases)
    test(name, () => assert.equal(mayDo(graph, everywhere(subject), permission), expected));
});

describe('permissionsOf', () => {
  test('is sorted and contains each name once', () => {
    assert.deepEqual(permissionsOf(graph, everywhere(by('2', '1', '2'))), ['a.read', 'a.write', 'b.read']);
    assert.deepEqual(
      permissionsOf(graph, everywhere(by('1', '2'))),
      permissionsOf(graph, everywhere(by('2', '1'))),
    );
  });
  test('is empty without roles, with empty roles and with unknown roles', () => {
    for (const subject of [by(), by('3'), by('9')])
      assert.deepEqual(permissionsOf(graph, everywhere(subject)), []);
  });
  test('contains every permission for a superuser, including those in no role', () => {
    assert.deepEqual(permissionsOf(graph, everywhere(superuser)), graph.allPermissions);
  });
  test('agrees with mayDo for every permission and set of roles', () => {
    for (const ids of [[], ['1'], ['2'], ['3'], ['1', '2'], ['9', '2']]) {
      const held = new Set(permissionsOf(graph, everywhere(by(...ids))));
      for (const name of graph.allPermissions)
        assert.equal(mayDo(graph, everywhere(by(...ids)), name), held.has(name));
    }
  });
  test('does not change the graph', () => {
    const shown = () => [...graph.roles.values()].map(({ name, permissions }) => [name, ...permissions]);
    const before = shown();
    permissionsOf(graph, everywhere(by('2', '1')));
    rolesOf(graph, by('2', '1'));
    assert.deepEqual(shown(), before);
  });
});

test('rolesOf sorts by name and leaves out roles that are not in the graph', () => {
  const shown = (...ids: string[]): string[] => rolesOf(graph, by(...ids)).map((one) => one.name);
  assert.deepEqual(shown('1', '9', '3', '2'), ['Empty', 'Reader', 'Writer']);
  assert.deepEqual(shown(), []);
});
