import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createScratchDatabase } from '@castellan/testing/scratch-database';
import { Kysely, PostgresDialect, sql } from 'kysely';
import pg from 'pg';
import { judgeMove, MAX_TREE_DEPTH, type MoveVerdict, nest, requireMove } from './trees.ts';

let db: Kysely<never>;
let drop: () => Promise<void>;

before(async () => {
  const database = await createScratchDatabase();
  db = new Kysely({
    dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: database.url }) }),
  });
  drop = database.drop;
  await sql`create table nodes (id text primary key, parent_id text)`.execute(db);
  // `c1` to `c32` is a chain of the maximum depth, `d1` to `d16` one of half the depth; `lone` has neither parent nor
  // children.
  await sql`
    insert into nodes
    select 'c' || n, case when n > 1 then 'c' || n - 1 end from generate_series(1, ${MAX_TREE_DEPTH}::int) n
    union all
    select 'd' || n, case when n > 1 then 'd' || n - 1 end from generate_series(1, ${MAX_TREE_DEPTH / 2}::int) n
    union all values ('lone', null), ('ring1', 'ring2'), ('ring2', 'ring1')`.execute(db);
});
after(async () => {
  await db.destroy();
  await drop();
});

const verdicts: [id: string | null, parent: string, verdict: MoveVerdict][] = [
  [null, 'c31', 'ok'],
  [null, 'c32', 'too_deep'],
  ['lone', 'c31', 'ok'],
  ['lone', 'c32', 'too_deep'],
  ['lone', 'lone', 'cycle'],
  ['c1', 'c1', 'cycle'],
  ['c1', 'c2', 'cycle'],
  ['c1', 'c32', 'cycle'],
  ['c31', 'c32', 'cycle'],
  ['c32', 'c1', 'ok'],
  ['c2', 'lone', 'ok'],
  ['c1', 'lone', 'too_deep'],
  ['d1', 'c16', 'ok'],
  ['d1', 'c17', 'too_deep'],
  ['d2', 'c17', 'ok'],
  // A cycle in the database must not make the query run forever.
  ['lone', 'ring1', 'too_deep'],
  ['ring1', 'ring2', 'cycle'],
];
for (const [id, parent, verdict] of verdicts)
  test(`${id ?? 'a new node'} below ${parent}: ${verdict}`, async () => {
    assert.equal(await db.transaction().execute((tx) => judgeMove(tx, 'nodes', id, parent)), verdict);
  });

test('a forbidden move is refused with its code', async () => {
  await db.transaction().execute(async (tx) => {
    await requireMove(tx, 'nodes', 'lone', 'c31');
    await assert.rejects(requireMove(tx, 'nodes', 'c1', 'c2'), { code: 'circular_dependency' });
    await assert.rejects(requireMove(tx, 'nodes', null, 'c32'), { code: 'hierarchy_too_deep' });
  });
});

const node = (id: string, parent_id: string | null = null) => ({ id, parent_id });

test('rows nest below their parents in their order, wherever the parent is', () => {
  const trees = nest([node('b', 'a'), node('c', 'b'), node('a'), node('d', 'a'), node('e')], 'children');
  assert.deepEqual(trees, [
    {
      ...node('a'),
      children: [
        { ...node('b', 'a'), children: [{ ...node('c', 'b'), children: [] }] },
        { ...node('d', 'a'), children: [] },
      ],
    },
    { ...node('e'), children: [] },
  ]);
});

test('a row whose parent is missing is a root', () => {
  assert.deepEqual(nest([node('b', 'elsewhere')], 'groups'), [{ ...node('b', 'elsewhere'), groups: [] }]);
  assert.deepEqual(nest([], 'groups'), []);
});

test('a chain of 100,000 rows nests without a stack overflow', () => {
  const rows = Array.from({ length: 100_000 }, (_, index) =>
    node(`${index}`, index > 0 ? `${index - 1}` : null),
  );
  const [root] = nest(rows, 'children');
  let depth = 0;
  for (let at: ReturnType<typeof node> | undefined = root; at; depth += 1)
    at = (at as unknown as { children: ReturnType<typeof node>[] }).children[0];
  assert.equal(depth, rows.length);
});
