// A page of roles, one of which has thousands of permissions: each permission is read once, not once for each role.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { plansOf } from '@castellan/testing/plans';

const PERMISSIONS = 5_000;
const ROLES = 30;
const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);

test('a page with a large role reads each permission once, and shows those of each role by name', async () => {
  await service.sql(
    `insert into permission_groups (id, name) values (md5('group')::uuid, 'large');
     insert into permissions (id, name, group_id)
     select md5('permission ' || n)::uuid, 'large.' || lpad(n::text, 5, '0'), md5('group')::uuid
     from generate_series(1, ${PERMISSIONS}) n;
     insert into roles (id, name) select md5('role ' || n)::uuid, 'large ' || n from generate_series(1, ${ROLES}) n;
     insert into role_permissions (role_id, permission_id)
     select md5('role ' || n)::uuid, md5('permission ' || n)::uuid from generate_series(2, ${ROLES}) n
     union all select md5('role 1')::uuid, md5('permission ' || n)::uuid from generate_series(1, ${PERMISSIONS}) n`,
  );
  await service.sql('vacuum analyze');
  // With numbers of holders, it is not sent from memory.
  const path = '/api/v1/roles?name_pattern=large*&include=holders&size=100';
  const { body } = await admin.get(path);
  const names = (role: string): string[] =>
    body.data
      .find(({ name }: { name: string }) => name === role)
      .permissions.map(({ name }: { name: string }) => name);
  assert.equal(body.data.length, ROLES);
  assert.deepEqual(names('large 2'), ['large.00002']);
  assert.equal(names('large 1').length, PERMISSIONS);
  assert.deepEqual(names('large 1'), names('large 1').toSorted());
  const read = (await plansOf(service, () => admin.get(path)))
    .flatMap(({ steps }) => steps)
    .filter(({ table }) => table === 'permissions' || table === 'role_permissions')
    .reduce((sum, { rows }) => sum + rows, 0);
  // The links of the roles twice, and the permissions.
  assert.ok(read <= 4 * PERMISSIONS, `${read} rows`);
});
