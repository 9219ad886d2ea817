// Tests that a graph derived step by step equals one built from scratch, for any sequence of changes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { emptyGraph, type Graph, RoleNode } from './compiled-graph.ts';

/** The content of a database: permission names by id, and roles with the ids of their permissions. */
type State = { permissions: Map<string, string>; roles: Map<string, { name: string; held: Set<string> }> };
type Change = { kind: 'permission' | 'role' | 'grant' | 'remove'; at: number; to: number };

const permissionRows = (state: State, ids: Iterable<string>) =>
  [...ids].flatMap((id) => {
    const name = state.permissions.get(id);
    return name === undefined
      ? []
      : [{ id, name, lower_name: name.toLowerCase(), required_acr: null, max_auth_age: null }];
  });
const roleRows = (state: State, ids: Iterable<string>) =>
  [...ids].flatMap((id) => {
    const role = state.roles.get(id);
    if (!role) return [];
    const permission_ids = [...role.held].join() || null;
    return [
      {
        id,
        name: role.name,
        description: '',
        is_system: false,
        required_acr: null,
        enforced_from_ms: null,
        permission_ids,
      },
    ];
  });

function derive(from: Graph, state: State, roles: Set<string>, permissions: Set<string>): Graph {
  const table = from.permissions.next(permissions, permissionRows(state, permissions));
  const nodes = roleRows(state, roles).map((row) => RoleNode.of(row, table));
  return from.next('next', table, roles, nodes);
}

function build(state: State): Graph {
  const table = emptyGraph.permissions.next('all', permissionRows(state, state.permissions.keys()));
  const nodes = roleRows(state, state.roles.keys()).map((row) => RoleNode.of(row, table));
  return emptyGraph.next('built', table, 'all', nodes);
}

const shown = (graph: Graph) => ({
  all: graph.allPermissions,
  size: graph.roles.size,
  roles: [...graph.roles.values()]
    .map(({ id, name, permissions }) => ({ id, name, permissions }))
    .sort((a, b) => (a.id < b.id ? -1 : 1)),
});

/** Applies one change to the state, within the rules of the database. Adds the ids that it touched to the two sets. */
function apply(state: State, { kind, at, to }: Change, roles: Set<string>, permissions: Set<string>): void {
  const [permission, role] = [`p${at}`, `r${to}`];
  const held = state.roles.get(role)?.held;
  if (kind === 'permission') {
    // Creates the permission, or renames it.
    state.permissions.set(permission, `name.${at}.${state.permissions.has(permission) ? to : ''}`);
    permissions.add(permission);
  } else if (kind === 'role') {
    if (held && at % 2 === 0) state.roles.delete(role);
    else state.roles.set(role, { name: `Role ${at}`, held: held ?? new Set() });
    roles.add(role);
  } else if (kind === 'grant') {
    if (!held || !state.permissions.has(permission)) return;
    held.add(permission);
    roles.add(role);
  } else {
    for (const [id, one] of state.roles) if (one.held.delete(permission)) roles.add(id);
    if (state.permissions.delete(permission)) permissions.add(permission);
  }
}

const change = fc.record({
  kind: fc.constantFrom('permission', 'role', 'grant', 'grant', 'remove'),
  at: fc.nat(6),
  to: fc.nat(4),
}) as fc.Arbitrary<Change>;

test('a graph derived step by step equals one built from scratch, and earlier graphs do not change', () => {
  fc.assert(
    fc.property(fc.array(fc.array(change, { maxLength: 12 }), { maxLength: 12 }), (transactions) => {
      const state: State = { permissions: new Map(), roles: new Map() };
      let graph = emptyGraph;
      const before: { graph: Graph; showed: ReturnType<typeof shown> }[] = [];
      for (const changes of transactions) {
        const [roles, permissions] = [new Set<string>(), new Set<string>()];
        for (const one of changes) apply(state, one, roles, permissions);
        graph = derive(graph, state, roles, permissions);
        assert.deepEqual(shown(graph), shown(build(state)));
        for (const role of graph.roles.values())
          for (const name of graph.allPermissions)
            assert.equal(role.holdsId(graph.permissions.idOf(name) ?? ''), role.permissions.includes(name));
        before.push({ graph, showed: shown(graph) });
      }
      for (const { graph: earlier, showed } of before) assert.deepEqual(shown(earlier), showed);
    }),
  );
});

test('a graph with one changed role shares all other roles and the sorted permissions with the graph before it', () => {
  const table = emptyGraph.permissions.next('all', [
    { id: 'b', name: 'b.read', lower_name: 'b.read', required_acr: null, max_auth_age: null },
    { id: 'a', name: 'a.read', lower_name: 'a.read', required_acr: null, max_auth_age: null },
  ]);
  const row = (id: string, permission_ids: string | null) =>
    RoleNode.of(
      {
        id,
        name: id,
        description: '',
        is_system: false,
        required_acr: null,
        enforced_from_ms: null,
        permission_ids,
      },
      table,
    );
  const first = emptyGraph.next('1', table, 'all', [row('one', 'a'), row('other', 'b')]);
  const sorted = first.allPermissions;
  const second = first.next('2', table, new Set(['one']), [row('one', 'a,b')]);
  assert.equal(second.roles.get('other'), first.roles.get('other'));
  assert.equal(second.allPermissions, sorted);
  assert.deepEqual(second.roles.get('one')?.permissions, ['a.read', 'b.read']);
  assert.deepEqual(first.roles.get('one')?.permissions, ['a.read']);
});

test('a graph stays right over more changes than it keeps apart from the settled roles', () => {
  const { permissions } = emptyGraph;
  const node = (id: string, name: string) =>
    RoleNode.of(
      {
        id,
        name,
        description: '',
        is_system: false,
        required_acr: null,
        enforced_from_ms: null,
        permission_ids: null,
      },
      permissions,
    );
  const roles = 1_000;
  const expected = new Map(Array.from({ length: roles }, (_, n) => [`r${n}`, `first ${n}`]));
  let graph = emptyGraph.next(
    '0',
    permissions,
    'all',
    [...expected].map(([id, name]) => node(id, name)),
  );
  for (let step = 1; step <= roles; step += 1) {
    const id = `r${(step * 7) % (roles + 100)}`;
    const isRemoved = step % 5 === 0;
    if (isRemoved) expected.delete(id);
    else expected.set(id, `step ${step}`);
    graph = graph.next(`${step}`, permissions, new Set([id]), isRemoved ? [] : [node(id, `step ${step}`)]);
    assert.equal(graph.roles.get(id)?.name, expected.get(id));
    assert.equal(graph.roles.size, expected.size);
  }
  assert.deepEqual(new Map(Array.from(graph.roles.values(), ({ id, name }) => [id, name])), expected);
});
