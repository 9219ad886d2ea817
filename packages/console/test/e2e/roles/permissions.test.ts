// Permissions: the list with its filters, the pane with holders, creation with its prefix, deletion, groups.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, test } from 'node:test';
import { ADMIN, signIn } from '@castellan/testing/harness';
import { makePermission, makePermissionGroup, makeRole, newName } from '@castellan/testing/records/fixture';
import { addUser } from '@castellan/testing/sessions/accounts';
import { assertAccessible } from '../../accessibility.ts';
import { assertFocusIn, openAs, startConsole } from '../../harness.ts';

const site = await startConsole({ after });

/** A group with a used and an unused permission, and somebody who holds the used one. */
async function seed() {
  // A person has so few sessions that the pages of this file would end an older one.
  const admin = await signIn(site.service, ADMIN);
  const group = await makePermissionGroup(admin, { name: newName('orders') });
  const used = await makePermission(admin, { group_id: group.id, name: 'read', description: 'Read orders' });
  const unused = await makePermission(admin, { group_id: group.id, name: 'archive' });
  const role = await makeRole(admin, { name: newName('Clerk'), permission_ids: [used.id] });
  const user = await addUser(site.service);
  await site.service.sql('insert into user_roles (user_id, role_id) values ($1, $2)', [user.id, role.id]);
  return { admin, group, used, unused, role, user };
}

test('a permission shows the roles that have it and who holds it, and exports them', async (t) => {
  const { group, used, role, user } = await seed();
  const { page } = await openAs(t, site, `/permissions?group=${group.id}`);
  await page.getByRole('button', { name: used.name }).click();
  await page.waitForURL(`**permission=${used.id}`);
  const pane = page.getByRole('complementary', { name: 'Permission' });
  await pane.getByRole('link', { name: role.name, exact: true }).waitFor();
  await pane.getByText(`through ${role.name}`).waitFor();
  assert.equal(
    await pane.getByRole('button', { name: 'Delete' }).getAttribute('aria-description'),
    `It cannot be deleted while roles have it: ${role.name}.`,
  );
  await assertAccessible(page, 'the permissions with a pane');
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    pane.getByRole('button', { name: 'Export CSV' }).click(),
  ]);
  const text = await readFile(await download.path(), 'utf8');
  assert.ok(text.startsWith('\uFEFF'), text);
  assert.ok(text.includes(user.email), text);
  await page.keyboard.press('Escape');
  await pane.waitFor({ state: 'detached' });
});

test('filters find what is in no role, and survive Back', async (t) => {
  const { group, used, unused } = await seed();
  const { page } = await openAs(t, site, `/permissions?group=${group.id}&roles=none`);
  await page.getByRole('button', { name: unused.name }).waitFor();
  assert.equal(await page.getByRole('button', { name: used.name }).count(), 0);
  await page.getByRole('searchbox').fill('no such thing');
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await page.getByRole('button', { name: used.name }).waitFor();
  await page.getByRole('combobox', { name: 'Filter' }).selectOption('builtin');
  await page.getByRole('button', { name: 'All permissions' }).click();
  await page.getByRole('button', { name: 'access.change' }).waitFor();
});

test('a permission that only Admin has says so, a built-in one as one of the product', async (t) => {
  const { unused } = await seed();
  for (const name of ['audit_log.read', unused.name]) {
    const { page } = await openAs(t, site, `/permissions?q=${name}`);
    await page.getByRole('row', { name }).getByText('Admin only').waitFor();
    assert.equal(await page.getByText('No role', { exact: true }).count(), 0);
  }
});

test('a permission is created behind its prefix, and deleted', async (t) => {
  const { group } = await seed();
  const { page } = await openAs(t, site, `/permissions?group=${group.id}`, { expected: ['409'] });
  await page.getByRole('button', { name: 'New permission' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Action').fill('read');
  await dialog.getByText(`The permission will be called ${group.name}.read.`).waitFor();
  await assertAccessible(page, 'a new permission');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await dialog.getByText('The group already has a permission with this name.').waitFor();
  await assertFocusIn(page, '[role="dialog"] [aria-invalid="true"]');
  await dialog.getByLabel('Action').fill('refund');
  await dialog.getByRole('button', { name: 'Create' }).click();
  const pane = page.getByRole('complementary', { name: 'Permission' });
  await pane.getByRole('heading', { name: `${group.name}.refund` }).waitFor();
  await pane.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByText(`${group.name}.refund was deleted.`).waitFor();
  const name = `${group.name}.refund`;
  assert.equal((await site.service.sql('select from permissions where name = $1', [name])).length, 0);
});

test('a built-in permission is locked and says why', async (t) => {
  await seed();
  const { page } = await openAs(t, site, '/permissions?q=users.delete');
  await page.getByRole('button', { name: 'users.delete' }).click();
  const pane = page.getByRole('complementary', { name: 'Permission' });
  await pane.getByText('A built-in permission cannot be deleted.').waitFor();
  assert.equal(await pane.getByRole('button', { name: 'Delete' }).getAttribute('aria-disabled'), 'true');
});

test('a group is made, renamed with its permissions, moved and deleted', async (t) => {
  const { group, used } = await seed();
  const { page } = await openAs(t, site, `/permissions?group=${group.id}`);
  const more = (name: string) => page.getByRole('button', { name: `Actions for ${name}` });
  await more(group.name).click();
  await page.getByRole('menuitem', { name: 'Rename or describe' }).click();
  const renamed = newName('sales');
  await page.getByRole('dialog').getByLabel('Name').fill(renamed);
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await page.getByRole('button', { name: `${renamed}.read` }).waitFor();
  const [row] = await site.service.sql<{ name: string }>('select name from permissions where id = $1', [
    used.id,
  ]);
  assert.equal(row?.name, `${renamed}.read`);
  await more(renamed).click();
  await page.getByText('The group cannot be deleted: it has 2 permissions.').waitFor();
  await page.getByRole('menuitem', { name: 'New child group' }).click();
  const child = newName('child');
  await page.getByRole('dialog').getByLabel('Name').fill(child);
  await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
  const item = page.getByRole('treeitem', { name: new RegExp(`^${child} `) });
  await item.waitFor();
  await item.focus();
  await page.keyboard.press('m');
  await page.getByRole('dialog').getByLabel('Top level').check();
  await page.getByRole('dialog').getByRole('button', { name: 'Move' }).click();
  await page.getByText(`${child} was moved to Top level.`).waitFor();
  await more(child).click();
  await page.getByRole('menuitem', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await item.waitFor({ state: 'detached' });
});

test('what happened to a permission and to a group is in their activity', async (t) => {
  const { group, used } = await seed();
  const { page } = await openAs(t, site, `/permissions?group=${group.id}&permission=${used.id}`);
  const pane = page.getByRole('complementary', { name: 'Permission' });
  await pane.getByRole('tab', { name: 'Activity' }).click();
  await page.waitForURL('**tab=activity');
  await pane.locator('.entry', { hasText: used.name }).first().waitFor();
  await assertAccessible(page, 'the activity of a permission');
  // Beside the pane there is no room for the tree.
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: `Actions for ${group.name}` }).click();
  await page.getByRole('menuitem', { name: 'Activity' }).click();
  const dialog = page.getByRole('dialog', { name: `Activity of ${group.name}` });
  await dialog.locator('.entry', { hasText: group.name }).first().waitFor();
  await assertAccessible(page, 'the activity of a permission group');
  await page.keyboard.press('Escape');
  await page.locator(`button:focus[aria-label="Actions for ${group.name}"]`).waitFor();
});

test('people who may only read see the reasons', async (t) => {
  const { unused } = await seed();
  const reader = await addUser(site.service);
  await site.service.sql(
    "insert into user_roles (user_id, role_id) select $1, id from roles where name = 'Manager'",
    [reader.id],
  );
  const { page } = await openAs(t, site, `/permissions?permission=${unused.id}`, { as: reader });
  const pane = page.getByRole('complementary', { name: 'Permission' });
  await pane.getByText('You need the permission permission.delete.').waitFor();
  const create = page.getByRole('button', { name: 'New permission' });
  assert.equal(await create.getAttribute('aria-description'), 'You need the permission permission.create.');
});

test('the palette offers a new permission and the deletion of the open one', async (t) => {
  const { group, unused } = await seed();
  const { page } = await openAs(t, site, `/permissions?group=${group.id}&permission=${unused.id}`);
  await page.getByRole('complementary', { name: 'Permission' }).waitFor();
  await page.keyboard.press('Control+k');
  await page.getByRole('option', { name: 'New permission', exact: true }).waitFor();
  await page.getByRole('option', { name: `Delete · ${unused.name}` }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByText(`${unused.name} was deleted.`).waitFor();
});
