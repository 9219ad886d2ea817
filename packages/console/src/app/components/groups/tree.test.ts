// Trees of groups: which rows show, what a search keeps, where a group can move.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { childrenOf, pathTo, placesFor, rowsOf, subtreeOf, type TreeNode } from './tree.ts';

const node = (name: string, children: TreeNode[] = []): TreeNode => ({ id: name, name, count: 0, children });
const tree = [
  node('Sales', [node('Inside', [node('Calls')]), node('Field')]),
  node('Engineering', [node('Platform')]),
];
const named = (open: string[], search = '') =>
  rowsOf(tree, new Set(open), search).map(({ name, level }) => `${level} ${name}`);

test('rows show below open groups only, with their level and place', () => {
  assert.deepEqual(named([]), ['1 Sales', '1 Engineering']);
  assert.deepEqual(named(['Sales']), ['1 Sales', '2 Inside', '2 Field', '1 Engineering']);
  const field = rowsOf(tree, new Set(['Sales']), '')[2];
  assert.deepEqual(
    { position: field?.position, siblings: field?.siblings, parentId: field?.parentId },
    { position: 2, siblings: 2, parentId: 'Sales' },
  );
});

test('a search keeps ancestors and whole matching subtrees', () => {
  assert.deepEqual(named([], 'insi'), ['1 Sales', '2 Inside', '3 Calls']);
  assert.deepEqual(named([], 'CALLS'), ['1 Sales', '2 Inside', '3 Calls']);
  assert.deepEqual(named([], 'nothing'), []);
});

test('a group moves neither below itself nor to where it is', () => {
  assert.deepEqual([...subtreeOf(tree, 'Inside')], ['Inside', 'Calls']);
  assert.deepEqual(
    placesFor(tree, 'Inside').map(({ label }) => label),
    ['Sales / Field', 'Engineering', 'Engineering / Platform'],
  );
  assert.deepEqual(
    pathTo(tree, 'Calls', childrenOf).map(({ name }) => name),
    ['Sales', 'Inside', 'Calls'],
  );
});
