// POST /users/{id}/erase: who may, what goes, what stays, and what an instance that stops leaves.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import {
  changeEmail,
  paths,
  registerAccount,
  resetLink,
  waitForEmptyOutbox,
} from '@castellan/testing/accounts/self-service';
import type { TestClient } from '@castellan/testing/client';
import { ADMIN, eventually, newEmail, signIn, startTestService } from '@castellan/testing/harness';
import { assertRefused } from '@castellan/testing/http/fixture';
import { actingClient } from '@castellan/testing/sessions/acting';
import { addPerson, addRole, eventsOf, isSignedIn, signedInWith } from '@castellan/testing/users/people';
import pg from 'pg';
import { removeSessionRows } from '../../src/cleanup.ts';
import { finishErasures } from '../../src/modules/leaving/erasure.ts';

const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);
const erase = (id: string, client: TestClient = admin, query = '') =>
  client.post(`/api/v1/users/${id}/erase${query}`);

type Entry = {
  action: string;
  actor_id: string | null;
  actor_email: string | null;
  resource_id: string;
  resource_name: string | null;
  details: Record<string, unknown> & { before?: Record<string, unknown>; after?: Record<string, unknown> };
};
const entriesOf = (id: string) =>
  service.sql<Entry>(
    `select action, actor_id, actor_email, resource_id, resource_name, details from audit_logs
     where actor_id = $1 or resource_id = $1::text order by "timestamp", id`,
    [id],
  );
const textOf = async (): Promise<string> =>
  JSON.stringify(await service.sql('select actor_email, resource_name, details from audit_logs'));

test('the account goes with its roles, and its name, address and network from every entry', async () => {
  const role = await addRole(service, 'role.read');
  const email = newEmail('erased');
  // Before there is such an account, and after.
  await service.client().login({ email, password: 'Wrong?Tundra61Fox' });
  const person = await addPerson(service, {
    email,
    firstName: 'Ludmilla',
    lastName: 'Quastenflosser',
    roles: [role],
  });
  await service.client().login({ email, password: 'Wrong?Tundra61Fox' });
  const browser = await signIn(service, person);
  assert.equal((await admin.put(`/api/v1/users/${person.id}`, { last_name: 'Flosser' })).status, 200);
  assert.equal((await admin.put(`/api/v1/users/${person.id}`, { last_name: 'Quastenflosser' })).status, 200);
  const before = await entriesOf(person.id);
  const answer = await erase(person.id.toUpperCase());
  assert.equal(answer.status, 200, answer.text);
  const { data } = answer.body;
  assert.deepEqual([data.user_id, data.roles, data.sessions, data.finished], [person.id, 1, 1, true]);
  assert.ok(data.audit_entries >= before.length);
  assert.equal(await isSignedIn(browser), false);
  assert.equal((await admin.get(`/api/v1/users/${person.id}`)).status, 404);
  assert.doesNotMatch(await textOf(), new RegExp(`${email}|Ludmilla|[Ff]losser`));

  const after = await entriesOf(person.id);
  assert.equal(after.length, before.length + 2, 'no entry goes');
  const of = (action: string): Entry => after.find((one) => one.action === action) ?? assert.fail(action);
  const signedIn = of('login_succeeded');
  assert.deepEqual(
    [signedIn.actor_id, signedIn.actor_email, signedIn.details.address, signedIn.details.email],
    [person.id, 'erased', 'erased', 'erased'],
  );
  assert.ok(signedIn.details.session_id, 'ids stay');
  const updated = of('user_updated');
  assert.deepEqual(
    [updated.details.before, updated.details.after],
    [{ last_name: 'erased' }, { last_name: 'erased' }],
  );
  assert.deepEqual(
    [updated.actor_email, updated.resource_name, updated.details.address],
    [ADMIN.email, 'erased', '127.0.0.1'],
    'who did it stays, and from where',
  );
  const erased = of('user_erased');
  assert.deepEqual(
    [erased.actor_email, erased.details.roles, erased.details.sessions, erased.details.audit_entries],
    [ADMIN.email, 1, 1, data.audit_entries],
  );
  const [deleted] = await eventsOf(service, answer);
  assert.deepEqual([deleted?.action, deleted?.details.reason], ['user_deleted', 'erasure']);
  assert.deepEqual(await service.sql('select from erasures'), []);
  assertRefused(await erase(person.id), 404, 'user_not_found');
});

test('nothing of the person is left in lists, mails and limits', async () => {
  const own = await startTestService({ after }, { ACCOUNT_EMAIL_LIMIT: '20/hour' });
  const superuser = await signIn(own, ADMIN);
  const [former, email] = [newEmail('zephyrine.former'), newEmail('zephyrine')];
  const made = await registerAccount(own, { email: former, last_name: 'Quastenflosser' });
  assert.equal((await own.client().post(paths.verify, { token: made.token })).status, 200);
  await changeEmail(own, await signIn(own, made), former, email);
  await resetLink(own, email);
  // Another person's mail stays.
  const other = await addPerson(own);
  await resetLink(own, other.email);
  await waitForEmptyOutbox(own);
  const erased = await superuser.post(`/api/v1/users/${made.id}/erase`);
  assert.deepEqual([erased.status, erased.body.data.finished], [200, true]);
  await removeSessionRows(own.service.deps);
  const tables = await own.sql<{ name: string }>(
    "select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'",
  );
  for (const { name } of tables) {
    const rows = await own.sql<{ text: string }>(`select row_to_json(t)::text as text from "${name}" t`);
    const left = rows.map(({ text }) => text).filter((text) => /zephyrine|quastenflosser/i.test(text));
    assert.deepEqual(left, [], name);
  }
  const kept = await own.sql("select from outbox where payload ->> 'email' = $1", [other.email]);
  assert.equal(kept.length, 1);
});

test('what the person did to others stays, but for where they were', async () => {
  const { client, person } = await signedInWith(service, 'users.create', 'users.update', 'users.read');
  const other = newEmail('kept');
  const made = await client.post('/api/v1/users', {
    email: other,
    password: 'Marble?Tundra61Fox',
    first_name: 'Hedy',
    last_name: 'Lamarr',
  });
  assert.equal(made.status, 201, made.text);
  assert.equal((await erase(person.id)).status, 200);
  const [created] = (await entriesOf(person.id)).filter(({ action }) => action === 'user_created');
  assert.deepEqual(
    [created?.actor_email, created?.details.address, created?.resource_name, created?.details.after?.email],
    ['erased', 'erased', other, other],
  );
});

test('where somebody acted as another person from is theirs, not that person’s', async () => {
  const { client, person: by } = await signedInWith(service, 'users.act_as', 'role.create');
  const user = await addPerson(service, { roles: [await addRole(service, 'role.create')] });
  const acting = await actingClient(service, client, user);
  assert.equal((await acting.post('/api/v1/roles', { name: `Acted ${randomUUID()}a` })).status, 201);
  const addresses = async () =>
    (await entriesOf(user.id))
      .filter(({ action }) => action === 'role_created')
      .map(({ actor_email, details }) => [actor_email, details.address]);
  assert.equal((await erase(user.id)).status, 200);
  assert.deepEqual(await addresses(), [['erased', '127.0.0.1']]);
  assert.equal((await erase(by.id)).status, 200);
  assert.deepEqual(await addresses(), [['erased', 'erased']]);
});

test('it takes users.delete, every permission of the user, and is about somebody else', async () => {
  const product = await addPermission();
  const holder = await addPerson(service, { roles: [await addRole(service, product)] });
  const { client: deleter, person: self } = await signedInWith(service, 'users.delete');
  assertRefused(await erase(holder.id, deleter), 403, 'privilege_escalation');
  const { client: other } = await signedInWith(service, 'users.update', 'users.read');
  assertRefused(await erase(holder.id, other), 403, 'permission_denied');
  assertRefused(await erase(randomUUID(), other), 403, 'permission_denied');
  const { client: equal } = await signedInWith(service, 'users.delete', product);
  const boss = await addPerson(service, { superuser: true });
  assertRefused(await erase(boss.id, equal), 403, 'superuser_required');
  assertRefused(await erase(self.id, deleter), 403, 'self_delete');
  assertRefused(await erase((await admin.get('/api/v1/users/me')).body.data.id), 403, 'self_delete');
  assertRefused(await erase(randomUUID()), 404, 'user_not_found');
  assert.equal((await erase('none')).status, 400);
  assert.equal((await service.client().post(`/api/v1/users/${holder.id}/erase`)).status, 401);
  const stale = await equal.post(`/api/v1/users/${holder.id}/erase`, undefined, {
    headers: { 'if-match': '"0"' },
  });
  assertRefused(stale, 412, 'precondition_failed');
  const dry = await erase(holder.id, equal, '?dry_run=true');
  assert.deepEqual([dry.status, dry.body.data.would_be_refused, dry.body.data.impact.losing], [200, null, 1]);
  assert.equal((await admin.get(`/api/v1/users/${holder.id}`)).status, 200);
  assert.equal((await erase(holder.id, equal)).status, 200);
  assert.equal((await erase(boss.id)).status, 200);
});

test('the clean-up finishes what an instance left, two of them at once, and counts once', async () => {
  const person = await addPerson(service);
  await service.sql(
    `insert into audit_logs (id, actor_id, actor_type, actor_email, action, resource_type, resource_id, details, "timestamp")
     select gen_random_uuid(), case when n % 3 < 2 then $1::uuid end, case when n % 3 < 2 then 'user' end, $2,
       'login_failed', 'security_event', case when n % 3 > 0 then $1::text else '' end,
       jsonb_build_object('email', $2::text, 'address', '10.0.0.1'), now() - n * interval '1 second'
     from generate_series(1, 3000) n`,
    [person.id, person.email],
  );
  // As if the instance had stopped right after the deletion.
  await service.sql('delete from users where id = $1', [person.id]);
  await service.sql(
    `insert into erasures (user_id, email, actor_id, actor_type, roles, sessions)
     select $1, $2, id, 'user', 0, 0 from users where email = $3`,
    [person.id, person.email, ADMIN.email],
  );
  const { deps } = service.service;
  // No time is left after one batch.
  await finishErasures(deps, 0);
  const [waiting] = await service.sql<{ entries: number }>('select entries from erasures');
  assert.ok((waiting?.entries ?? 0) > 0);
  await Promise.all([finishErasures(deps, 60_000), finishErasures(deps, 60_000)]);
  assert.deepEqual(await service.sql('select from erasures'), []);
  const left = await service.sql(
    "select from audit_logs where details ->> 'email' = $1 or actor_email = $1",
    [person.email],
  );
  assert.equal(left.length, 0);
  const [erased, ...others] = await service.sql<{ entries: number }>(
    `select (details ->> 'audit_entries')::integer as entries from audit_logs
     where action = 'user_erased' and resource_id = $1`,
    [person.id],
  );
  assert.deepEqual([erased?.entries, others], [3_000, []]);
});

test('of two superusers who erase each other at once, one is left', async () => {
  const own = await startTestService({ after });
  const people = [await addPerson(own, { superuser: true }), await addPerson(own, { superuser: true })];
  await own.sql('update users set is_superuser = false where email = $1', [ADMIN.email]);
  const clients = await Promise.all(people.map((person) => signIn(own, person)));
  const answers = await Promise.all(
    clients.map((client, index) => erase(people[1 - index]?.id ?? '', client)),
  );
  assert.deepEqual(
    answers.filter(({ status }) => status === 200).length,
    1,
    answers.map(({ text }) => text).join(),
  );
  const left = await own.sql('select from users where is_superuser and is_active');
  assert.equal(left.length, 1);
});

/** Returns the name of a permission of a product. */
async function addPermission(): Promise<string> {
  const [group] = await service.sql<{ id: string }>(
    `insert into permission_groups (id, name) values (gen_random_uuid(), 'erasure') returning id`,
  );
  await service.sql(
    `insert into permissions (id, name, group_id) values (gen_random_uuid(), 'erasure.try', $1)`,
    [group?.id],
  );
  return 'erasure.try';
}

test('an erasure locks the roles that the user made and those that they hold in one order', async () => {
  const [held, made] = [await addRole(service, 'role.read'), await addRole(service, 'role.read')].sort();
  assert.ok(held && made);
  const person = await addPerson(service, { roles: [held] });
  await service.sql('update roles set created_by_id = $2 where id = $1', [made, person.id]);
  const other = new pg.Client(service.databaseUrl);
  await other.connect();
  try {
    await other.query('begin');
    await other.query('select from roles where id = $1 for no key update', [held]);
    const erasing = erase(person.id);
    await eventually(async () => {
      const waiting = await service.sql(
        "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
      );
      return waiting.length > 0 || undefined;
    }, 'the erasure to wait for the role that the user holds');
    // A transaction that goes on in the order of ids: the erasure must not have the second role yet.
    await other.query('select from roles where id = $1 for no key update nowait', [made]);
    await other.query('commit');
    assert.equal((await erasing).status, 200);
  } finally {
    await other.end();
  }
  assert.equal((await admin.get(`/api/v1/roles/${made}`)).body.data.created_by_id, null);
});
