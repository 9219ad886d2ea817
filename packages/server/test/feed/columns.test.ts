// Every column that introspection and decisions read is told by the feed when it changes, or a line here says why it need not be.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createScratchDatabase } from '@castellan/testing/scratch-database';
import pg from 'pg';
import { readSources } from '../sql/sources.ts';

const root = fileURLToPath(new URL('../../../../', import.meta.url)).replace(/\/$/, '');
/** Where introspection and decisions look things up. Answers about tokens of applications have no `fresh_for`: nobody keeps them. */
const files = [
  'sessions/token-lookup',
  'api-keys/store',
  'api-keys/personal-token-store',
  'authz/subject-store',
  'authz/graph/store',
];

const same = (reason: string, table: string, columns: string): [string, string][] =>
  columns.split(' ').map((column) => [`${table}.${column}`, reason]);
const key = 'identifies the row: another one is another row';
const unused = 'is read with the row, and answers nothing';

const untold = new Map<string, string>([
  ...same(key, 'sessions', 'id'),
  ...same(
    unused,
    'sessions',
    'origin_address user_agent last_used_at revoked_reason origin_network is_new_network last_address other_origin_address proof device_id identity_id provider_sid provider_id_token_sealed',
  ),
  ...same(key, 'session_tokens', 'user_id token_hash'),
  ...same(unused, 'session_tokens', 'issued_at rotated_at successor_jti signed_expires_at'),
  ...same(key, 'users', 'id'),
  ...same(
    unused,
    'users',
    'password_epoch created_at updated_at version search_text pending_registration link_epoch language without_roles recovery_pending has_factor recovery_handed_over invited_at invitation_hours invitation_sent_at invitation_expires_at deletion_due_at',
  ),
  ['users.external_id', 'names a subject: questions that name one by it are asked each time'],
  ...same(key, 'service_accounts', 'id'),
  ...same(unused, 'service_accounts', 'description last_used_at created_at updated_at created_by_id version'),
  ['service_accounts.external_id', 'names a subject: questions that name one by it are asked each time'],
  ...same(key, 'api_keys', 'id'),
  ...same(unused, 'api_keys', 'name prefix last_used_at lifetime is_narrowed_by_maker made_with_key_ids'),
  ['api_keys.created_at', 'is never changed'],
  ...same(key, 'client_tokens', 'service_account_id token_hash'),
  ...same(unused, 'client_tokens', 'issued_at'),
  ...same(key, 'personal_tokens', 'id'),
  ...same(unused, 'personal_tokens', 'name prefix is_narrowed_by_maker last_used_at'),
  ['personal_tokens.created_at', 'is never changed'],
  ['authz_version.stamp', 'is the id of the change of the graph'],
  ...same(
    'is written with the stamp',
    'authz_changes',
    'slot version previous_stamp stamp role_ids permission_ids',
  ),
  ...same('presents a subject to people, and decides nothing', 'login_attempts', 'email locked_until'),
]);

/** Tables of which every insert, change and deletion is told. */
const whole: ReadonlySet<string> = new Set([
  'user_roles',
  'service_account_roles',
  'api_key_permissions',
  'personal_token_permissions',
  'role_permissions',
  'revoked_signing_keys',
]);

const database = await createScratchDatabase({ migrated: true });
const client = new pg.Client(database.url);
await client.connect();
const sources = readSources(root);
after(async () => {
  sources.close();
  await client.end();
  await database.drop();
});

const dependencies = `
  with recursive used as (
    select d.refobjid as relation, d.refobjsubid as number
    from pg_rewrite r join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid
    where r.ev_class = $1::regclass and d.refclassid = 'pg_class'::regclass and d.refobjsubid > 0
    union
    select d.refobjid, d.refobjsubid
    from used u join pg_rewrite r on r.ev_class = u.relation
      join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid
    where d.refclassid = 'pg_class'::regclass and d.refobjsubid > 0 and d.refobjid <> u.relation
  )
  select distinct c.relname::text as "table", a.attname::text as "column"
  from used u join pg_class c on c.oid = u.relation join pg_attribute a on a.attrelid = c.oid and a.attnum = u.number
  where c.relkind = 'r'`;

/** Sources of the functions that tell changes of a table. */
const triggers = `
  select string_agg(p.prosrc, ' ') as source
  from pg_trigger t join pg_proc p on p.oid = t.tgfoid
  where t.tgrelid = $1::regclass and (p.proname like 'feed\\_%' or p.proname like 'record\\_%') and t.tgtype & 16 > 0`;

async function usedColumns(): Promise<Set<string>> {
  const found = new Set<string>();
  let views = 0;
  for (const { at, text } of sources.statements) {
    if (!files.some((file) => at.includes(`/modules/${file}.ts`)) || /\bupdate\b/i.test(text)) continue;
    views += 1;
    // A view has no parameters, and needs a name for each column.
    const definition = text.replaceAll(/\$\d+(?=::)/g, 'null').replaceAll(/\$\d+/g, 'null');
    await client.query(`create view used_${views} as select count(*) as all_rows from (${definition}) s`);
    const { rows } = await client.query(dependencies, [`used_${views}`]);
    for (const { table, column } of rows) found.add(`${table}.${column}`);
  }
  assert.ok(views >= files.length, `${views} statements`);
  return found;
}

test('every column that an answer stands on is told, or has its reason', async () => {
  const used = await usedColumns();
  assert.ok(
    used.has('sessions.revoked_at') && used.has('user_roles.role_id') && used.has('roles.required_acr'),
  );
  const silent: string[] = [];
  for (const name of used) {
    const [table = '', column = ''] = name.split('.');
    if (whole.has(table) || untold.has(name)) continue;
    const { rows } = await client.query(triggers, [table]);
    if (!new RegExp(`\\b${column}\\b`).test(rows[0]?.source ?? '')) silent.push(name);
  }
  assert.deepEqual(silent.sort(), []);
  assert.deepEqual(
    [...untold.keys()].filter((name) => !used.has(name)),
    [],
    'lines of columns that nothing reads',
  );
});
