// The page Access explorer: the answer and its reason, granting, holders, comparing, and what people without permissions see.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, test } from 'node:test';
import { ADMIN, createVerifiedUser, PASSWORD } from '@castellan/testing/harness';
import type { Page } from 'playwright-core';
import { assertAccessible } from '../../accessibility.ts';
import { openAs, startConsole } from '../../harness.ts';

const site = await startConsole({ after });
const client = site.service.client();
await client.login(ADMIN);
const created = async (path: string, body: object): Promise<string> => {
  const { status, body: answer } = await client.post(path, body);
  assert.equal(status, 201, JSON.stringify(answer));
  return answer.data.id;
};

const group = await created('/api/v1/permission-groups', { name: 'orders' });
const read = await created('/api/v1/permissions', { name: 'read', group_id: group });
const refund = await created('/api/v1/permissions', { name: 'refund', group_id: group });
const reader = await created('/api/v1/roles', { name: 'Order reader', permission_ids: [read] });
const desk = await created('/api/v1/roles', { name: 'Order desk', permission_ids: [read, refund] });
const company = await created('/api/v1/role-groups', { name: 'Company' });
const sales = await created('/api/v1/role-groups', { name: 'Sales', parent_id: company });
await client.post(`/api/v1/role-groups/${sales}/roles`, { role_ids: [reader] });

const ada = await createVerifiedUser(site.service, { firstName: 'Ada', lastName: 'Reader' });
const bob = await createVerifiedUser(site.service, { firstName: 'Bob', lastName: 'Desk' });
const eve = await createVerifiedUser(site.service, { firstName: 'Eve', lastName: 'Asleep' });
for (const [user, role] of [
  [ada, reader],
  [bob, desk],
  [eve, reader],
] as const)
  await client.post('/api/v1/access/changes', { changes: [{ user_id: user.id, add_role_ids: [role] }] });
await site.service.sql('update users set is_active = false where email = $1', [eve.email]);

// Signing in as the same person again and again ends the oldest session, so the client is used only here.
const auditing = await client.get('/api/v1/permissions?size=100');
const auditor = await createVerifiedUser(site.service);
const auditorRole = await created('/api/v1/roles', {
  name: 'Auditor',
  permission_ids: auditing.body.data
    .filter(({ name }: { name: string }) => ['access.explain', 'users.read', 'user.read'].includes(name))
    .map(({ id }: { id: string }) => id),
});
await client.post('/api/v1/access/changes', {
  changes: [{ user_id: auditor.id, add_role_ids: [auditorRole] }],
});

const answer = (page: Page) => page.locator('.verdict');

test('the answer is yes, with the role and its role group', async (t) => {
  const { page } = await openAs(t, site, `/access?user=${ada.id}&permission=orders.read`);
  await page.getByRole('heading', { name: 'Yes, Ada Reader has orders.read' }).waitFor();
  const ways = page.getByRole('list', { name: 'Roles that grant it' });
  assert.match((await ways.textContent()) ?? '', /Order reader.*Company › Sales/);
  await assertAccessible(page);
  await ways.getByRole('link', { name: 'Order reader' }).click();
  await page.waitForURL(`**/roles/${reader}`);
});

test('a person and a permission are found by typing, and are in the address', async (t) => {
  const { page } = await openAs(t, site, '/access');
  await page.getByRole('combobox', { name: 'Person' }).fill('Bob De');
  await page.getByRole('option', { name: /Bob Desk/ }).click();
  await page.getByRole('combobox', { name: 'Permission' }).fill('refund');
  await page.getByRole('option', { name: 'orders.refund' }).click();
  await page.getByRole('heading', { name: 'Yes, Bob Desk has orders.refund' }).waitFor();
  assert.equal(new URL(page.url()).search, `?user=${bob.id}&permission=orders.refund`);
});

test('without a permission, everything that the person may do is listed, each with its source', async (t) => {
  const { page } = await openAs(t, site, `/access?user=${ada.id}`);
  const line = page.getByRole('listitem').filter({ hasText: 'orders.read' });
  assert.match((await line.textContent()) ?? '', /Order reader.*Company › Sales/);
  await assertAccessible(page);
  await page.getByRole('textbox', { name: 'Filter permissions' }).fill('orders.refund');
  await page.getByText('None of these permissions contains “orders.refund”.').waitFor();
  await page.getByRole('link', { name: 'Ask the access explorer' }).click();
  await page.getByRole('heading', { name: 'No, Ada Reader does not have orders.refund' }).waitFor();
});

test('an inactive account and a superuser are marked in the list of what they may do', async (t) => {
  const { page } = await openAs(t, site, `/access?user=${eve.id}`);
  await page.getByText('Inactive: may do nothing now.').waitFor();
  await page.goto('/access');
  await page.getByRole('combobox', { name: 'Person' }).fill('admin@');
  await page.getByRole('option', { name: /admin@example.com/ }).click();
  await page.getByText('Superuser: holds every permission').waitFor();
});

test('an unknown permission and an inactive account are told', async (t) => {
  const { page } = await openAs(t, site, `/access?user=${ada.id}&permission=orders.print`);
  await answer(page).getByText('There is no permission of this name.').waitFor();
  await page.goto(`/access?user=${eve.id}&permission=orders.read`);
  await answer(page).getByText('The account is inactive, so it may do nothing.').waitFor();
  await page.getByText('Where it would come from if the account were active').waitFor();
});

test('a role that grants it is assigned after its impact is shown, and can be undone', async (t) => {
  const { page } = await openAs(t, site, `/access?user=${ada.id}&permission=orders.refund`);
  await page.getByRole('heading', { name: 'No, Ada Reader does not have orders.refund' }).waitFor();
  const nearest = page.locator('.nearest li').filter({ hasText: 'Order desk' });
  await nearest.getByText('Adds nothing else.').waitFor();
  await nearest.getByRole('button', { name: 'Grant…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Grant orders.refund to Ada Reader' });
  await dialog.getByText('1 gains orders.refund').waitFor();
  await dialog.getByRole('button', { name: 'Assign the role' }).click();
  await page.getByRole('heading', { name: 'Yes, Ada Reader has orders.refund' }).waitFor();
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByRole('heading', { name: 'No, Ada Reader does not have orders.refund' }).waitFor();
  const [{ count } = { count: '' }] = await site.service.sql<{ count: string }>(
    'select count(*) from user_roles where user_id = $1 and role_id = $2',
    [ada.id, desk],
  );
  assert.equal(Number(count), 0);
});

test('everybody who holds a permission is listed and exported', async (t) => {
  const { page } = await openAs(t, site, '/access?view=holders&permission=orders.read');
  await page.getByRole('heading', { name: '4 holders of orders.read' }).waitFor();
  const row = page.getByRole('row').filter({ hasText: 'Eve Asleep' });
  assert.match((await row.textContent()) ?? '', /Inactive.*Order reader/);
  await assertAccessible(page);
  await page.getByRole('button', { name: 'Export' }).click();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('menuitem', { name: 'As CSV' }).click(),
  ]);
  const text = await readFile((await download.path()) ?? '', 'utf8');
  assert.match(text, /Bob Desk/);
  await page.getByRole('switch', { name: 'Include superusers' }).uncheck();
  await page.getByRole('button', { name: /Bob Desk/ }).click();
  await page.getByRole('heading', { name: 'Yes, Bob Desk has orders.read' }).waitFor();
});

test('two people are compared, with the roles of each', async (t) => {
  const { page } = await openAs(t, site, `/access?view=compare&user=${ada.id}&other=${bob.id}`);
  const column = (name: RegExp) =>
    page.locator('.compare section').filter({ has: page.getByRole('heading', { name }) });
  await column(/^Only Bob Desk \(1\)/)
    .getByText('orders.refund')
    .waitFor();
  await column(/^Only Ada Reader \(0\)/)
    .getByText('Nothing')
    .waitFor();
  const both = (await column(/^Both/).textContent()) ?? '';
  assert.match(both, /orders\.read.*Order reader.*Order desk/);
  await assertAccessible(page);
  await page.getByRole('button', { name: 'Swap the two people' }).click();
  await page.waitForURL(new RegExp(`user=${bob.id}&other=${ada.id}|other=${ada.id}.*user=${bob.id}`));
  await page.getByRole('switch', { name: 'Only differences' }).check();
  await column(/^Both/).waitFor({ state: 'detached' });
});

test('a person without permissions asks about themselves only', async (t) => {
  const { page } = await openAs(t, site, `/access?user=${bob.id}&permission=orders.read&view=compare`, {
    as: { email: ada.email, password: PASSWORD },
  });
  await page.getByRole('heading', { name: 'Yes, Ada Reader has orders.read' }).waitFor();
  assert.equal(await page.getByRole('tab').count(), 0);
  await page.getByText('You need the permission access.explain.').waitFor();
  const permission = page.getByRole('combobox', { name: 'Permission' });
  await permission.fill('orders.refund');
  await permission.press('Enter');
  await page.getByText('Ask an administrator for a role that grants it.').waitFor();
  await assertAccessible(page);
});

test('without the permission to change access, granting is disabled with its reason', async (t) => {
  const { page } = await openAs(t, site, `/access?user=${ada.id}&permission=orders.refund`, {
    as: { email: auditor.email, password: PASSWORD },
  });
  const grant = page.getByRole('button', { name: 'Grant…' }).first();
  await grant.focus();
  await page.getByText('You need the permission access.change.').waitFor();
  assert.equal(await grant.getAttribute('aria-disabled'), 'true');
  await grant.press('Enter');
  assert.equal(await page.getByRole('dialog').count(), 0);
});
