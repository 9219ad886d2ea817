// GET /users/me/export: what is in it, what is not, and how often.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { assertRefused } from '@castellan/testing/http/fixture';
import { actingClient } from '@castellan/testing/sessions/acting';
import { addPerson, addRole, eventsOf, roleNamed, signedInWith } from '@castellan/testing/users/people';

const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);
const EXPORT = '/api/v1/users/me/export';

type Entry = {
  id: string;
  action: string;
  actor_id: string | null;
  actor_email: string | null;
  resource_id: string;
  resource_name: string | null;
  details: Record<string, unknown> & { before?: Record<string, unknown>; after?: Record<string, unknown> };
};
const sentBy = (answer: { body: { data: { audit_log: { entries: Entry[] } } } }, action: string): Entry[] =>
  answer.body.data.audit_log.entries.filter((entry) => entry.action === action);

test('the file has every section, its entries by and about the person, and no secret', async () => {
  const role = await addRole(service, 'role.read');
  const person = await addPerson(service, { roles: [role] });
  const browser = await signIn(service, person);
  assert.equal((await admin.put(`/api/v1/users/${person.id}`, { first_name: 'Grace' })).status, 200);
  const answer = await browser.get(EXPORT);
  assert.equal(answer.status, 200, answer.text);
  assert.match(answer.headers.get('content-disposition') ?? '', /attachment; filename="my-data\.json"/);
  assert.match(answer.headers.get('cache-control') ?? '', /no-store/);
  const { data } = answer.body;
  assert.deepEqual(Object.keys(data), [
    'exported_at',
    'user',
    'attributes',
    'access',
    'sessions',
    'devices',
    'factors',
    'identities',
    'applications',
    'tokens',
    'audit_log',
  ]);
  assert.deepEqual([data.user.id, data.user.first_name], [person.id, 'Grace']);
  assert.deepEqual(
    data.access.permissions.map((one: { name: string; sources: { role: { id: string } }[] }) => [
      one.name,
      one.sources.map((source) => source.role.id),
    ]),
    [['role.read', [role]]],
  );
  assert.equal(data.sessions.length, 1);
  assert.equal(data.audit_log.truncated, false);
  const [changed] = sentBy(answer, 'user_updated');
  assert.deepEqual([changed?.details.after, changed?.actor_email], [{ first_name: 'Grace' }, null]);
  assert.equal(changed?.details.address, '…', 'where an administrator was is not theirs');
  const [signedIn] = sentBy(answer, 'login_succeeded');
  assert.deepEqual([signedIn?.details.email, signedIn?.details.address], [person.email, '127.0.0.1']);
  assert.doesNotMatch(answer.text, /\$argon2|eyJ[\w-]{10}|password_hash|token_hash/);
  assert.doesNotMatch(answer.text, new RegExp(ADMIN.email));
  const [event] = await eventsOf(service, answer);
  assert.deepEqual([event?.action, event?.actor_id], ['data_exported', person.id]);
});

test('what a person did to others does not tell who they are', async () => {
  const { client } = await signedInWith(service, 'users.create', 'users.update', 'users.read');
  const email = `someone-${process.pid}@example.com`;
  const made = await client.post('/api/v1/users', {
    email,
    password: 'Marble?Tundra61Fox',
    first_name: 'Hedy',
    last_name: 'Lamarr',
  });
  assert.equal(made.status, 201, made.text);
  const answer = await client.get(EXPORT);
  const [created] = sentBy(answer, 'user_created');
  assert.deepEqual([created?.resource_id, created?.resource_name], [made.body.data.id, null]);
  assert.deepEqual([created?.details.after?.email, created?.details.address], ['…', '127.0.0.1']);
  assert.doesNotMatch(answer.text, new RegExp(`${email}|Hedy|Lamarr`));
});

test('what a person did as somebody else is theirs too, and does not tell who that is', async () => {
  const self = await addPerson(service, { superuser: true });
  const as = await addPerson(service, { roles: [await roleNamed(service, 'Admin')] });
  const client = await signIn(service, self);
  const acting = await actingClient(service, client, as);
  const role = await acting.post('/api/v1/roles', { name: `Role by ${self.id}` });
  assert.equal(role.status, 201, role.text);
  const answer = await client.get(EXPORT);
  const [created] = sentBy(answer, 'role_created');
  assert.deepEqual(
    [created?.resource_id, created?.actor_email, created?.details.address],
    [role.body.data.id, null, '127.0.0.1'],
  );
  assert.ok(!answer.text.includes(as.email));
});

test('a second one within an hour is 429, of two at once as well', async () => {
  const browser = await signIn(service, await addPerson(service));
  const answers = await Promise.all([browser.get(EXPORT), browser.get(EXPORT)]);
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 429]);
  const late = await browser.get(EXPORT);
  assertRefused(late, 429, 'rate_limited');
  assert.ok(Number(late.headers.get('retry-after')) <= 3_600);
});

test('people who read theirs slowly keep no administrator waiting', async () => {
  const { exports, ownExports } = service.service.deps;
  const never = new AbortController().signal;
  const slow = await Promise.all(['1', '2', '3', '4'].map((key) => ownExports.gate.enter(key, never)));
  assert.equal(exports.gate.stats().running, 0);
  assert.equal((await admin.get('/api/v1/audit-logs/export')).status, 200);
  for (const leave of slow) leave();
  assert.equal((await (await signIn(service, await addPerson(service))).get(EXPORT)).status, 200);
});

test('of more than 10,000 entries it has the latest, each once and newest first', async () => {
  const person = await addPerson(service);
  const browser = await signIn(service, person);
  // At two entries a second, of which a third is both by and about the person.
  await service.sql(
    `insert into audit_logs (id, actor_id, actor_type, action, resource_type, resource_id, details, "timestamp")
     select gen_random_uuid(), case when n % 3 < 2 then $1::uuid end, case when n % 3 < 2 then 'user' end,
       'login_failed', 'security_event', case when n % 3 > 0 then $1::text else '' end, '{}', now() - n * interval '0.5 seconds'
     from generate_series(1, 12000) n`,
    [person.id],
  );
  const answer = await browser.get(EXPORT);
  const { entries, truncated }: { entries: Entry[]; truncated: boolean } = answer.body.data.audit_log;
  assert.deepEqual([entries.length, truncated], [10_000, true]);
  assert.equal(new Set(entries.map(({ id }) => id)).size, 10_000);
});

test('nobody, and an account in a restricted session, get nothing', async () => {
  assert.equal((await service.client().get(EXPORT)).status, 401);
  const person = await addPerson(service);
  const browser = await signIn(service, person);
  await service.sql('update users set must_change_password = true where id = $1', [person.id]);
  assertRefused(await browser.get(EXPORT), 403, 'password_change_required');
});
