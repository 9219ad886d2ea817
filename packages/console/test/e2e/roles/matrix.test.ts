// The permission matrix: keys, unsaved changes, review with its preview, conflicts, system roles, read-only.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, test } from 'node:test';
import { ADMIN, signIn } from '@castellan/testing/harness';
import { makePermission, makePermissionGroup, makeRole, newName } from '@castellan/testing/records/fixture';
import { addUser } from '@castellan/testing/sessions/accounts';
import type { Page } from 'playwright-core';
import { assertAccessible } from '../../accessibility.ts';
import { assertFocusIn, heading, openAs, startConsole } from '../../harness.ts';

const site = await startConsole({ after });

/** Two permissions `<group>.read` and `<group>.delete`, a role with the first, and a person who has the role. */
async function seed() {
  // A person has so few sessions that the pages of this file would end an older one.
  const admin = await signIn(site.service, ADMIN);
  const group = await makePermissionGroup(admin, { name: newName('orders') });
  const read = await makePermission(admin, { group_id: group.id, name: 'read' });
  const remove = await makePermission(admin, { group_id: group.id, name: 'delete' });
  const role = await makeRole(admin, { name: newName('Clerk'), permission_ids: [read.id] });
  const user = await addUser(site.service);
  await site.service.sql('insert into user_roles (user_id, role_id) values ($1, $2)', [user.id, role.id]);
  return { admin, group, read, remove, role, path: `/matrix?f=${group.name}` };
}

const cellOf = (page: Page, name: string) => page.getByRole('checkbox', { name, exact: true });
const bar = (page: Page) => page.getByRole('region', { name: 'Unsaved changes' });

async function heldBy(roleId: string): Promise<string[]> {
  const rows = await site.service.sql<{ name: string }>(
    'select p.name from role_permissions rp join permissions p on p.id = rp.permission_id where rp.role_id = $1 order by 1',
    [roleId],
  );
  return rows.map(({ name }) => name);
}

test('a cell is reached by arrows, flipped by Space, reviewed with its preview, and saved', async (t) => {
  const { group, role, path } = await seed();
  const { page } = await openAs(t, site, path);
  const toggle = page.getByRole('button', { name: new RegExp(`^${group.name}`) });
  await toggle.focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('End');
  await page.keyboard.press('Control+Home');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  // The columns are sorted by name: Admin comes first.
  assert.match((await page.locator(':focus').getAttribute('aria-label')) ?? '', /^Admin: .*\.delete$/);
  const cell = cellOf(page, `${role.name}: ${group.name}.delete`);
  for (let step = 0; step < 100 && !(await cell.evaluate((one) => one === document.activeElement)); step += 1)
    await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Space');
  const unsaved = cellOf(page, `${role.name}: ${group.name}.delete, not saved`);
  assert.equal(await unsaved.getAttribute('aria-checked'), 'true');
  assert.equal(await bar(page).getByRole('status').textContent(), '1 change in 1 role');
  await assertAccessible(page, 'the matrix with an unsaved change');
  await bar(page).getByRole('button', { name: 'Review and save…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Review and save' });
  await dialog.getByText(`1 gains ${group.name}.delete`).waitFor();
  await dialog.getByRole('button', { name: 'Save changes' }).click();
  await page.getByText('1 change was saved.').waitFor();
  assert.deepEqual(await heldBy(role.id), [`${group.name}.delete`, `${group.name}.read`]);
  assert.equal(await bar(page).count(), 0);
  assert.equal(await cell.getAttribute('aria-checked'), 'true');
  await page.locator(`[role="checkbox"]:focus[aria-label="${role.name}: ${group.name}.delete"]`).waitFor();
});

test('saving is not taken for a change by somebody else, however late the roles are read again', async (t) => {
  const { group, role, path } = await seed();
  const { page } = await openAs(t, site, path);
  const cell = cellOf(page, `${role.name}: ${group.name}.delete`);
  await cell.click();
  await bar(page).getByRole('button', { name: 'Review and save…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Review and save' });
  await dialog.getByText(`1 gains ${group.name}.delete`).waitFor();
  const previewed: string[] = [];
  const isRead = Promise.withResolvers<void>();
  page.on('request', (request) => {
    if (request.url().includes('dry_run=true')) previewed.push(request.url());
  });
  page.on('response', (response) => {
    if (new URL(response.url()).pathname === '/api/v1/permissions') isRead.resolve();
  });
  await page.route(
    (url) => url.pathname === '/api/v1/roles/summaries',
    async (route) => {
      await isRead.promise;
      await route.continue();
    },
  );
  await dialog.getByRole('button', { name: 'Save changes' }).click();
  await page.getByText('1 change was saved.').waitFor();
  await page.locator(`[role="checkbox"]:focus[aria-label="${role.name}: ${group.name}.delete"]`).waitFor();
  assert.deepEqual(previewed, []);
  assert.equal(await page.getByRole('dialog').count(), 0);
});

test('the review names removals first, and says that nobody is affected now by a role without holders', async (t) => {
  const { admin, group, read, path } = await seed();
  const [first, second] = await Promise.all(
    ['A first', 'B second'].map((name) =>
      makeRole(admin, { name: newName(name), permission_ids: name.startsWith('B') ? [read.id] : [] }),
    ),
  );
  const { page } = await openAs(t, site, path);
  await cellOf(page, `${first?.name}: ${group.name}.read`).click();
  await cellOf(page, `${second?.name}: ${group.name}.read`).click();
  await bar(page).getByRole('button', { name: 'Review and save…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Review and save' });
  await dialog
    .getByText('Nobody gains or loses a permission now. People who get one of these roles later')
    .waitFor();
  const names = await dialog.getByRole('listitem').getByRole('strong').allTextContents();
  assert.deepEqual(names, [second?.name, first?.name]);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await page.locator('.pending-bar button:focus', { hasText: 'Review and save…' }).waitFor();
  await bar(page).getByRole('button', { name: 'Discard' }).click();
  await page.locator(`[role="checkbox"]:focus[aria-label="${second?.name}: ${group.name}.read"]`).waitFor();
});

test('taking a permission to delete from somebody asks for the number', async (t) => {
  const { admin, group, role, remove, path } = await seed();
  await admin.post(`/api/v1/roles/${role.id}/permissions`, { permission_ids: [remove.id] });
  const { page } = await openAs(t, site, path);
  await cellOf(page, `${role.name}: ${group.name}.delete`).click();
  await bar(page).getByRole('button', { name: 'Review and save…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText(`1 loses ${group.name}.delete`).waitFor();
  const save = dialog.getByRole('button', { name: 'Save changes' });
  assert.equal(await save.isDisabled(), true);
  await dialog.getByLabel('Type 1 to confirm').fill('1');
  await save.click();
  await page.getByText('1 change was saved.').waitFor();
  assert.deepEqual(await heldBy(role.id), []);
});

test('after a change by somebody else, the person chooses cell by cell', async (t) => {
  const { admin, group, role, read, remove, path } = await seed();
  const other = await makePermission(admin, { group_id: group.id, name: 'export' });
  const { page } = await openAs(t, site, path, { expected: ['412'] });
  await cellOf(page, `${role.name}: ${group.name}.delete`).click();
  await bar(page).getByRole('button', { name: 'Review and save…' }).click();
  await page.getByText(`1 gains ${group.name}.delete`).waitFor();
  await assertAccessible(page, 'the review');
  // Meanwhile somebody else takes `read` away and gives `export`.
  await admin.post(`/api/v1/roles/${role.id}/permissions`, { permission_ids: [other.id] });
  await page.getByRole('button', { name: 'Save changes' }).click();
  const conflict = page.getByRole('dialog', { name: 'This has changed' });
  const choiceOf = (action: string) =>
    conflict.getByRole('radiogroup', { name: `${role.name}: ${group.name}.${action}` });
  await choiceOf('read').waitFor();
  assert.equal(
    await choiceOf('read')
      .getByRole('radio', { name: /^Stored now/ })
      .isChecked(),
    true,
  );
  assert.equal(
    await choiceOf('delete')
      .getByRole('radio', { name: /^Yours/ })
      .isChecked(),
    true,
  );
  await choiceOf('read').getByText('Yours: has it').click();
  await conflict.getByRole('button', { name: 'Continue' }).click();
  await page.getByText(`1 gains ${group.name}.read`).waitFor();
  await page.getByRole('button', { name: 'Save changes' }).click();
  await page.getByText('2 changes were saved.').waitFor();
  assert.deepEqual(await heldBy(role.id), [read, remove, other].map(({ name }) => name).toSorted());
});

test('unsaved changes are not lost by a click on the menu, and can be discarded', async (t) => {
  const { group, role, path } = await seed();
  const { page } = await openAs(t, site, path);
  await cellOf(page, `${role.name}: ${group.name}.read`).click();
  await page.getByRole('link', { name: 'Users', exact: true }).click();
  const guard = page.getByRole('dialog', { name: 'Leave without saving?' });
  await guard.getByRole('button', { name: 'Stay' }).click();
  await guard.waitFor({ state: 'detached' });
  await bar(page).getByRole('button', { name: 'Discard' }).click();
  await bar(page).waitFor({ state: 'detached' });
  assert.equal(await cellOf(page, `${role.name}: ${group.name}.read`).getAttribute('aria-checked'), 'true');
});

test('system roles are locked, also for the superuser', async (t) => {
  const { group, path } = await seed();
  const { page } = await openAs(t, site, path);
  const cell = cellOf(page, `Admin: ${group.name}.read`);
  assert.equal(await cell.getAttribute('aria-disabled'), 'true');
  await cell.focus();
  await page.keyboard.press('Space');
  await page.locator('#announcer').getByText('System role').waitFor();
  assert.equal(await bar(page).count(), 0);
  await page.getByText('Custom only').click();
  await page.waitForURL('**roles=custom**');
  assert.equal(await cell.count(), 0);
});

test('a role made here gets a column, which has the focus', async (t) => {
  const { path } = await seed();
  const { page } = await openAs(t, site, path, { expected: ['409'] });
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('menuitem', { name: 'New role' }).click();
  const dialog = page.getByRole('dialog', { name: 'New role' });
  await dialog.getByLabel('Name').fill('Admin');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await dialog.getByText('Another role has this name.').waitFor();
  await assertFocusIn(page, '[role="dialog"] [aria-invalid="true"]');
  const name = newName('Fresh');
  await dialog.getByLabel('Name').fill(name);
  await dialog.getByRole('button', { name: 'Create' }).click();
  await page.locator('thead a:focus', { hasText: name }).waitFor();
});

test('the message that a role was created does not cover the buttons of the unsaved changes', async (t) => {
  const { group, role, path } = await seed();
  // As narrow as a laptop may be before the page is that of a phone.
  const context = { viewport: { width: 1024, height: 768 } };
  const { page } = await openAs(t, site, path, { context });
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('menuitem', { name: 'New role' }).click();
  const dialog = page.getByRole('dialog', { name: 'New role' });
  const name = newName('Fresh');
  await dialog.getByLabel('Name').fill(name);
  await dialog.getByRole('button', { name: 'Create' }).click();
  const message = page.getByRole('alert').filter({ hasText: `${name} was created.` });
  // The message stays as long as the pointer is on it.
  await message.hover();
  await cellOf(page, `${role.name}: ${group.name}.delete`).focus();
  await page.keyboard.press('Space');
  await bar(page).waitFor();
  await page.waitForFunction(() => {
    const boxOf = (selector: string) => document.querySelector(selector)?.getBoundingClientRect();
    const message = boxOf('.mantine-Notification-root');
    const bar = boxOf('.pending-bar');
    return message && bar && message.bottom <= bar.top;
  });
});

test('without access.change the matrix is read-only and says why', async (t) => {
  const { group, role, path } = await seed();
  const user = await addUser(site.service);
  await site.service.sql(
    "insert into user_roles (user_id, role_id) select $1, id from roles where name = 'Manager'",
    [user.id],
  );
  const { page } = await openAs(t, site, path, { as: user });
  await page.getByText('You need the permission access.change.').waitFor();
  await page.getByText('Read-only').waitFor();
  const cell = cellOf(page, `${role.name}: ${group.name}.read`);
  await cell.click({ force: true });
  assert.equal(await cell.getAttribute('aria-disabled'), 'true');
  assert.equal(await bar(page).count(), 0);
});

test('no match offers to clear the filters; a failure to try again', async (t) => {
  const { page } = await openAs(t, site, '/matrix?f=no-such-thing', { expected: ['500'] });
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await page.getByRole('grid').waitFor();
  await page.route('**/api/v1/roles/summaries**', (route) => route.fulfill({ status: 500, body: '{}' }));
  await page.reload();
  await page.getByRole('alert').waitFor();
  await page.unroute('**/api/v1/roles/summaries**');
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('grid').waitFor();
  assert.equal(await heading(page).textContent(), 'Permission matrix');
});

test('the export has what shows', async (t) => {
  const { group, role, path } = await seed();
  const { page } = await openAs(t, site, path);
  await cellOf(page, `${role.name}: ${group.name}.read`).waitFor();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Export CSV' }).click(),
  ]);
  const [head = '', ...lines] = (await readFile(await download.path(), 'utf8')).trimEnd().split('\r\n');
  const at = head.split(',').indexOf(role.name);
  assert.deepEqual(
    lines.map((line) => [line.split(',')[0], line.split(',')[at]]),
    [
      [`${group.name}.delete`, ''],
      [`${group.name}.read`, 'x'],
    ],
  );
});
