// Role groups: the tree by keys and pointer, moves with Undo, search, roles, blockers, conflicts.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ADMIN, signIn } from '@castellan/testing/harness';
import { makeRole, makeRoleGroup, newName } from '@castellan/testing/records/fixture';
import { addUser } from '@castellan/testing/sessions/accounts';
import type { Page } from 'playwright-core';
import { assertAccessible } from '../../accessibility.ts';
import { openAs, startConsole } from '../../harness.ts';

const site = await startConsole({ after });

/** `top / child / leaf` and `other`; the leaf has a role. */
async function seed() {
  // A person has so few sessions that the pages of this file would end an older one.
  const admin = await signIn(site.service, ADMIN);
  const top = await makeRoleGroup(admin, { name: newName('Top') });
  const child = await makeRoleGroup(admin, { name: newName('Child'), parent_id: top.id });
  const leaf = await makeRoleGroup(admin, { name: newName('Leaf'), parent_id: child.id });
  const other = await makeRoleGroup(admin, { name: newName('Zone') });
  const role = await makeRole(admin, { name: newName('Clerk'), role_group_id: leaf.id });
  return { admin, top, child, leaf, other, role };
}

const itemOf = (page: Page, name: string) => page.getByRole('treeitem', { name: new RegExp(`^${name} `) });
const parentOf = async (id: string): Promise<string | null> => {
  const [row] = await site.service.sql<{ parent_id: string | null }>(
    'select parent_id from role_groups where id = $1',
    [id],
  );
  return row?.parent_id ?? null;
};

test('keys move in the tree and open and close groups; a reload keeps what is open', async (t) => {
  const { top, child, leaf } = await seed();
  const { page } = await openAs(t, site, `/role-groups?g=${top.id}`);
  await itemOf(page, top.name).focus();
  await page.keyboard.press('ArrowDown');
  assert.equal(await itemOf(page, child.name).getAttribute('aria-level'), '2');
  assert.ok(await itemOf(page, child.name).evaluate((one) => one === document.activeElement));
  await page.keyboard.press('ArrowLeft');
  await itemOf(page, leaf.name).waitFor({ state: 'detached' });
  await page.reload();
  await itemOf(page, child.name).waitFor();
  assert.equal(await itemOf(page, child.name).getAttribute('aria-expanded'), 'false');
  assert.equal(await itemOf(page, leaf.name).count(), 0);
  await itemOf(page, top.name).focus();
  await page.keyboard.type(child.name.slice(0, 5));
  await page.keyboard.press('ArrowRight');
  await itemOf(page, leaf.name).waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 2, name: child.name }).waitFor();
  await page.getByText(`This group cannot be deleted: it has 1 child group.`).waitFor();
  await assertAccessible(page, 'the role groups');
});

test('a group is moved by a key and a dialog that does not offer its own subtree, and back by Undo', async (t) => {
  const { top, child, leaf, other } = await seed();
  const { page } = await openAs(t, site, `/role-groups?g=${child.id}`);
  await itemOf(page, child.name).focus();
  await page.keyboard.press('m');
  const dialog = page.getByRole('dialog', { name: `Move ${child.name}` });
  await dialog.getByRole('searchbox').waitFor();
  const offered = await dialog
    .getByRole('radio')
    .evaluateAll((all) => all.map((one) => one.parentElement?.innerText));
  assert.ok(offered.includes('Top level') && offered.includes(other.name));
  assert.ok(!offered.some((one) => one?.includes(child.name) || one?.includes(leaf.name)), offered.join());
  await assertAccessible(page, 'the dialog to move');
  await dialog.getByLabel(other.name, { exact: true }).check();
  await dialog.getByRole('button', { name: 'Move' }).click();
  await page.getByText(`${child.name} was moved to ${other.name}.`).waitFor();
  assert.equal(await parentOf(child.id), other.id);
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText(`${top.name} / ${child.name}`, { exact: true }).waitFor();
  assert.equal(await parentOf(child.id), top.id);
});

test('a group is dragged onto another, and to the top level', async (t) => {
  const { child, other } = await seed();
  const { page } = await openAs(t, site, `/role-groups?g=${child.id}`);
  // The whole tree fits, so that nothing scrolls between pressing and dragging: the browser would drag what is there then.
  await page.setViewportSize({ width: 1280, height: 2_000 });
  await page.getByRole('heading', { level: 2, name: child.name }).waitFor();
  await itemOf(page, child.name).dragTo(itemOf(page, other.name));
  await page.getByText(`${child.name} was moved to ${other.name}.`).waitFor();
  assert.equal(await parentOf(child.id), other.id);
});

test('a search keeps ancestors and the whole matching subtree', async (t) => {
  const { top, child, leaf, other } = await seed();
  const { page } = await openAs(t, site, `/role-groups?q=${child.name}`);
  await itemOf(page, leaf.name).waitFor();
  assert.equal(await itemOf(page, top.name).count(), 1);
  assert.equal(await itemOf(page, other.name).count(), 0);
  await page.getByRole('searchbox', { name: 'Search groups' }).fill('no such group');
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await itemOf(page, other.name).waitFor();
});

test('a role is removed with Undo; an empty group is created and deleted', async (t) => {
  const { leaf, role } = await seed();
  const { page } = await openAs(t, site, `/role-groups?g=${leaf.id}`);
  await page.getByRole('button', { name: `Remove ${role.name} from ${leaf.name}` }).click();
  await page.getByText('This group has no roles of its own.').waitFor();
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByRole('link', { name: role.name }).waitFor();
  const more = (name: string) => page.getByRole('button', { name: `Actions for ${name}` });
  await more(leaf.name).click();
  await page.getByRole('menuitem', { name: 'New child group' }).click();
  const name = newName('Fresh');
  await page.getByRole('dialog').getByLabel('Name').fill(name);
  await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
  await page.getByRole('heading', { level: 2, name }).waitFor();
  await more(name).click();
  await page.getByRole('menuitem', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByText('Choose a group').waitFor();
  assert.equal((await site.service.sql('select from role_groups where name = $1', [name])).length, 0);
});

test('roles are added with the number of their holders in view, and removed again by Undo', async (t) => {
  const { admin, leaf, role, other } = await seed();
  const holder = await addUser(site.service);
  await site.service.sql('insert into user_roles (user_id, role_id) values ($1, $2)', [holder.id, role.id]);
  const second = await makeRole(admin, { name: newName('Second') });
  const { page } = await openAs(t, site, `/role-groups?g=${other.id}`);
  await page.getByRole('button', { name: 'Add roles' }).click();
  const dialog = page.getByRole('dialog', { name: `Add roles to ${other.name}` });
  await dialog.getByRole('combobox', { name: 'Roles' }).fill(role.name);
  const option = page.getByRole('option', { name: role.name });
  await option.getByText('1 holder ·').waitFor();
  await option.click();
  await dialog.getByRole('combobox', { name: 'Roles' }).fill(second.name);
  await page.getByRole('option', { name: second.name }).click();
  await dialog.getByRole('button', { name: 'Add roles' }).click();
  await page.getByText(`2 roles were added to ${other.name}.`).waitFor();
  await page.locator('button:focus', { hasText: 'Add roles' }).waitFor();
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText('This group has no roles of its own.').waitFor();
  await itemOf(page, leaf.name).click();
  await page.getByRole('link', { name: role.name }).waitFor();
});

test('an Undo keeps what somebody else has changed since, and says so in the language of the person', async (t) => {
  const { admin, leaf, role } = await seed();
  const { page } = await openAs(t, site, `/role-groups?g=${leaf.id}`, {
    expected: ['412'],
    context: { locale: 'de-DE' },
  });
  await page.getByRole('button', { name: `${role.name} aus ${leaf.name} entfernen` }).click();
  await page.getByText(`${role.name} wurde aus ${leaf.name} entfernt.`).waitFor();
  await admin.put(`/api/v1/role-groups/${leaf.id}`, { description: 'Of somebody else' });
  await page.getByRole('button', { name: 'Rückgängig' }).click();
  const message = page.getByRole('alert').filter({ hasText: 'Jemand anderes hat diesen Datensatz' });
  await message.getByRole('button', { name: 'Neu laden' }).click();
  await page.getByText('Of somebody else').waitFor();
});

test('after a role is removed by the keyboard, the next one has the focus', async (t) => {
  const { admin, leaf, role } = await seed();
  const last = await makeRole(admin, { name: newName('Last'), role_group_id: leaf.id });
  const { page } = await openAs(t, site, `/role-groups?g=${leaf.id}`);
  await page.getByRole('button', { name: `Remove ${role.name} from ${leaf.name}` }).press('Enter');
  await page.locator(`button:focus[aria-label="Remove ${last.name} from ${leaf.name}"]`).waitFor();
  await page.keyboard.press('Enter');
  await page.locator('.group-roles-box:focus', { hasText: 'This group has no roles of its own.' }).waitFor();
});

test('the tab Activity shows what happened to the group', async (t) => {
  const { leaf } = await seed();
  const { page } = await openAs(t, site, `/role-groups?g=${leaf.id}`);
  await page.getByRole('tab', { name: 'Activity' }).click();
  await page.waitForURL('**tab=activity');
  await page.locator('.entry', { hasText: leaf.name }).first().waitFor();
  await assertAccessible(page, 'the activity of a role group');
});

test('a rename that meets another change asks field by field', async (t) => {
  const { admin, other } = await seed();
  const { page } = await openAs(t, site, `/role-groups?g=${other.id}`, { expected: ['412'] });
  await page.getByRole('button', { name: `Actions for ${other.name}` }).click();
  await page.getByRole('menuitem', { name: 'Edit details' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill(`${other.name} mine`);
  await dialog.getByLabel('Description').fill('Mine');
  await admin.put(`/api/v1/role-groups/${other.id}`, { name: `${other.name} theirs` });
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByLabel('Yours: Mine').waitFor();
  await page.getByLabel(`Stored now: ${other.name} theirs`).check();
  await page.getByRole('button', { name: 'Save this choice' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  const { body } = await admin.get(`/api/v1/role-groups/${other.id}`);
  assert.deepEqual(
    { name: body.data.name, description: body.data.description },
    { name: `${other.name} theirs`, description: 'Mine' },
  );
});

test('people who may only read cannot move, and read why', async (t) => {
  const { other } = await seed();
  const reader = await addUser(site.service);
  await site.service.sql(
    "insert into user_roles (user_id, role_id) select $1, id from roles where name = 'Manager'",
    [reader.id],
  );
  const { page } = await openAs(t, site, `/role-groups?g=${other.id}`, { as: reader });
  const move = page.getByRole('button', { name: 'Move to…' });
  assert.equal(await move.getAttribute('aria-description'), 'You need the permission role_group.update.');
  await itemOf(page, other.name).focus();
  await page.keyboard.press('m');
  assert.equal(await page.getByRole('dialog').count(), 0);
});

test('the palette offers what can be done with the chosen group', async (t) => {
  const { top, leaf } = await seed();
  const { page } = await openAs(t, site, `/role-groups?g=${leaf.id}`);
  await page.getByRole('region', { name: leaf.name }).waitFor();
  await page.keyboard.press('Control+k');
  const palette = page.getByRole('dialog').getByRole('combobox');
  // The group has a role, so it cannot be deleted.
  await palette.fill(leaf.name);
  await page.getByRole('option', { name: `Clone · ${leaf.name}` }).waitFor();
  assert.equal(await page.getByRole('option', { name: `Delete · ${leaf.name}` }).count(), 0);
  await page.getByRole('option', { name: `Move to… · ${leaf.name}` }).click();
  const dialog = page.getByRole('dialog', { name: `Move ${leaf.name}` });
  await dialog.getByText(top.name, { exact: true }).waitFor();
});
