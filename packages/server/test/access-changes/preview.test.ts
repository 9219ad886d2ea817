// What a preview answers when a change would be refused, what it leaves alone, and what it holds meanwhile.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import type { Answer } from '@castellan/testing/client';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { makePermission, makePermissionGroup } from '@castellan/testing/records/fixture';
import { addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { addPerson, addRole, eventsOf, roleNamed, signedInWith } from '@castellan/testing/users/people';
import pg from 'pg';
import { type Call, preview, send, stateOf } from './oracle.ts';

const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);
const group = await makePermissionGroup(admin, { name: 'shop' });
const refund: string = (await makePermission(admin, { group_id: group.id, name: 'refund' })).id;

/** Asserts that the preview tells the refusal that the change itself then gets. */
async function assertRefused(client: typeof admin, call: Call, code: string): Promise<Answer> {
  const state = await stateOf(service);
  const previewed = await preview(client, call);
  const answer = await send(client, call);
  assert.equal(answer.body?.code, code, answer.text);
  assert.equal(previewed.status, 200, previewed.text);
  assert.deepEqual(previewed.body.data, {
    dry_run: true,
    would_be_refused: { status: answer.status, code, detail: answer.body.detail },
    impact: null,
  });
  assert.deepEqual(await stateOf(service), state);
  const events = await eventsOf(service, previewed);
  assert.deepEqual(
    events.map(({ action, details }) => [action, details.would_be_refused]),
    [['access_previewed', code]],
  );
  return previewed;
}

test('a change that would be refused is told with its status, code and sentence', async () => {
  const desk = await signedInWith(
    service,
    'role.update',
    'role.delete',
    'user.update',
    'users.update',
    'users.delete',
  );
  const role = await addRole(service, 'shop.refund');
  const boss = await addPerson(service, { superuser: true });
  const chief = await addPerson(service, { roles: [await addRole(service, 'audit_log.read')] });
  const holder = await addPerson(service, { roles: [role] });
  const taken = await addPerson(service);
  const system = await roleNamed(service, 'Admin');
  const etag = { 'if-match': '"77"' };
  const refused: [Call, string][] = [
    [{ method: 'POST', path: `/users/${taken.id}/roles`, json: [role] }, 'privilege_escalation'],
    [{ method: 'PUT', path: `/users/${chief.id}`, json: { is_active: false } }, 'privilege_escalation'],
    [{ method: 'PUT', path: `/users/${boss.id}`, json: { is_active: false } }, 'superuser_required'],
    [{ method: 'PUT', path: `/users/${taken.id}`, json: { is_superuser: true } }, 'superuser_required'],
    [{ method: 'PUT', path: `/users/${taken.id}`, json: { email: holder.email } }, 'email_taken'],
    [{ method: 'PUT', path: `/users/${desk.person.id}`, json: { password: 'x' } }, 'use_change_password'],
    [{ method: 'DELETE', path: `/users/${holder.id}` }, 'user_has_roles'],
    [{ method: 'DELETE', path: `/users/${desk.person.id}` }, 'self_delete'],
    [{ method: 'POST', path: `/roles/${system}/permissions`, json: [] }, 'system_role'],
    [{ method: 'DELETE', path: `/roles/${role}` }, 'role_in_use'],
    [{ method: 'PUT', path: `/roles/${role}`, json: { name: 'MANAGER' } }, 'name_taken'],
    [
      { method: 'PUT', path: `/roles/${await roleNamed(service, 'User')}`, json: { name: 'Other' } },
      'conflict',
    ],
    [
      { method: 'PUT', path: `/roles/${role}`, json: { permission_ids: [] }, headers: etag },
      'precondition_failed',
    ],
    [{ method: 'DELETE', path: `/users/${taken.id}`, headers: etag }, 'precondition_failed'],
  ];
  for (const [call, code] of refused) await assertRefused(desk.client, call, code);
  await service.sql('update users set is_superuser = false where id = $1', [boss.id]);
  const [{ id } = { id: '' }] = await service.sql<{ id: string }>('select id from users where email = $1', [
    ADMIN.email,
  ]);
  await assertRefused(
    admin,
    { method: 'PUT', path: `/users/${id}`, json: { is_active: false } },
    'last_superuser',
  );
  const account = await addServiceAccount(service, { name: 'first' });
  await addServiceAccount(service, { name: 'second' });
  const renaming = { method: 'PUT', path: `/service-accounts/${account.id}`, json: { name: 'SECOND' } };
  await assertRefused(admin, renaming, 'name_taken');
});

test('what refuses the caller, a missing record and a wrong shape are answered as without dry_run', async () => {
  const role = await addRole(service);
  const { client: reader } = await signedInWith(service, 'role.read');
  const person = await addPerson(service);
  const asked: [typeof admin, Call, number, string][] = [
    [service.client(), { method: 'DELETE', path: `/roles/${role}` }, 401, 'token_missing'],
    [reader, { method: 'DELETE', path: `/roles/${role}` }, 403, 'permission_denied'],
    [admin, { method: 'DELETE', path: `/roles/${randomUUID()}` }, 404, 'role_not_found'],
    [admin, { method: 'PUT', path: `/users/${randomUUID()}`, json: {} }, 404, 'user_not_found'],
    [
      admin,
      { method: 'POST', path: `/roles/${role}/permissions`, json: [randomUUID()] },
      404,
      'permission_not_found',
    ],
    [
      admin,
      { method: 'POST', path: `/users/${person.id}/roles`, json: [randomUUID()] },
      404,
      'role_not_found',
    ],
    [
      admin,
      { method: 'DELETE', path: `/service-accounts/${randomUUID()}` },
      404,
      'service_account_not_found',
    ],
    [admin, { method: 'PUT', path: '/roles/none', json: {} }, 400, 'invalid_id'],
    [admin, { method: 'PUT', path: `/roles/${role}`, json: { name: 5 } }, 422, 'validation_failed'],
    [admin, { method: 'PUT', path: `/roles/${role}`, json: { name: '<b>' } }, 422, 'validation_failed'],
    [admin, { method: 'PUT', path: `/users/${person.id}`, json: { email: 'none' } }, 400, 'invalid_email'],
    [
      admin,
      { method: 'PUT', path: '/users/bulk-update', json: { users: [], password: 'x' } },
      400,
      'password_in_bulk',
    ],
  ];
  for (const [client, call, status, code] of asked) {
    const previewed = await preview(client, call);
    assert.deepEqual([previewed.status, previewed.body.code], [status, code], previewed.text);
    const events = await eventsOf(service, previewed);
    assert.ok(!events.some(({ action }) => action === 'access_previewed'), call.path);
  }
});

test('dry_run is refused unless it is true or false, and false makes the change', async () => {
  const role = await addRole(service);
  const state = await stateOf(service);
  for (const value of ['', '1', 'yes', 'TRUE', 'true&dry_run=false']) {
    const answer = await admin.put(`/api/v1/roles/${role}?dry_run=${value}`, { description: 'x' });
    assert.equal(answer.status, 422, answer.text);
  }
  assert.deepEqual(await stateOf(service), state);
  const answer = await admin.put(`/api/v1/roles/${role}?dry_run=false`, { description: 'changed' });
  assert.equal(answer.body.data.description, 'changed');
});

test('an operation without a preview refuses dry_run instead of making the change', async () => {
  const state = await stateOf(service);
  const calls: Call[] = [
    { method: 'POST', path: '/role-groups', json: { name: 'Nobody' } },
    { method: 'POST', path: '/permissions', json: { name: 'nothing', group_id: group.id } },
    { method: 'DELETE', path: `/permissions/${refund}` },
    { method: 'PUT', path: '/users/me', json: { first_name: 'Changed' } },
  ];
  for (const call of calls) {
    const answer = await preview(admin, call);
    assert.equal(answer.body.errors?.[0].field, 'query.dry_run', answer.text);
    assert.ok(answer.status === 400 || answer.status === 422);
  }
  assert.deepEqual(await stateOf(service), state);
  assert.equal((await admin.get('/api/v1/roles?dry_run=true')).status, 200, 'reading changes nothing anyway');
});

test('a write with dry_run in another spelling, or in the body, changes nothing', async () => {
  const role = await addRole(service);
  const spellings = [
    'dryRun',
    'dry-run',
    'DRY_RUN',
    'dryrun',
    'dry run',
    ' dry_run',
    'Dry__Run',
    'dry\u2013run',
    'dry.run',
    'dry_run[]',
    'dry\u200b_run',
  ];
  const writes: Call[] = [
    { method: 'PUT', path: `/roles/${role}`, json: { description: 'x' } },
    { method: 'POST', path: '/role-groups', json: { name: 'Nobody' } },
    {
      method: 'POST',
      path: '/auth/register',
      json: { email: 'dry@example.com', password: 'Long-enough-9-words' },
    },
    {
      method: 'POST',
      path: '/access/changes',
      json: { changes: [{ role_id: role, add_permission_ids: [refund] }] },
    },
  ];
  const state = await stateOf(service);
  for (const spelling of spellings) {
    for (const { method, path, json } of writes) {
      const url = `/api/v1${path}?${encodeURIComponent(spelling)}=true`;
      const answer = await admin.request(method, url, { json });
      assert.equal(answer.body.errors?.[0].field, `query.${spelling}`, `${answer.status} ${answer.text}`);
      assert.match(answer.body.detail, /Nothing was changed/);
    }
    const both = await admin.put(`/api/v1/roles/${role}?dry_run=false&${encodeURIComponent(spelling)}=true`, {
      description: 'x',
    });
    assert.equal(both.body.errors?.[0].code, 'not_supported', both.text);
  }
  for (const spelling of ['dry_run', ...spellings])
    for (const { method, path, json } of writes) {
      const answer = await admin.request(method, `/api/v1${path}`, {
        json: { ...Object(json), [spelling]: true },
      });
      assert.equal(answer.body.errors?.[0].field, spelling, `${answer.status} ${answer.text}`);
    }
  const nested = await admin.post('/api/v1/access/changes', {
    changes: [{ role_id: role, add_permission_ids: [refund], dryRun: true }],
  });
  assert.equal(nested.body.errors?.[0].field, 'changes.0.dryRun', nested.text);
  const deletion = await admin.request('DELETE', `/api/v1/roles/${role}`, { json: { dry_run: true } });
  assert.notEqual(deletion.status, 200, deletion.text);
  assert.deepEqual(await stateOf(service), state);
  assert.equal((await admin.get('/api/v1/roles?dryRun=true')).status, 200, 'reading changes nothing anyway');
});

test('the audit log tells who previewed which change, and the counts', async () => {
  const role = await addRole(service);
  await addPerson(service, { roles: [role] });
  await addPerson(service, { roles: [role], active: false });
  const answer = await preview(admin, { method: 'POST', path: `/roles/${role}/permissions`, json: [refund] });
  const [event, ...others] = await eventsOf(service, answer);
  assert.deepEqual(others, []);
  const { address: _, request_id: __, ...details } = event?.details ?? {};
  assert.deepEqual(
    [event?.action, event?.resource_type, event?.resource_id],
    ['access_previewed', 'role', role],
  );
  assert.deepEqual(details, {
    operation: 'POST /api/v1/roles/:role_id/permissions',
    gaining: 1,
    losing: 0,
    inactive: 1,
  });
});

test('a password is neither hashed nor compared with the policy, and no rejected one is counted', async () => {
  const person = await addPerson(service);
  const call = { method: 'PUT', path: `/users/${person.id}`, json: { password: 'weak' } };
  for (let round = 0; round < 12; round += 1) {
    const answer = await preview(admin, call);
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.body.data.would_be_refused, null);
  }
  const refused = await send(admin, call);
  assert.equal(refused.body.code, 'password_rejected', 'not rate_limited');
  const [row] = await service.sql<{ rejected: number }>(
    "select count(*)::int as rejected from audit_logs where action = 'password_refused'",
  );
  assert.equal(row?.rejected, 1);
});

test('an Idempotency-Key is ignored: the change can follow with the same key', async () => {
  const headers = { 'idempotency-key': randomUUID() };
  const call = { method: 'POST', path: '/roles', json: { name: 'Keyed', permission_ids: [refund] }, headers };
  const previewed = await preview(admin, call);
  assert.equal(previewed.body.data?.impact.gaining, 0, previewed.text);
  const made = await send(admin, call);
  assert.equal(made.status, 201, made.text);
  assert.equal((await send(admin, call)).headers.get('idempotency-replayed'), 'true');
  const again = await preview(admin, call);
  assert.equal(again.body.data?.would_be_refused.code, 'name_taken', again.text);
});

test('while the impact is computed, the preview holds no lock that a change or a sign-in waits for', async () => {
  const role = await addRole(service, 'shop.refund');
  const person = await addPerson(service, { roles: [role] });
  const call = { method: 'POST', path: `/roles/${role}/permissions`, json: [] };
  const computed = Promise.withResolvers<number>();
  const goOn = Promise.withResolvers<void>();
  const { query } = pg.Client.prototype;
  pg.Client.prototype.query = function pausing(this: pg.Client, ...args: unknown[]) {
    const running = Reflect.apply(query, this, args);
    if (!String(Object(args[0]).text).includes('changed_permission as materialized')) return running;
    return Promise.resolve(running).then(async (result: unknown) => {
      computed.resolve(Number(Reflect.get(this, 'processID')));
      await goOn.promise;
      return result;
    });
  } as typeof query;
  const previewing = preview(admin, call);
  try {
    const pid = await computed.promise;
    const locks = await service.sql<{ mode: string; locktype: string }>(
      "select mode, locktype from pg_locks where pid = $1 and mode <> 'AccessShareLock' and locktype <> 'virtualxid'",
      [pid],
    );
    assert.deepEqual(locks, [], 'only what every reader holds');
    const open = await service.sql(
      "select from pg_stat_activity where pid = $1 and state = 'idle in transaction'",
      [pid],
    );
    assert.equal(open.length, 1, 'the snapshot is still open');
    await signIn(service, person);
    const changed = await send(admin, call);
    assert.equal(changed.status, 200, changed.text);
  } finally {
    goOn.resolve();
    pg.Client.prototype.query = query;
  }
  const { impact } = (await previewing).body.data;
  assert.equal(impact.losing, 1, 'as it was when the preview began');
});
