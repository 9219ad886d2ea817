// The page Overview: numbers, what needs attention, the trend, first steps, and what people without permissions see.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ADMIN, createVerifiedUser, PASSWORD } from '@castellan/testing/harness';
import type { Page } from 'playwright-core';
import { assertAccessible } from '../accessibility.ts';
import { fillWithPeople, openAs, startConsole } from '../harness.ts';

const site = await startConsole({ after });

const steps = (page: Page) => page.locator('.checklist');
const region = (page: Page, name: string) =>
  page.locator('section').filter({ has: page.getByRole('heading', { name, exact: true }) });

test('an empty service shows first steps, done by looking at its data', async (t) => {
  const { page } = await openAs(t, site, '/overview');
  await steps(page).getByText('0 of 4 done').waitFor();
  // Nobody is there who could have the roles that the service came with.
  await region(page, 'Needs attention').getByText('Nothing needs attention.').waitFor();
  await assertAccessible(page);
  const client = site.service.client();
  await client.login(ADMIN);
  const group = await client.post('/api/v1/permission-groups', { name: 'orders' });
  await client.post('/api/v1/permissions', { name: 'read', group_id: group.body.data.id });
  await page.reload();
  await steps(page).getByText('1 of 4 done').waitFor();
  assert.match(
    (await steps(page).getByRole('listitem').allTextContents()).join('|'),
    /Create permissions \(done\)/,
  );
  await steps(page).getByRole('link', { name: 'Invite a colleague' }).waitFor();
  await steps(page).getByRole('button', { name: 'Dismiss the first steps' }).click();
  await steps(page).waitFor({ state: 'detached' });
  await page.reload();
  await page.getByRole('list', { name: 'Numbers' }).waitFor();
  await page.waitForLoadState('networkidle');
  assert.equal(await steps(page).count(), 0);
});

test('numbers and what needs attention lead to their lists', async (t) => {
  const locked = await createVerifiedUser(site.service);
  await site.service.sql('delete from user_roles where user_id = $1', [locked.id]);
  const { page } = await openAs(t, site, '/overview');
  const numbers = page.getByRole('list', { name: 'Numbers' });
  await numbers.getByRole('link', { name: 'Live sessions' }).waitFor();
  assert.equal(await numbers.getByRole('link').count(), 5);
  await page.getByRole('link', { name: /1\s*permission of your product that only Admin has/ }).waitFor();
  await page.getByRole('link', { name: /roles that nobody has/ }).waitFor();
  await page.getByRole('link', { name: /user without a role/ }).click();
  await page.waitForURL('**/users?roles=none');
  await page.goBack();
  await page.getByRole('link', { name: /permission of your product/ }).click();
  await page.waitForURL(/\/permissions\?roles=none&is_builtin=false/);
  // The list says the same, and has as many.
  const chosen = page.getByRole('combobox', { name: 'Filter' }).locator('option:checked');
  assert.equal(await chosen.textContent(), 'Of your product, in no role but Admin');
  const rows = page.getByRole('table', { name: 'Permissions' }).locator('tbody tr');
  await rows.getByText('Admin only').waitFor();
  assert.equal(await rows.count(), 1);
});

test('the trend is read day by day with the keyboard, and as a table', async (t) => {
  await site.service.sql(
    `insert into activity_days (day, slot, sign_ins, refusals, registrations)
     values ((now() at time zone 'utc')::date - 1, 0, 7, 3, 0)`,
  );
  const { page } = await openAs(t, site, '/overview');
  const days = page.getByRole('slider', { name: 'Day' });
  await days.focus();
  await page.keyboard.press('ArrowLeft');
  assert.match((await days.getAttribute('aria-valuetext')) ?? '', /7 sign-ins, 3 refused$/);
  await page.getByText('As a table').click();
  const table = page.getByRole('region', { name: 'Sign-ins of the last 30 days' }).getByRole('table');
  assert.equal(await table.getByRole('row').count(), 31);
  const cells = await table.getByRole('row').nth(2).getByRole('cell').allTextContents();
  assert.deepEqual(cells, ['7', '3']);
  await assertAccessible(page);
});

test('today is not over: it has marks beside the lines, and every text says so', async (t) => {
  const { page } = await openAs(t, site, '/overview');
  const days = page.getByRole('slider', { name: 'Day' });
  // As the service counts: a day of UTC.
  const today = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short', timeZone: 'UTC' }).format();
  assert.match((await days.getAttribute('aria-valuetext')) ?? '', new RegExp(`^${today}, so far: `));
  await page.getByRole('figure').getByText('Today, so far', { exact: true }).waitFor();
  await days.focus();
  await page.keyboard.press('ArrowLeft');
  assert.doesNotMatch((await days.getAttribute('aria-valuetext')) ?? '', /so far/);
  await page.getByText('As a table').click();
  const heads = await page.getByRole('figure').getByRole('rowheader').allTextContents();
  assert.deepEqual(
    heads.filter((head) => head.includes('so far')),
    [`${today}, so far`],
  );
  // In the drawing, which is 600 wide, a day is a 29th of the width.
  const endOf = (selector: string) =>
    page.locator(selector).evaluateAll((paths) =>
      // biome-ignore lint/suspicious/noExplicitAny: the type of an element of a browser
      paths.map((path: any) => {
        const { x, width } = path.getBBox();
        return Math.round(x + width);
      }),
    );
  assert.deepEqual(await endOf('.trend-line, .trend-area'), [579, 579, 579]);
  assert.deepEqual(await endOf('.trend-mark'), [600, 600]);
});

test('sessions, sign-ins and role groups link to their pages', async (t) => {
  const { page } = await openAs(t, site, '/overview');
  await region(page, 'Recent sign-ins').getByText('admin@example.com').waitFor();
  await region(page, 'Role groups')
    .getByRole('link', { name: /^Administrative/ })
    .waitFor();
  await region(page, 'Sessions by network').getByRole('link').first().click();
  await page.waitForURL(/\/sessions\?address=/);
});

test('a failed part says so and can be tried again', async (t) => {
  const { page } = await openAs(t, site, '/account', { expected: ['500'] });
  await page.route('**/api/v1/dashboard/attention', (route) =>
    route.fulfill({ status: 500, json: { detail: 'Broken.', code: 'internal_error' } }),
  );
  await page.goto('/overview');
  const part = region(page, 'Needs attention');
  await part.getByRole('alert').waitFor();
  await page.getByRole('list', { name: 'Numbers' }).waitFor();
  await page.unroute('**/api/v1/dashboard/attention');
  await part.getByRole('button', { name: 'Try again' }).click();
  await part.getByRole('link').first().waitFor();
});

test('a person who may see settings only sees the number of users and their own pages', async (t) => {
  const { id, email } = await createVerifiedUser(site.service);
  const client = site.service.client();
  await client.login(ADMIN);
  const known = await client.get('/api/v1/permissions?size=100');
  const settings = known.body.data.find(({ name }: { name: string }) => name === 'settings.read');
  const role = await client.post('/api/v1/roles', { name: 'Operator', permission_ids: [settings.id] });
  await client.post('/api/v1/access/changes', {
    changes: [{ user_id: id, add_role_ids: [role.body.data.id] }],
  });
  const { page } = await openAs(t, site, '/overview', { as: { email, password: PASSWORD } });
  const numbers = page.getByRole('list', { name: 'Numbers' });
  await numbers.waitFor();
  assert.equal(await numbers.getByRole('listitem').count(), 1);
  assert.equal(await numbers.getByRole('link').count(), 0);
  assert.equal(await page.getByRole('heading', { name: 'Needs attention' }).count(), 0);
  await assertAccessible(page);
  await page.getByRole('main').getByRole('link', { name: 'My account' }).click();
  await page.waitForURL('**/account');
});

test('a service that the demo has filled shows no first steps', async (t) => {
  const own = await startConsole(t);
  await fillWithPeople(own, 5);
  const { page } = await openAs(t, own, '/overview');
  await page.getByRole('list', { name: 'Numbers' }).waitFor();
  await page.waitForLoadState('networkidle');
  assert.equal(await steps(page).count(), 0);
});
