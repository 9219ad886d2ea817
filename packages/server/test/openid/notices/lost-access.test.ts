// What happens at applications to people who lose the permission that the application requires.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { addRole } from '@castellan/testing/users/people';
import { endLostAccessOfAll } from '../../../src/cleanup.ts';
import { endLostAccess } from '../../../src/modules/openid/notices/lost-access.ts';
import { path, startWithAdmin } from '../../applications/fixture.ts';
import { addApplication, addSignedIn, tokensOf } from '../fixture.ts';
import { noticesTo, takePart } from './fixture.ts';

const { service, admin } = await startWithAdmin({ after });
const { deps, scheduler } = service.service;
await scheduler.stop();
await deps.noticeWorker.stop();
const role = await addRole(service, 'role.read');
const [permission] = await service.sql<{ id: string }>(`select id from permissions where name = 'role.read'`);
const ruled = await addApplication(admin, [service], {
  backchannel_logout_url: 'http://127.0.0.1:9/',
  required_permission_id: permission?.id,
});
const open = await addApplication(admin, [service], { backchannel_logout_url: 'http://127.0.0.1:9/' });

/** Returns somebody with the role, who is signed in to both applications. */
async function addMember() {
  const who = await addSignedIn(service, { verified: true });
  await service.sql('insert into user_roles (user_id, role_id) values ($1, $2)', [who.person.id, role]);
  for (const application of [ruled, open]) {
    await takePart(service, application, who);
    await tokensOf(service, application, who);
  }
  return who;
}
const grantsOf = async (userId: string, application: { id: string }) =>
  (
    await service.sql<{ live: boolean }>(
      'select revoked_at is null as live from access_grants where user_id = $1 and application_id = $2',
      [userId, application.id],
    )
  ).map(({ live }) => live);
const told = async (userId: string) =>
  (await noticesTo(service, ruled)).filter((notice) => notice.user_id === userId).map(({ reason }) => reason);

for (const [what, lose] of Object.entries<(userId: string) => Promise<unknown>>({
  'is taken the role in SQL': (userId) => service.sql('delete from user_roles where user_id = $1', [userId]),
  'is taken the role by an administrator': (userId) => admin.put(`/api/v1/users/${userId}`, { role_id: [] }),
}))
  test(`who ${what} loses the grant, and the application is told; others keep theirs`, async () => {
    const [one, other] = [await addMember(), await addMember()];
    await endLostAccessOfAll(deps);
    assert.deepEqual(await grantsOf(one.person.id, ruled), [true]);
    await lose(one.person.id);
    await endLostAccessOfAll(deps);
    assert.deepEqual(await grantsOf(one.person.id, ruled), [false]);
    assert.deepEqual(await grantsOf(one.person.id, open), [true]);
    assert.deepEqual(await grantsOf(other.person.id, ruled), [true]);
    assert.deepEqual(await told(one.person.id), ['permission_lost']);
    assert.deepEqual(await told(other.person.id), []);
  });

test('a role that loses the permission, and a rule that becomes another, end the access of everybody without it', async () => {
  const member = await addMember();
  const superuser = await addSignedIn(service);
  await service.sql('update users set is_superuser = true where id = $1', [superuser.person.id]);
  await takePart(service, ruled, superuser);
  await endLostAccessOfAll(deps);
  const [other] = await service.sql<{ id: string }>(`select id from permissions where name = 'role.delete'`);
  const changed = await admin.put(`${path}/${ruled.id}`, { required_permission_id: other?.id });
  assert.equal(changed.status, 200, changed.text);
  await endLostAccessOfAll(deps);
  assert.deepEqual(await told(member.person.id), ['permission_lost']);
  assert.deepEqual(await told(superuser.person.id), []);
  const entries = await service.sql<{ details: { grants: number } }>(
    `select details from audit_logs where action = 'application_access_ended' and details ->> 'reason' = 'permission_lost'`,
  );
  assert.ok(entries.length >= 3);
  await service.sql('update users set is_superuser = false where id = $1', [superuser.person.id]);
  await endLostAccessOfAll(deps);
  assert.deepEqual(await told(superuser.person.id), ['permission_lost']);
});

test('a pass that takes longer than it may goes on with the next rule, and ends', async () => {
  await addApplication(admin, [service], { required_permission_id: permission?.id });
  const rules = await service.sql('select id from applications where required_permission_id is not null');
  assert.ok(rules.length > 1);
  await service.sql('delete from lost_access_checks');
  const marks = () => service.sql('select from lost_access_checks');
  for (const _rule of rules) {
    assert.deepEqual(await marks(), []);
    await endLostAccess(deps, 0);
  }
  assert.equal((await marks()).length, 1);
});

test('nobody is looked for while nothing has changed', async () => {
  await service.sql(
    `update lost_access_checks set seen_at = now() - interval '5 minutes', checked_at = now() - interval '5 minutes'`,
  );
  await endLostAccessOfAll(deps);
  const checkedAgo = async () =>
    (
      await service.sql<{ ago: number }>(
        'select extract(epoch from now() - checked_at)::float8 as ago from lost_access_checks',
      )
    )[0]?.ago ?? 0;
  assert.ok((await checkedAgo()) > 200);
  await service.sql(`update lost_access_checks set checked_at = now() - interval '11 minutes'`);
  await endLostAccessOfAll(deps);
  assert.ok((await checkedAgo()) < 60);
});
