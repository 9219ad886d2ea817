// What an import may give and whose id it may take, without the command line: no power that nobody asked for, and no
// tokens of somebody else.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { administrativePermissions, allPermissions } from '@castellan/contract/permissions';
import { eventually, signIn, startTestService } from '@castellan/testing/harness';
import { assertSound } from '@castellan/testing/invariants';
import { addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { postForm } from '@castellan/testing/service-accounts/token-services';
import { isAccepted, isRefreshable } from '@castellan/testing/sessions/accounts';
import { addPerson, addRole } from '@castellan/testing/users/people';
import pg from 'pg';
import { removeSessionRows } from '../../src/cleanup.ts';
import {
  importRecords,
  importUsers,
  type SourceRow,
  type Verdict,
} from '../../src/modules/transfer/service.ts';

const service = await startTestService({ after });

let made = 0;
function newName(): string {
  made += 1;
  return `Imported ${made}`;
}
const newAddress = (): string => `${newName().replace(' ', '-')}@example.com`;

async function* rowsOf(values: readonly Record<string, unknown>[]): AsyncGenerator<SourceRow> {
  for (const [index, value] of values.entries()) yield { row: index + 1, value };
}

async function importPeople(
  people: readonly Record<string, unknown>[],
  { privileged = false, dryRun = false } = {},
): Promise<Verdict[]> {
  const { db, auditLog, settings } = service.service.deps;
  const verdicts: Verdict[] = [];
  const options = { source: 'file', dryRun, privileged, withoutPasswords: false };
  await importUsers({ db, auditLog, settings }, rowsOf(people), options, async (batch) => {
    verdicts.push(...batch);
  });
  return verdicts;
}

const importRoles = (
  roles: readonly Record<string, unknown>[],
  { privileged = false, createPermissions = false, dryRun = false } = {},
): Promise<Verdict[]> =>
  importRecords(service.service.deps, 'roles', rowsOf(roles), { privileged, createPermissions, dryRun });

const outcomesOf = (verdicts: readonly Verdict[]): string[] =>
  verdicts.map((one) =>
    one.verdict === 'refused' ? one.errors.map(({ field, code }) => `${field} ${code}`).join() : one.verdict,
  );

test('roles that hold a permission to administer the service are given with --privileged only', async () => {
  const roles = await Promise.all(allPermissions.map((permission) => addRole(service, permission)));
  const mixed = await addRole(service, 'self.update_profile', 'settings.read');
  const people = [...roles, mixed].map((id) => ({ email: newAddress(), roles: [`ROLE ${id}`] }));
  const expected = [...allPermissions, 'settings.read' as const].map((permission) =>
    administrativePermissions.includes(permission) ? 'roles needs_privileged' : 'created',
  );
  assert.equal(expected.filter((one) => one === 'created').length, 1);
  const dry = outcomesOf(await importPeople(people, { dryRun: true }));
  assert.deepEqual(
    dry,
    expected.map((one) => one.replace('created', 'would_create')),
  );
  assert.deepEqual(outcomesOf(await importPeople(people)), expected);
  // The roles of the seed.
  const seeded = ['Service', 'Manager', 'Admin', 'User'].map((role) => ({
    email: newAddress(),
    roles: [role],
  }));
  assert.deepEqual(outcomesOf(await importPeople(seeded)), [
    ...Array(3).fill('roles needs_privileged'),
    'created',
  ]);
  const again = outcomesOf(await importPeople([...people, ...seeded], { privileged: true }));
  assert.deepEqual(
    again.map((one) => one.replace('exists', 'created')),
    again.map(() => 'created'),
  );
});

test('a role that gains such a permission while the import waits for it is not given', async () => {
  const role = await addRole(service, 'self.update_profile');
  const holder = new pg.Client(service.databaseUrl);
  await holder.connect();
  try {
    await holder.query('begin');
    await holder.query('select from roles where id = $1 for update', [role]);
    const imported = importPeople([{ email: newAddress(), roles: [`Role ${role}`] }]);
    await eventually(async () => {
      const waiting = await service.sql(
        "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
      );
      return waiting.length > 0 || undefined;
    }, 'the import to wait for the role');
    await holder.query(
      "insert into role_permissions (role_id, permission_id) select $1, id from permissions where name = 'users.update'",
      [role],
    );
    await holder.query('commit');
    assert.deepEqual(outcomesOf(await imported), ['roles needs_privileged']);
  } finally {
    await holder.end();
  }
});

test('role records that name a permission to administer the service need --privileged, in any case', async () => {
  const records = allPermissions.map((permission, index) => ({
    name: newName(),
    permissions: [index % 2 === 0 ? permission : permission.toUpperCase(), 'self.update_profile'],
  }));
  const expected = allPermissions.map((permission) =>
    administrativePermissions.includes(permission) ? 'permissions needs_privileged' : 'created',
  );
  for (const createPermissions of [false, true]) {
    const dry = outcomesOf(await importRoles(records, { createPermissions, dryRun: true }));
    assert.deepEqual(
      dry,
      expected.map((one) => one.replace('created', 'would_create')),
    );
  }
  assert.deepEqual(outcomesOf(await importRoles(records)), expected);
  // Neither does an import create one that this database does not have yet.
  const missing = { name: newName(), permissions: ['Token.Introspect', 'orders.read'] };
  await service.sql("update permissions set name = 'token.other' where name = 'token.introspect'");
  try {
    assert.deepEqual(outcomesOf(await importRoles([missing], { createPermissions: true })), [
      'permissions needs_privileged',
    ]);
    assert.deepEqual(await service.sql("select from permissions where lower(name) = 'token.introspect'"), []);
  } finally {
    await service.sql("update permissions set name = 'token.introspect' where name = 'token.other'");
  }
  assert.deepEqual(
    new Set(
      outcomesOf(await importRoles([...records, missing], { createPermissions: true, privileged: true })),
    ),
    new Set(['created', 'exists']),
  );
});

test('ids of service accounts, and of accounts with rows of sessions and tokens, are refused', async () => {
  const account = await addServiceAccount(service);
  const ids = [(await addPerson(service)).id, randomUUID(), randomUUID(), randomUUID()];
  const [withSession, withToken, withEnd, withClientToken] = ids;
  await service.sql(
    "insert into sessions (id, user_id, expires_at) values (gen_random_uuid(), $1, now() + interval '1 day')",
    [withSession],
  );
  await service.sql('delete from users where id = $1', [withSession]);
  await service.sql('delete from session_ends where user_id = $1', [withSession]);
  await service.sql(
    `insert into session_tokens (user_id, token_hash, session_id, kind, jti, key_id, issued_at, expires_at)
     values ($1, sha256('x'), gen_random_uuid(), 'refresh', gen_random_uuid(), 'k', now(), now() + interval '1 day')`,
    [withToken],
  );
  await service.sql("insert into session_ends (user_id, reason) values ($1, 'user_deleted')", [withEnd]);
  await service.sql(
    `insert into client_tokens (service_account_id, token_hash, api_key_id, jti, key_id, epoch, issued_at, expires_at)
     values ($1, sha256('x'), gen_random_uuid(), gen_random_uuid(), 'k', 0, now(), now() + interval '10 minutes')`,
    [withClientToken],
  );
  const free = randomUUID();
  const people = [account.id, ...ids, free].map((id) => ({ email: newAddress(), id: id.toUpperCase() }));
  for (const dryRun of [true, false])
    assert.deepEqual(outcomesOf(await importPeople(people, { dryRun, privileged: true })), [
      ...Array(5).fill('id id_reserved'),
      dryRun ? 'would_create' : 'created',
    ]);
  // Another user's id is replaced, as before.
  const [taken] = await importPeople([{ email: newAddress(), id: free }]);
  assert.ok(taken?.verdict === 'created' && taken.id !== free && taken.note);
  await service.sql('delete from sessions where user_id = any($1)', [ids]);
  await service.sql('delete from session_tokens where user_id = any($1)', [ids]);
});

test('an id that is deleted and imported again revives no token', async () => {
  const person = await addPerson(service);
  const client = await signIn(service, person);
  const access = client.accessToken ?? '';
  const refresh = client.refreshToken ?? '';
  assert.equal(await isAccepted(service, access), true);
  await service.sql('delete from users where id = $1', [person.id]);
  const row = { email: person.email, id: person.id };
  assert.deepEqual(outcomesOf(await importPeople([row])), ['id id_reserved']);
  await removeSessionRows(service.service.deps);
  assert.deepEqual(outcomesOf(await importPeople([row])), ['created']);
  const [again] = await service.sql<{ id: string }>('select id from users where email = $1', [person.email]);
  assert.equal(again?.id, person.id);
  assert.equal(await isAccepted(service, access), false);
  assert.equal(await isRefreshable(service, refresh), false);
  const introspector = await addServiceAccount(service, { permissions: ['token.introspect'] });
  const answer = await postForm(
    service,
    'introspect',
    { token: access },
    { authorization: `Bearer ${introspector.key}` },
  );
  assert.deepEqual(answer.body, { active: false });
  await assertSound(service);
});

test('a row without a hash invites, and an exported invitation waits until somebody sends it again', async () => {
  const [invited = '', exported = '', accepted = '', refused = ''] = Array.from({ length: 4 }, () =>
    newAddress().toLowerCase(),
  );
  const hash = '$2b$10$abcdefghijklmnopqrstuuRJ6M2HyXR5iRo4bGf0p6xSg3pXKr7lO';
  const invited_at = '2026-01-31T12:00:00.000Z';
  const people = [
    { email: invited, first_name: 'Ada', invite: true },
    { email: exported, first_name: 'Ada', verified: false, invited_at },
    { email: accepted, first_name: 'Ada', password_hash: hash, invited_at },
    { email: refused, first_name: 'Ada', password_hash: hash, invite: 'true' },
  ];
  const outcomes = ['created', 'created', 'created', 'invite has_password'];
  const dry = await importPeople(people, { dryRun: true });
  assert.deepEqual(
    outcomesOf(dry),
    outcomes.map((one) => one.replace('created', 'would_create')),
  );
  assert.deepEqual(outcomesOf(await importPeople(people)), outcomes);
  const mail = await eventually(() => service.mails().find(({ to }) => to === invited), 'the invitation');
  assert.equal(mail.kind, 'invitation');
  const rows = await service.sql<{
    email: string;
    invited_at: Date | null;
    verified: boolean;
    ended: boolean;
  }>(
    `select email, invited_at, verified, invitation_expires_at <= now() as ended from users where email = any($1)
     order by email`,
    [[invited, exported, accepted]],
  );
  const byEmail = new Map(rows.map((row) => [row.email, row]));
  assert.deepEqual([byEmail.get(invited)?.verified, byEmail.get(invited)?.ended], [false, false]);
  assert.ok(byEmail.get(invited)?.invited_at);
  assert.deepEqual(
    [byEmail.get(exported)?.invited_at?.toISOString(), byEmail.get(exported)?.ended],
    [invited_at, true],
  );
  assert.deepEqual([byEmail.get(accepted)?.invited_at, byEmail.get(accepted)?.verified], [null, true]);
  assert.deepEqual(
    service.mails().filter(({ to }) => to === exported),
    [],
  );
});
