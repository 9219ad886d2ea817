// What `change` promises. By its types: no administrative write before the entitlement check, and no end without audit
// entries or `unchanged`. At run time: everything is written or nothing.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import type { TestClient } from '@castellan/testing/client';
import { ADMIN, startTestService } from '@castellan/testing/harness';
import { addStrong, ageProofs, requireOfPermission } from '@castellan/testing/second-factors/requirements';
import { signedInWith } from '@castellan/testing/users/people';
import { type Caller, userPrincipal } from '../../src/modules/authz/caller.ts';
import { change, type Locking, rehearseChange } from '../../src/modules/authz/change.ts';
import { sameAccess } from '../../src/modules/authz/impact/impact.ts';
import { insertNodes } from '../../src/modules/group-trees/store.ts';
import { addPermissions, insertRole } from '../../src/modules/roles/store.ts';
import { authenticate } from '../../src/modules/sessions/service.ts';
import { allHandled } from '../../src/platform/fields.ts';
import { peekClaims } from '../../src/platform/security/jwt.ts';

const service = await startTestService({ after });
const { deps } = service.service;

async function callerWith(client: TestClient, access: Caller['access']): Promise<Caller> {
  const token = client.accessToken ?? assert.fail('not signed in');
  const live = await authenticate(deps, token, peekClaims(token));
  return {
    principal: userPrincipal(live),
    access,
    operation: 'POST /api/v1/roles',
    policy: { requiredFor: 'nobody', from: 0, rpIds: [] },
    proofMaxAgeSeconds: 600,
    judgedAt: Date.now(),
    graph: await deps.graphSource.at(live.authz_stamp),
    ifMatch: null,
    namedSubjects: 100,
    client: {
      requestId: randomUUID(),
      address: '127.0.0.1',
      userAgent: null,
      acceptLanguage: null,
      cookie: null,
      secure: false,
      gone: new AbortController().signal,
    },
  };
}

const newRole = () => {
  const id = randomUUID();
  return { id, name: `Role ${id}`, description: '', role_group_id: null };
};

const insert = (role: ReturnType<typeof newRole>) => async (locking: Locking) => {
  const entitled = await locking.entitle();
  await insertRole(entitled, { ...role, created_by_id: locking.caller.principal.id });
  return entitled.done(role.id, sameAccess, {
    action: 'role_created',
    resourceType: 'role',
    resourceId: role.id,
    before: null,
    after: { name: role.name },
  });
};

const countRoles = async (id: string) => (await service.sql('select from roles where id = $1', [id])).length;
const countEntries = async (id: string) =>
  (await service.sql('select from audit_logs where resource_id = $1', [id])).length;

test('a change writes its record and its audit entry', async () => {
  const admin = service.client();
  await admin.login(ADMIN);
  const caller = await callerWith(admin, 'role.create');
  const role = newRole();
  assert.equal(await change(deps, caller, insert(role)), role.id);
  assert.deepEqual([await countRoles(role.id), await countEntries(role.id)], [1, 1]);
});

test('a rehearsal throws what the change would throw, and leaves nothing behind', async () => {
  const admin = service.client();
  await admin.login(ADMIN);
  const caller = await callerWith(admin, 'role.create');
  const role = newRole();
  await rehearseChange(deps, caller, insert(role));
  assert.deepEqual([await countRoles(role.id), await countEntries(role.id)], [0, 0]);
  await change(deps, caller, insert(role));
  await assert.rejects(rehearseChange(deps, caller, insert(role)), { code: '23505' });
});

test('a caller who loses the permission before the check changes nothing', async () => {
  const { client } = await signedInWith(service, 'role.create');
  const caller = await callerWith(client, 'role.create');
  const role = newRole();
  await service.sql('delete from user_roles where user_id = $1', [caller.principal.id]);
  await assert.rejects(change(deps, caller, insert(role)), {
    code: 'permission_denied',
    extras: { requiredPermission: 'role.create' },
  });
  await service.sql('update users set is_active = false where id = $1', [caller.principal.id]);
  await assert.rejects(change(deps, caller, insert(role)), { code: 'token_revoked' });
  assert.deepEqual([await countRoles(role.id), await countEntries(role.id)], [0, 0]);
});

test('a caller who must change their password before the check changes nothing', async () => {
  const { client } = await signedInWith(service, 'role.create');
  const caller = await callerWith(client, 'role.create');
  const role = newRole();
  await service.sql('update users set must_change_password = true where id = $1', [caller.principal.id]);
  await assert.rejects(change(deps, caller, insert(role)), { code: 'password_change_required' });
  assert.deepEqual([await countRoles(role.id), await countEntries(role.id)], [0, 0]);
});

test('a caller whose role requires a second factor before the check changes nothing, unless they proved one', async () => {
  const { client } = await signedInWith(service, 'role.create');
  const strong = await addStrong(service, 'role.create');
  const [weak, proved] = [
    await callerWith(client, 'role.create'),
    await callerWith(strong.client, 'role.create'),
  ];
  for (const caller of [weak, proved])
    await service.sql(
      `update roles set required_acr = 'aal2', enforced_from = now()
       where id in (select role_id from user_roles where user_id = $1)`,
      [caller.principal.id],
    );
  const role = newRole();
  await assert.rejects(change(deps, weak, insert(role)), { code: 'second_factor_enrolment_required' });
  assert.deepEqual([await countRoles(role.id), await countEntries(role.id)], [0, 0]);
  assert.equal(await change(deps, proved, insert(role)), role.id);
});

test('a setting that requires a second factor of administrators counts in the check', async () => {
  const { client } = await signedInWith(service, 'role.create');
  const caller = await callerWith(client, 'role.create');
  const strict = (from: number): Caller => ({
    ...caller,
    policy: { requiredFor: 'administrators', from, rpIds: [] },
  });
  const role = newRole();
  await assert.rejects(change(deps, strict(0), insert(role)), { code: 'second_factor_enrolment_required' });
  assert.equal(await change(deps, strict(Date.now() + 60_000), insert(role)), role.id);
});

test('a permission that asks for a proof before the check refuses a weak and an old one', async () => {
  const strong = await addStrong(service, 'role.create');
  const { client } = await signedInWith(service, 'role.create');
  const [weak, proved] = [
    await callerWith(client, 'role.create'),
    await callerWith(strong.client, 'role.create'),
  ];
  await requireOfPermission(service, 'role.create', 'aal2', 600);
  await ageProofs(service, strong, 660);
  const old = await callerWith(strong.client, 'role.create');
  for (const caller of [weak, old])
    await assert.rejects(change(deps, caller, insert(newRole())), {
      code: 'step_up_required',
      extras: {
        headers: {
          'www-authenticate':
            'Bearer error="insufficient_user_authentication", error_description="A stronger or more recent proof of the user is required", acr_values="aal2 phr", max_age="600"',
        },
        members: { step_up: { required_acr: 'aal2', max_age: 600 } },
      },
    });
  await change(deps, proved, insert(newRole()));
  await requireOfPermission(service, 'role.create', null);
});

test('a permission counts in whatever letter case it has in the catalogue', async () => {
  const { client } = await signedInWith(service, 'role.create');
  const caller = await callerWith(client, 'role.create');
  await service.sql("update permissions set name = 'Role.CREATE' where name = 'role.create'");
  const role = newRole();
  await change(deps, caller, insert(role));
  await service.sql("update permissions set name = 'role.create' where name = 'Role.CREATE'");
  assert.equal(await countRoles(role.id), 1);
});

// The compiler checks the rest: each of the following lines must not compile.
const refusedByTheCompiler = async (caller: Caller): Promise<void> => {
  const role = { ...newRole(), created_by_id: caller.principal.id };
  const entry = { action: 'role_created', resourceId: role.id } as const;

  await change(deps, caller, async (locking) => {
    // @ts-expect-error: a write needs the entitlement check
    await insertRole(locking, role);
    // @ts-expect-error: a transaction alone is not enough
    await addPermissions(locking.tx, []);
    // @ts-expect-error: an object of the same shape is not enough either
    await insertNodes({ tx: locking.tx, caller, isSuperuser: true }, 'role_groups', []);
    const entitled = await locking.entitle();
    return entitled.done(null, sameAccess, entry);
  });
  // @ts-expect-error: a change ends with `done` or `unchanged`, not with its result
  await change(deps, caller, async () => role.id);
  await change(deps, caller, async (locking) => {
    const entitled = await locking.entitle();
    // @ts-expect-error: `done` takes at least one audit entry
    return entitled.done(role.id, sameAccess);
  });
  await change(deps, caller, async (locking) => {
    const entitled = await locking.entitle();
    // @ts-expect-error: an action that is not in the catalogue cannot be written
    return entitled.done(role.id, sameAccess, { action: 'role_invented' });
  });

  await change(deps, caller, async (locking) => {
    const entitled = await locking.entitle();
    // @ts-expect-error: `done` takes what the change did to access
    return entitled.done(role.id, entry);
  });

  const { name: _name, ...rest } = role;
  // @ts-expect-error: every field of the body must be handled
  allHandled(rest);
};
void refusedByTheCompiler;
