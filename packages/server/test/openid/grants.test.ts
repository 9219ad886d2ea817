// Grants as records: who sees and ends them, what people take back themselves, and what ends for good.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { signedInWith } from '@castellan/testing/users/people';
import { removeSessionRows } from '../../src/cleanup.ts';
import { path, startWithAdmin } from '../applications/fixture.ts';
import { addApplication, addSignedIn, assertDead, tokensOf, userinfo } from './fixture.ts';

const { service, admin } = await startWithAdmin({ after });
const twin = await service.another();
const own = '/api/v1/users/me/applications';

test('administrators see who has access, in pages, and end one authorization', async () => {
  const web = await addApplication(admin, [service, twin]);
  const who = await addSignedIn(service);
  const first = await tokensOf(service, web, who);
  const second = await tokensOf(service, web, who);
  const page = await admin.get(`${path}/${web.id}/grants?size=1`);
  assert.deepEqual(
    [page.body.data.map(({ id }: { id: string }) => id), page.body.next_cursor],
    [[second.grant.id], second.grant.id],
  );
  const rest = await admin.get(`${path}/${web.id}/grants?size=1&cursor=${second.grant.id}`);
  assert.deepEqual([rest.body.data[0].user.id, rest.body.next_cursor], [who.person.id, null]);
  assert.equal((await who.client.get(`${path}/${web.id}/grants`)).status, 403);
  assert.equal((await admin.delete(`${path}/${web.id}/grants/${first.grant.id}`)).status, 200);
  assert.equal((await admin.delete(`${path}/${web.id}/grants/${first.grant.id}`)).status, 404);
  await assertDead(twin, web, first);
  assert.equal((await userinfo(twin, second.access_token)).status, 200);
});

test('the list of applications counts the people with access, and knows the last sign-in', async () => {
  const web = await addApplication(admin, [service, twin]);
  const listed = async () => {
    const { body } = await admin.get(`${path}?search=${web.client_id}`);
    return [body.data[0].people, body.data[0].last_sign_in_at];
  };
  assert.deepEqual(await listed(), [0, null]);
  const who = await addSignedIn(service);
  await tokensOf(service, web, who);
  await tokensOf(service, web, who);
  const { grant } = await tokensOf(service, web, await addSignedIn(service));
  const [row] = await service.sql<{ created_at: Date }>(
    'select created_at from access_grants where id = $1',
    [grant.id],
  );
  assert.deepEqual(await listed(), [2, row?.created_at.toISOString()]);
  assert.equal((await admin.delete(`${path}/${web.id}/grants/${grant.id}`)).status, 200);
  assert.equal((await listed())[0], 1);
});

test('an application that was inactive for a moment has lost all access for good', async () => {
  const web = await addApplication(admin, [service, twin]);
  const ended = await tokensOf(service, web, await addSignedIn(service), { offline: true });
  const preview = await admin.put(`${path}/${web.id}?dry_run=true`, { is_active: false });
  assert.deepEqual(preview.body.data.impact, { grants: 1, users: 1, sessions: 1 });
  assert.equal((await userinfo(twin, ended.access_token)).status, 200);
  for (const is_active of [false, true])
    assert.equal((await admin.put(`${path}/${web.id}`, { is_active })).status, 200);
  await assertDead(twin, web, ended);
  const next = await tokensOf(service, web, await addSignedIn(service));
  await removeSessionRows(service.service.deps);
  const left = await service.sql<{ id: string }>('select id from access_grants where application_id = $1', [
    web.id,
  ]);
  assert.deepEqual(left, [{ id: next.grant.id }]);
  const all = await admin.delete(`${path}/${web.id}/grants`);
  assert.deepEqual(all.body.data, { grants: 1 });
  await assertDead(twin, web, next);
});

test('people take back consent and access, and only their own', async () => {
  const web = await addApplication(admin, [service, twin]);
  const who = await addSignedIn(service);
  const other = await tokensOf(service, web, await addSignedIn(service));
  const taken = await tokensOf(service, web, who, { offline: true });
  await service.sql(`insert into consents (user_id, application_id, scopes) values ($1, $2, '{openid}')`, [
    who.person.id,
    web.id,
  ]);
  const [listed] = (await who.client.get(own)).body.data;
  assert.deepEqual([listed.id, listed.access.grants, listed.consent.scopes], [web.id, 1, ['openid']]);
  const answer = await who.client.delete(`${own}/${web.id}`);
  assert.deepEqual(answer.body.data, { grants: 1, consent: true }, answer.text);
  assert.equal((await who.client.delete(`${own}/${web.id}`)).status, 404);
  assert.deepEqual((await who.client.get(own)).body.data, []);
  await assertDead(twin, web, taken);
  assert.equal((await userinfo(twin, other.access_token)).status, 200);
});

test('an administrator sees what one user uses, and ends it', async () => {
  const web = await addApplication(admin, [service, twin]);
  const agreed = await addApplication(admin, [service, twin]);
  const who = await addSignedIn(service);
  await tokensOf(service, web, await addSignedIn(service));
  const ended = await tokensOf(service, web, who, { offline: true });
  await service.sql(`insert into consents (user_id, application_id, scopes) values ($1, $2, '{openid}')`, [
    who.person.id,
    agreed.id,
  ]);
  const list = `/api/v1/users/${who.person.id}/applications`;
  const [listed, ...others] = (await admin.get(list)).body.data;
  assert.deepEqual(Object.keys(listed), ['id', 'name', 'access']);
  assert.deepEqual([listed.id, listed.access.grants, listed.access.offline], [web.id, 1, true]);
  assert.deepEqual(others, [], 'what was agreed to only is for the user');
  assert.equal((await who.client.get(list)).body.required_permission, 'users.read');
  const { client: reader } = await signedInWith(service, 'users.read');
  const refused = await reader.get(list);
  assert.deepEqual([refused.status, refused.body.required_permission], [403, 'application.read']);
  assert.equal((await admin.get(`/api/v1/users/${randomUUID()}/applications`)).body.code, 'user_not_found');
  const url = `${list}/${web.id}`;
  assert.equal((await who.client.delete(url)).status, 403);
  assert.deepEqual((await admin.delete(url)).body.data, { grants: 1 });
  await assertDead(twin, web, ended);
  assert.deepEqual((await admin.get(list)).body.data, []);
});
