// Tests the reasons of decisions and their order, with tables over a small graph.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Candidate, decide } from './decision.ts';
import { mayDo, permissionsOf } from './effective.ts';
import { emptyGraph, RoleNode } from './graph/compiled-graph.ts';
import { everywhere } from './scope.ts';

const names = ['Orders.Read', 'orders.write'];
const table = emptyGraph.permissions.next(
  'all',
  names.map((name) => ({
    id: `id of ${name}`,
    name,
    lower_name: name.toLowerCase(),
    required_acr: null,
    max_auth_age: null,
  })),
);
const reader = RoleNode.of(
  {
    id: '1',
    name: 'Reader',
    description: '',
    is_system: false,
    required_acr: null,
    enforced_from_ms: null,
    permission_ids: 'id of Orders.Read',
  },
  table,
);
const graph = emptyGraph.next('7', table, 'all', [reader]);

const nobody: Candidate = { type: 'user', is_active: true, is_superuser: false, role_ids: [] };
const holder: Candidate = { ...nobody, role_ids: ['1'] };
const superuser: Candidate = { ...nobody, is_superuser: true };
const inactive = (candidate: Candidate): Candidate => ({ ...candidate, is_active: false });
const narrowed = (candidate: Candidate, ...narrowed_to: string[]): Candidate => ({
  ...candidate,
  narrowed_to,
});

describe('decide', () => {
  const cases: [string, Candidate | undefined, string, boolean, string][] = [
    ['a subject that nobody is', undefined, 'orders.read', false, 'unknown_subject'],
    ['an unknown subject before an unknown permission', undefined, 'orders.print', false, 'unknown_subject'],
    ['a permission that does not exist', holder, 'orders.print', false, 'unknown_permission'],
    [
      'a permission that does not exist, for a superuser',
      superuser,
      'orders.print',
      false,
      'unknown_permission',
    ],
    [
      'an unknown permission before inactivity',
      inactive(holder),
      'orders.print',
      false,
      'unknown_permission',
    ],
    ['an inactive holder', inactive(holder), 'orders.read', false, 'inactive'],
    ['an inactive superuser', inactive(superuser), 'orders.read', false, 'inactive'],
    ['an inactive subject without the permission', inactive(nobody), 'orders.read', false, 'inactive'],
    ['a superuser', superuser, 'orders.write', true, 'superuser'],
    [
      'a superuser whose role holds the permission',
      { ...superuser, role_ids: ['1'] },
      'orders.read',
      true,
      'superuser',
    ],
    ['a holder', holder, 'orders.read', true, 'granted'],
    ['a holder of another permission', holder, 'orders.write', false, 'not_granted'],
    ['a role that is not in the graph', { ...nobody, role_ids: ['9'] }, 'orders.read', false, 'not_granted'],
    [
      'a key narrowed to the permission',
      narrowed(holder, 'id of Orders.Read'),
      'orders.read',
      true,
      'granted',
    ],
    ['a key narrowed to nothing', narrowed(holder), 'orders.read', false, 'not_granted'],
  ];
  for (const [name, subject, permission, decision, reason] of cases)
    test(`${name}: ${reason}`, () => {
      const decided = decide(graph, subject, permission);
      assert.equal(decided.decision, decision);
      assert.equal(decided.reason, reason);
      if (subject?.is_active) assert.equal(mayDo(graph, everywhere(subject), permission), decision);
      if (subject?.is_active && permission === 'orders.read' && !subject.is_superuser)
        assert.equal(permissionsOf(graph, everywhere(subject)).includes('Orders.Read'), decision);
    });

  test('tells the name as it is in the catalogue, and an unknown one as asked', () => {
    assert.equal(decide(graph, holder, 'ORDERS.read').permission, 'Orders.Read');
    assert.equal(decide(graph, undefined, 'ORDERS.read').permission, 'Orders.Read');
    assert.equal(decide(graph, holder, 'ORDERS.print').permission, 'ORDERS.print');
  });
});
