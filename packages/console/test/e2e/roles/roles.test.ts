// Roles: the list, copies, comparison, details, holders, deletion.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ADMIN, signIn } from '@castellan/testing/harness';
import { makePermission, makePermissionGroup, makeRole, newName } from '@castellan/testing/records/fixture';
import { addUser } from '@castellan/testing/sessions/accounts';
import { addPerson, addRole } from '@castellan/testing/users/people';
import { assertAccessible } from '../../accessibility.ts';
import { openAs, startConsole } from '../../harness.ts';

const site = await startConsole({ after });

/** A role with one of two permissions, and a person who has the role. */
async function seed() {
  // A person has so few sessions that the pages of this file would end an older one.
  const admin = await signIn(site.service, ADMIN);
  const group = await makePermissionGroup(admin, { name: newName('orders') });
  const read = await makePermission(admin, { group_id: group.id, name: 'read' });
  const write = await makePermission(admin, { group_id: group.id, name: 'write' });
  const role = await makeRole(admin, { name: newName('Clerk'), permission_ids: [read.id] });
  const user = await addUser(site.service);
  await site.service.sql('insert into user_roles (user_id, role_id) values ($1, $2)', [user.id, role.id]);
  return { admin, group, read, write, role, user };
}

const holdersOf = (roleId: string) =>
  site.service.sql<{ user_id: string }>('select user_id from user_roles where role_id = $1', [roleId]);

test('a role is found, cloned, and the copy is flagged as the same', async (t) => {
  const { role } = await seed();
  const { page } = await openAs(t, site, '/roles');
  await page.getByRole('searchbox', { name: 'Search roles by name' }).fill(role.name.toLowerCase());
  await page.waitForURL(`**q=${role.name.toLowerCase()}`);
  const row = page.getByRole('row', { name: new RegExp(role.name) });
  await row.getByRole('cell', { name: '1', exact: true }).first().waitFor();
  await page.getByRole('button', { name: `Actions for ${role.name}` }).click();
  await page.getByRole('menuitem', { name: 'Clone' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Clone' }).click();
  await page.getByRole('heading', { level: 1, name: `${role.name} (copy)` }).waitFor();
  await page.goBack();
  await page.getByText(`Same permissions as ${role.name} (copy)`).waitFor();
  await assertAccessible(page, 'the list of roles');
});

test('two roles are compared, and a permission is copied across', async (t) => {
  const { admin, group, write, role } = await seed();
  const other = await makeRole(admin, { name: newName('Other'), permission_ids: [write.id] });
  const { page } = await openAs(t, site, `/roles?compare=${role.id},${other.id}`);
  await page.getByText('2 different, 0 alike').waitFor();
  await page.getByRole('checkbox', { name: `${role.name}: ${group.name}.write` }).click();
  await assertAccessible(page, 'the comparison');
  await page.getByRole('button', { name: 'All roles' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Stay' }).click();
  await page.getByRole('button', { name: 'Review and save…' }).click();
  await page.getByText(`1 gains ${group.name}.write`).waitFor();
  await page.getByRole('button', { name: 'Save changes' }).click();
  await page.getByText('1 different, 1 alike').waitFor();
});

test('a rename that meets another change asks field by field', async (t) => {
  const { admin, role } = await seed();
  const { page } = await openAs(t, site, `/roles/${role.id}`, { expected: ['412'] });
  await page.getByRole('button', { name: 'Edit details' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill(`${role.name} mine`);
  await admin.put(`/api/v1/roles/${role.id}`, { name: `${role.name} theirs`, description: 'Theirs' });
  await dialog.getByRole('button', { name: 'Save' }).click();
  const conflict = page.getByRole('dialog', { name: 'This has changed' });
  await conflict.getByLabel(`Stored now: ${role.name} theirs`).waitFor();
  assert.equal(await conflict.getByLabel('Stored now: Theirs').isChecked(), true, 'what was not typed');
  await conflict.getByRole('button', { name: 'Save this choice' }).click();
  await page.getByRole('heading', { level: 1, name: `${role.name} mine` }).waitFor();
  const { body } = await admin.get(`/api/v1/roles/${role.id}`);
  assert.deepEqual(
    { name: body.data.name, description: body.data.description },
    { name: `${role.name} mine`, description: 'Theirs' },
  );
});

test('the role is given to a person with a preview, and taken back by Undo', async (t) => {
  const { group, role } = await seed();
  const person = await addUser(site.service);
  // Who lists people by the other of the two permissions may assign, too.
  const as = await addPerson(site.service, {
    roles: [
      await addRole(
        site.service,
        'role.read',
        'access.explain',
        'access.change',
        'user.update',
        'users.read',
      ),
    ],
  });
  await site.service.sql('insert into user_roles (user_id, role_id) values ($1, $2)', [as.id, role.id]);
  const { page } = await openAs(t, site, `/roles/${role.id}?tab=users`, { as });
  await page.getByText('2 holders', { exact: true }).waitFor();
  await assertAccessible(page, 'the holders');
  await page.getByRole('button', { name: 'Assign to a person' }).click();
  await page.getByRole('dialog').getByRole('searchbox').fill(person.id);
  await page.getByRole('dialog').getByText(person.email).click();
  await page.getByText(`1 gains ${group.name}.read`).waitFor();
  await page.getByRole('button', { name: 'Assign the role' }).click();
  await page.getByText('3 holders', { exact: true }).waitFor();
  assert.equal((await holdersOf(role.id)).length, 3);
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText('2 holders', { exact: true }).waitFor();
  assert.equal((await holdersOf(role.id)).length, 2);
});

test('after the role is taken from a holder, the focus is still on the page', async (t) => {
  const { group, role } = await seed();
  const { page } = await openAs(t, site, `/roles/${role.id}?tab=users`);
  await page.getByRole('button', { name: /^Actions for/ }).click();
  await page.getByRole('menuitem', { name: 'Remove the role' }).press('Enter');
  const dialog = page.getByRole('dialog', { name: /^Remove/ });
  await dialog.getByText(`1 loses ${group.name}.read`).waitFor();
  await dialog.getByRole('button', { name: 'Remove the role' }).press('Enter');
  await page.getByText('Nobody has this role').waitFor();
  assert.deepEqual(await holdersOf(role.id), []);
  await page.locator(':is(h1, button, a):focus').waitFor();
});

test('a deletion shows what stands in its way and removes it in one step', async (t) => {
  const { group, role } = await seed();
  const { page } = await openAs(t, site, `/roles/${role.id}`);
  await page.getByRole('button', { name: 'Delete' }).click();
  const dialog = page.getByRole('dialog', { name: `Delete ${role.name}` });
  await dialog.getByText('1 holder loses it').waitFor();
  await dialog.getByText(`1 loses ${group.name}.read`).waitFor();
  await dialog.getByRole('button', { name: 'Unassign and delete' }).click();
  await page.waitForURL('**/roles');
  assert.equal((await site.service.sql('select from roles where id = $1', [role.id])).length, 0);
});

test('a role that somebody else gives to another person first is taken from nobody', async (t) => {
  const { role, user } = await seed();
  const { page } = await openAs(t, site, `/roles/${role.id}`, { expected: ['409'] });
  await page.getByRole('button', { name: 'Delete' }).click();
  const dialog = page.getByRole('dialog', { name: `Delete ${role.name}` });
  await dialog.getByText('1 holder loses it').waitFor();
  const confirm = dialog.getByRole('button', { name: 'Unassign and delete' });
  await confirm.and(page.locator(':enabled')).waitFor();
  const late = await addUser(site.service);
  await site.service.sql('insert into user_roles (user_id, role_id) values ($1, $2)', [late.id, role.id]);
  await confirm.click();
  await dialog.getByText('Somebody else has changed this record. Nothing of yours was saved.').waitFor();
  assert.deepEqual(
    (await holdersOf(role.id)).map(({ user_id }) => user_id).sort(),
    [user.id, late.id].sort(),
  );
  await dialog.getByText('2 holders lose it').waitFor();
  await confirm.and(page.locator(':enabled')).click();
  await page.waitForURL('**/roles');
  assert.deepEqual(await holdersOf(role.id), []);
});

test('a role of more holders than one request changes is deleted in batches, and a stopped run gives it back', async (t) => {
  const { group, role } = await seed();
  await site.service.sql(
    `with holders as (
       insert into users (id, email, first_name, last_name, password_hash, is_active, verified)
       select gen_random_uuid(), $2 || n || '@example.com', 'Holder', 'No' || n, null, true, true
         from generate_series(1, 1200) as n returning id)
     insert into user_roles (user_id, role_id) select id, $1 from holders`,
    [role.id, group.name],
  );
  const { page } = await openAs(t, site, `/roles/${role.id}`);
  const { promise: isStopped, resolve: goOn } = Promise.withResolvers<void>();
  await page.route('**/api/v1/access/changes*', async (route) => {
    // Previews pass.
    if (!route.request().url().includes('?')) await isStopped;
    await route.continue();
  });
  await page.getByRole('button', { name: 'Delete' }).click();
  const dialog = page.getByRole('dialog', { name: `Delete ${role.name}` });
  await dialog.getByText('1,201 holders lose it').waitFor();
  await dialog.getByText(`1,201 lose ${group.name}.read`).waitFor();
  const confirm = async (): Promise<void> => {
    await dialog.getByRole('textbox').fill('1201');
    await dialog.getByRole('button', { name: 'Unassign and delete' }).click();
  };
  const firstBatch = page.waitForRequest((request) => request.url().endsWith('/api/v1/access/changes'));
  await confirm();
  await firstBatch;
  await dialog.getByRole('button', { name: 'Stop' }).click();
  goOn();
  await dialog.getByText('The role is not deleted. 1,000 holders have lost it.').waitFor();
  assert.equal((await holdersOf(role.id)).length, 201);
  await assertAccessible(page);
  await dialog.getByRole('button', { name: 'Give it back to 1,000 holders' }).click();
  await page.getByText('1,000 holders have the role again.').waitFor();
  assert.equal((await holdersOf(role.id)).length, 1_201);
  await dialog.getByText(`1,201 lose ${group.name}.read`).waitFor();
  await confirm();
  await page.waitForURL('**/roles');
  assert.deepEqual(await holdersOf(role.id), []);
  assert.equal((await site.service.sql('select from roles where id = $1', [role.id])).length, 0);
});

test('a deletion in batches knows of a service account behind the first thousand holders', async (t) => {
  const { group, role } = await seed();
  // The pages are in the order of the ids.
  await site.service.sql(
    `with people as (
       insert into users (id, email, first_name, last_name, password_hash, is_active, verified)
       select gen_random_uuid(), $2 || n || '@example.com', 'Holder', 'No' || n, null, true, true
         from generate_series(1, 1100) as n returning id),
     service as (
       insert into service_accounts (id, name) select 'ffffffff-ffff-4fff-bfff-ffffffffffff'::uuid, $2 returning id),
     theirs as (insert into service_account_roles (service_account_id, role_id) select id, $1 from service)
     insert into user_roles (user_id, role_id) select id, $1 from people`,
    [role.id, group.name],
  );
  const needed = [
    'role.read',
    'role.update',
    'role.delete',
    'access.explain',
    'access.change',
    'user.update',
  ];
  const as = await addPerson(site.service, { roles: [await addRole(site.service, ...needed)] });
  const { page } = await openAs(t, site, `/roles/${role.id}`, { as });
  await page.getByRole('button', { name: 'Delete' }).click();
  const dialog = page.getByRole('dialog', { name: `Delete ${role.name}` });
  await dialog.getByText('You need the permission service_account.update.').waitFor();
  assert.equal(await dialog.getByRole('button', { name: 'Unassign and delete' }).isDisabled(), true);
});

test('without the permission to unassign, a deletion says so and asks nothing of the service', async (t) => {
  const { role } = await seed();
  const as = await addPerson(site.service, {
    roles: [await addRole(site.service, 'role.read', 'role.delete', 'access.explain')],
  });
  const { page } = await openAs(t, site, `/roles/${role.id}`, { as });
  await page.getByRole('button', { name: 'Delete' }).click();
  const dialog = page.getByRole('dialog', { name: `Delete ${role.name}` });
  await dialog.getByText('You need the permission access.change.').waitFor();
  assert.equal(await dialog.getByRole('button', { name: 'Unassign and delete' }).isDisabled(), true);
});

test('people who may only read see the reasons, and system roles are locked', async (t) => {
  const { role } = await seed();
  const reader = await addUser(site.service);
  await site.service.sql(
    "insert into user_roles (user_id, role_id) select $1, id from roles where name = 'Manager'",
    [reader.id],
  );
  const { page } = await openAs(t, site, `/roles/${role.id}`, { as: reader });
  await page.getByText('You need the permission access.change.').waitFor();
  assert.equal(await page.getByRole('checkbox').first().isDisabled(), true);
  const edit = page.getByRole('button', { name: 'Edit details' });
  assert.equal(await edit.getAttribute('aria-disabled'), 'true');
  assert.equal(await edit.getAttribute('aria-description'), 'You need the permission role.update.');
  const [system] = await site.service.sql<{ id: string }>("select id from roles where name = 'Admin'");
  const compared = await openAs(t, site, `/roles?compare=${role.id},${system?.id}`);
  const head = compared.page.getByRole('columnheader', { name: 'Admin' });
  await head.getByText('The permissions of a system role cannot be changed.').waitFor();
  const own = await openAs(t, site, `/roles/${system?.id}`);
  await own.page.getByText('The permissions of a system role cannot be changed.').waitFor();
  assert.equal(
    await own.page.getByRole('button', { name: 'Delete' }).getAttribute('aria-description'),
    'A system role cannot be deleted.',
  );
});

test('a role that does not exist says so', async (t) => {
  const { page } = await openAs(t, site, '/roles/00000000-0000-4000-8000-000000000000', {
    expected: ['404'],
  });
  await page.getByRole('heading', { name: 'This role does not exist' }).waitFor();
});

test('unsaved permissions survive a look at another tab', async (t) => {
  const { group, role } = await seed();
  const { page } = await openAs(t, site, `/roles/${role.id}?q=${group.name}`);
  const box = page.getByRole('checkbox', { name: `${group.name}.write` });
  await box.click();
  await page.getByRole('tab', { name: 'Holders' }).click();
  await page.getByText('1 holder', { exact: true }).waitFor();
  await page.getByRole('tab', { name: 'Permissions' }).click();
  assert.equal(await box.isChecked(), true);
  await assertAccessible(page, 'the permissions of a role');
});
