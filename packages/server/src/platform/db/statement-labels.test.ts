import assert from 'node:assert/strict';
import { test } from 'node:test';
import { statementLabel } from './statement-labels.ts';
import { statementName } from './statement-names.ts';

test('a statement is called by its name, else by its verb and the table that it writes or reads', () => {
  for (const [text, label] of [
    ['select "id" from "users" as "u" where "id" = $1 for update', 'select users'],
    [
      'insert into audit_logs (id) select id from jsonb_to_recordset($1) on conflict (id) do nothing',
      'insert audit_logs',
    ],
    ['insert into t (a) values ($1) on conflict (a) do update set a = 1', 'insert t'],
    [
      'with due as materialized (select id from outbox for update skip locked) update outbox set a = 1',
      'update outbox',
    ],
    ['with gone as (delete from rate_limits returning *) select count(*) from gone', 'delete rate_limits'],
    [
      'with recursive tree (id, depth) as (select id, 1 from role_groups) select * from tree',
      'select role_groups',
    ],
    ['/* planned for its values */\n  select r.id\n  from roles r', 'select roles'],
    ['select extract(epoch from reset_at - now()) from rate_limits', 'select rate_limits'],
    ['select a is distinct from b from users for no key update', 'select users'],
    ['select * from unnest($1::uuid[]) as k (id) join sessions s on true', 'select'],
    ['select pg_advisory_xact_lock(hashtextextended($1, 0))', 'select'],
    ["begin; set local lock_timeout = '1s'", 'begin'],
    ['COMMIT', 'commit'],
    ['rollback to savepoint audit', 'rollback'],
    ['', 'other'],
  ] as const)
    assert.equal(statementLabel(text), label, text);
  assert.equal(
    statementLabel({ name: 'job_take', text: 'update job_schedule set next_at = now()' }),
    'job_take',
  );
  const text = 'select name from permissions where id = $1';
  assert.equal(statementLabel({ name: statementName(text, [1]), text }), 'select permissions');
});
