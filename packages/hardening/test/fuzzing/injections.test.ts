// Parts of SQL statements in every field of every operation that reads: the database treats them as text.
// It must not judge what is found: searches.test.ts does.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { scenariosOf } from '@castellan/testing/scenario';
import { attempt, fieldsOf } from './fields.ts';
import { sendAll } from './operations.ts';
import { openTarget, seed } from './target.ts';
import { assertCleanLog } from './traces.ts';

const scenario = scenariosOf('fuzzing');

// Each would change an answer, a row or the time if it became part of a statement.
const canaries = [
  "'",
  "''",
  "'--",
  "' or '1'='1",
  "') or ('1'='1",
  "'; delete from users; --",
  "'; update users set is_superuser = true; --",
  "' union select password_hash from users --",
  "\\'; drop table audit_logs; --",
  '"; drop table users; --',
  '$$; drop table roles; $$',
  '1; drop table users',
  '1 or 1=1',
  '1)) or ((1=1',
  "'||(select pg_sleep(15))||'",
  "' and pg_sleep(15) is null --",
  '%27%20or%201=1',
  '\u02bc or 1=1 --',
  '\uff07 or 1=1 --',
  '/**/or/**/1=1',
  "E'\\\\047'",
  'users.id',
  'email desc; --',
  '(select 1)',
];

scenario(
  'parts of SQL statements in reads are never executed: no row changes, and PostgreSQL reports no error',
  async (tally) => {
    const target = await openTarget({ after });
    const reads = target.entries.filter(
      ({ method, path }) => method === 'GET' && !path.endsWith('csrf-token'),
    );
    const contents = () =>
      target.service.sql(
        `select (select md5(string_agg(row (u.*)::text, ',' order by id)) from users u) as users,
        (select md5(string_agg(r::text, ',' order by id)) from roles r) as roles,
        (select md5(string_agg(p::text, ',' order by id)) from permissions p) as permissions,
        (select count(*) from role_groups) as role_groups, (select count(*) from permission_groups) as permission_groups,
        (select count(*) from sessions) as sessions, (select count(*) from audit_logs) as audit_logs,
        (select count(*) from pg_tables where schemaname = 'public') as tables`,
      );
    const records = await target.records();
    const before = await contents();
    for (const entry of reads)
      for (const field of fieldsOf(entry, target.document, seed)) {
        if (field.common) continue;
        const aimed = canaries.map((canary, index) => ({
          shot: target.shotOf(entry, attempt(field, JSON.stringify(canary), index, records)),
          refused: canary,
        }));
        await sendAll(target, tally, { who: 'a superuser', entry }, aimed);
      }
    assert.deepEqual(await contents(), before);
    for (const line of target.service.logLines) assert.doesNotMatch(line, /"code":"(42|22)[0-9A-Z]{3}"/);
    tally.held(2 + assertCleanLog(target.service));
  },
);
