// Lists of what is granted name what a role or a permission requires, in whatever way their reader signed in.
// They must not leave out what the reader or the holder has not proved: decisions.test.ts is about that.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { makePermission } from '@castellan/testing/records/fixture';
import { enrol } from '@castellan/testing/second-factors/app';
import { requireOfPermission, requireOfRole } from '@castellan/testing/second-factors/requirements';
import { addPerson, addRole } from '@castellan/testing/users/people';

const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);
await enrol(admin);
const [plain, guarded] = [await makePermission(admin), await makePermission(admin)];
await requireOfPermission(service, guarded.name, 'aal2', 600);
const authentication = { required_acr: 'aal2', max_auth_age: 600 };

test('a preview names what the permissions that are gained and lost ask for', async () => {
  const role = await addRole(service, guarded.name);
  await addPerson(service, { roles: [role] });
  const change = { role_id: role, add_permission_ids: [plain.id], remove_permission_ids: [guarded.id] };
  const preview = await admin.post('/api/v1/access/changes?dry_run=true', { changes: [change] });
  assert.equal(preview.body.data?.would_be_refused, null, preview.text);
  assert.deepEqual(preview.body.data.impact.gained, [{ permission: plain.name, subjects: 1 }]);
  assert.deepEqual(preview.body.data.impact.lost, [
    { permission: guarded.name, subjects: 1, authentication },
  ]);
});

test('a preview by a call that does not meet the permission tells that the change would be refused', async () => {
  const role = await addRole(service);
  const weak = await signIn(service, await addPerson(service, { superuser: true }));
  const body = { changes: [{ role_id: role, add_permission_ids: [guarded.id] }] };
  const { status, body: answer } = await weak.post('/api/v1/access/changes?dry_run=true', body);
  assert.deepEqual(
    [status, answer.code, answer.step_up],
    [403, 'step_up_required', { required_acr: 'aal2', max_age: 600 }],
  );
});

test('holders carry what their roles require, on pages and in exports', async () => {
  const demanding = await addRole(service, plain.name);
  await requireOfRole(service, demanding, 'phr', "'2100-01-01T00:00:00Z'::timestamptz");
  const holder = await addPerson(service, { roles: [demanding] });
  const other = await addPerson(service, { roles: [await addRole(service, plain.name)] });
  const pages = await admin.get(`/api/v1/permissions/${plain.id}/holders`);
  const rolesOf = (id: string) => pages.body.data.find((one: { id: string }) => one.id === id).roles;
  assert.deepEqual(rolesOf(holder.id), [
    {
      id: demanding,
      name: `Role ${demanding}`,
      authentication: { required_acr: 'phr', enforced_from: '2100-01-01T00:00:00.000Z' },
    },
  ]);
  assert.deepEqual(Object.keys(rolesOf(other.id)[0]), ['id', 'name']);
  const ofRole = await admin.get(`/api/v1/roles/${demanding}/holders`);
  assert.deepEqual(ofRole.body.data[0].roles, rolesOf(holder.id));
  const exported = await admin.get(`/api/v1/permissions/${plain.id}/holders/export`);
  const lines = exported.text.trimEnd().split('\n');
  assert.deepEqual(
    lines.map((line) => JSON.parse(line)),
    pages.body.data,
  );
});

test('the effective permissions of somebody else are what is granted, also where they have proved nothing', async () => {
  const { id } = await addPerson(service, { roles: [await addRole(service, guarded.name, plain.name)] });
  const { permissions } = (await admin.get(`/api/v1/users/${id}/effective-permissions`)).body.data;
  assert.deepEqual(
    permissions.map((one: { name: string; authentication?: object }) => [one.name, one.authentication]),
    [
      [guarded.name, authentication],
      [plain.name, undefined],
    ].toSorted(([one = ''], [other = '']) => (String(one) < String(other) ? -1 : 1)),
  );
});
