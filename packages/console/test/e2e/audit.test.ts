// The page Audit log: filters in the address, details, export, saved filters, live entries, refusals.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { after, test } from 'node:test';
import { createVerifiedUser, PASSWORD } from '@castellan/testing/harness';
import type { Page } from 'playwright-core';
import { assertAccessible } from '../accessibility.ts';
import { openAs, startConsole } from '../harness.ts';

const site = await startConsole({ after });
const person = await createVerifiedUser(site.service);

/** Writes an entry, as old as wanted. */
const writeEntry = async (
  action: string,
  details: object,
  minutesAgo = 0,
  name = person.email,
): Promise<void> => {
  await site.service.sql(
    `insert into audit_logs (id, actor_id, actor_type, actor_email, action, resource_type, resource_id, resource_name,
       details, "timestamp")
     values (gen_random_uuid(), $1::uuid, 'user', $2::text, $3, 'user', $1::text, $6, $4, now() - $5::int * interval '1 minute')`,
    [person.id, person.email, action, JSON.stringify(details), minutesAgo, name],
  );
};
await writeEntry('user_updated', {
  address: '203.0.113.9',
  before: { is_active: true, roles: ['Editor'] },
  after: { is_active: false, roles: ['Finance'] },
});
await writeEntry('login_failed', { address: '203.0.113.9', reason: 'wrong_password' }, 1);

const entries = (page: Page) => page.locator('.entry');

test('filters are in the address, show as chips and can be removed', async (t) => {
  const { page } = await openAs(t, site, '/audit');
  await page.getByRole('button', { name: '203.0.113.9' }).first().click();
  await page.waitForURL('**/audit?address=203.0.113.9');
  await page.getByLabel('Result', { exact: true }).selectOption('failure');
  await page.waitForURL(/result=failure/);
  await page.getByText(`A sign-in as ${person.email} was refused`).waitFor();
  assert.equal(await entries(page).count(), 1);
  assert.match((await entries(page).textContent()) ?? '', /Refused.*wrong password.*login_failed/);
  await page.getByRole('button', { name: 'Remove the filter Result: Refused' }).click();
  await entries(page).filter({ hasText: 'changed the user' }).waitFor();
  assert.equal(await entries(page).count(), 2);
  await page.goBack();
  await page.waitForURL(/result=failure/);
  await page.waitForFunction('document.querySelectorAll(".entry").length === 1');
});

test('an entry opens beside the list, with its changes and facts', async (t) => {
  const { page } = await openAs(t, site, '/audit?action=user_updated');
  await page.getByRole('button', { name: /^Details: .* changed the user/ }).click();
  const pane = page.getByRole('complementary', { name: 'Entry' });
  const changes = pane.getByRole('table', { name: 'Changes' });
  await changes.getByText('removed: Editor').waitFor();
  assert.equal(await changes.getByRole('row').count(), 3);
  await changes.getByText('added: Finance').waitFor();
  await pane.getByText('As JSON').click();
  await pane.getByText('"is_active": false').waitFor();
  await assertAccessible(page);
  await page.keyboard.press('Escape');
  await pane.waitFor({ state: 'detached' });
});

test('a link to an entry works although the filters leave it out', async (t) => {
  await openAs(t, site, '/account');
  const [{ id } = { id: '' }] = await site.service.sql<{ id: string }>(
    "select id from audit_logs where action = 'login_succeeded' limit 1",
  );
  const { page } = await openAs(t, site, `/audit?action=user_updated&entry=${id}`);
  await page.getByRole('heading', { name: 'admin@example.com signed in' }).waitFor();
});

test('the arrow keys move between entries and show the next one', async (t) => {
  const { page } = await openAs(t, site, '/audit?address=203.0.113.9');
  await entries(page)
    .first()
    .getByRole('button', { name: /^Details/ })
    .click();
  const pane = page.getByRole('complementary', { name: 'Entry' });
  await pane.getByRole('heading', { name: /changed the user/ }).waitFor();
  await page.keyboard.press('ArrowDown');
  await pane.getByRole('heading', { name: /was refused/ }).waitFor();
});

test('the export has exactly the filtered entries', async (t) => {
  const { page } = await openAs(t, site, '/audit?address=203.0.113.9&result=failure');
  await entries(page).first().waitFor();
  await page.getByRole('button', { name: 'Export' }).click();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('menuitem', { name: 'As CSV' }).click(),
  ]);
  assert.equal(download.suggestedFilename(), 'audit-log.csv');
  const lines = (await readFile((await download.path()) ?? '', 'utf8')).trim().split(/\r?\n/);
  assert.equal(lines.length, 2, lines.join('\n'));
  assert.match(lines[1] ?? '', /login_failed/);
  await page.getByText('audit-log.csv is complete.').waitFor();
});

test('a saved filter is applied after a reload', async (t) => {
  const { page } = await openAs(t, site, '/audit?action=login_failed');
  await page.getByRole('button', { name: 'Saved filters' }).click();
  await page.getByLabel('Save the current filters as').fill('Refused sign-ins');
  await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByRole('button', { name: 'Refused sign-ins', exact: true }).waitFor();
  await page.goto('/audit');
  await page.getByRole('button', { name: 'Saved filters' }).click();
  await page.getByRole('button', { name: 'Refused sign-ins', exact: true }).click();
  await page.waitForURL('**/audit?action=login_failed');
});

test('while live, new entries appear by themselves', async (t) => {
  const { page } = await openAs(t, site, '/audit?action=role_created');
  await page.getByText('Nothing matches these filters.').waitFor();
  await page.getByRole('switch', { name: 'Live' }).check();
  await writeEntry('role_created', {});
  await entries(page).filter({ hasText: 'created the role' }).waitFor({ timeout: 8_000 });
});

test('older entries load on demand', async (t) => {
  await site.service.sql(
    `insert into audit_logs (id, action, resource_type, resource_id, details, "timestamp")
     select gen_random_uuid(), 'csrf_refused', 'security_event', '', '{}', now() - n * interval '1 minute'
     from generate_series(1, 60) n`,
  );
  const { page } = await openAs(t, site, '/audit?action=csrf_refused');
  await page.getByRole('button', { name: 'Load older' }).click();
  await page.getByText('No older entries').waitFor();
  assert.equal(await entries(page).count(), 60);
});

test('a failure keeps the entries and can be tried again', async (t) => {
  const { page } = await openAs(t, site, '/audit?action=csrf_refused', { expected: ['500'] });
  await entries(page).first().waitFor();
  const older = /\/api\/v1\/audit-logs\?.*cursor=/;
  await page.route(older, (route) =>
    route.fulfill({ status: 500, json: { detail: 'Broken.', code: 'internal_error' } }),
  );
  await page.getByRole('button', { name: 'Load older' }).click();
  await page.getByRole('alert').waitFor();
  assert.equal(await entries(page).count(), 50);
  await page.unroute(older);
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('alert').waitFor({ state: 'detached' });
});

test('a person without the permission learns which one is missing', async (t) => {
  const { page } = await openAs(t, site, '/audit', { as: { email: person.email, password: PASSWORD } });
  await page.getByText('It needs the permission audit_log.read').waitFor();
  assert.equal(await entries(page).count(), 0);
});

test('a name that looks like a template is shown in the sentence as it is', async (t) => {
  await writeEntry('user_updated', {}, 2, "$& $' {actor}");
  const [entry] = await site.service.sql<{ id: string }>(
    "select id from audit_logs where resource_name like '$&%'",
  );
  const { page } = await openAs(t, site, `/audit?entry=${entry?.id}`);
  await page.getByRole('heading', { level: 2, name: "$& $' {actor}" }).waitFor();
});

test('the chips name the filters, also what has been deleted', async (t) => {
  const gone = randomUUID();
  await site.service.sql(
    `insert into audit_logs (id, actor_id, actor_type, actor_email, action, resource_type, resource_id, resource_name, details)
     values (gen_random_uuid(), $1, 'user', 'gone@example.com', 'role_deleted', 'role', $2, 'Night shift', '{}')`,
    [randomUUID(), gone],
  );
  const { page } = await openAs(t, site, `/audit?target=${gone}&action=role_created`);
  await page.getByText('Nothing matches these filters.').waitFor();
  await page.getByRole('button', { name: 'Remove the filter Target: Night shift' }).waitFor();
  await page.goto(`/audit?target=${gone}`);
  await page.getByRole('button', { name: 'gone@example.com', exact: true }).click();
  await page.getByRole('button', { name: 'Remove the filter Actor: gone@example.com' }).waitFor();
});

test('saved filters and the number of rows are of the person, not of the browser', async (t) => {
  const { page } = await openAs(t, site, '/audit?action=login_failed');
  await page.getByRole('button', { name: 'Saved filters' }).click();
  await page.getByLabel('Save the current filters as').fill('Mine');
  await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByRole('button', { name: 'Mine', exact: true }).waitFor();
  await page.goto('/users');
  await page.getByLabel('Rows per page').selectOption('25');
  await page.goto('/users');
  assert.equal(await page.getByLabel('Rows per page').inputValue(), '25');
  const other = await createVerifiedUser(site.service);
  await site.service.sql('update users set is_superuser = true where id = $1', [other.id]);
  await page.getByRole('button', { name: /^Account of/ }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.waitForURL('**/login');
  await page.getByLabel('Email address').fill(other.email);
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
  await page.keyboard.press('Enter');
  await page.waitForURL('**/overview');
  await page.goto('/users');
  await page.getByLabel('Rows per page').waitFor();
  assert.equal(await page.getByLabel('Rows per page').inputValue(), '50');
  await page.goto('/audit?action=login_failed');
  await page.getByRole('button', { name: 'Saved filters' }).click();
  await page.getByText('No saved filters yet.').waitFor();
});

/** Writes routine entries about a record, as the service writes refreshes. */
/** With ids of version 7, as the service gives them: an entry is found by the time in its id. */
const writeRefreshes = (count: number, recordId: string): Promise<unknown> =>
  site.service.sql(
    `insert into audit_logs (id, actor_id, actor_type, actor_email, action, resource_type, resource_id, details, "timestamp")
     select (left(ms, 8) || '-' || right(ms, 4) || '-7' || substr(gen_random_uuid()::text, 16))::uuid, $2::uuid, 'user',
       'quiet@example.com', 'session_refreshed', 'security_event', $2::text, '{"address": "203.0.113.77"}', at
     from generate_series(1, $1::int) n, lateral (select now() - n * interval '1 second' as at) t,
       lateral (select lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') as ms) h`,
    [count, recordId],
  );

test('routine entries are folded, shown on request, and the address keeps it', async (t) => {
  await writeRefreshes(3, randomUUID());
  const { page } = await openAs(t, site, '/audit?address=203.0.113.77');
  await page.getByRole('heading', { name: 'Nothing but routine' }).waitFor();
  await assertAccessible(page, 'nothing but routine entries');
  await page.getByText(/3 routine entries hidden$/).waitFor();
  await page.getByRole('button', { name: 'Show routine entries' }).click();
  await page.waitForURL(/routine=show/);
  await entries(page).nth(2).waitFor();
  await page.reload();
  await entries(page).nth(2).waitFor();
  assert.equal(await entries(page).count(), 3);
  await page.getByRole('button', { name: 'Hide routine entries' }).click();
  await page.getByRole('heading', { name: 'Nothing but routine' }).waitFor();
});

test('among other entries, one line says how many routine entries are hidden', async (t) => {
  const { page } = await openAs(t, site, '/audit');
  await page.getByText(/\d routine entries hidden/).waitFor();
  assert.equal(await entries(page).filter({ hasText: 'session_refreshed' }).count(), 0);
  await page.goto('/audit?action=session_refreshed');
  await entries(page).filter({ hasText: 'session_refreshed' }).first().waitFor();
});

test('a count that is a lower bound says so', async (t) => {
  const { page } = await openAs(t, site, '/account');
  await page.route('**/api/v1/audit-logs?*', (route) =>
    route.fulfill({
      json: {
        data: [],
        next_cursor: null,
        routine_left_out: { count: 10_000, is_lower_bound: true },
        message: 'OK',
      },
    }),
  );
  await page.goto('/audit');
  await page.getByText('At least 10,000 routine entries hidden').waitFor();
});

test('a link to a routine entry opens it although the list hides it', async (t) => {
  await writeRefreshes(1, randomUUID());
  const [{ id } = { id: '' }] = await site.service.sql<{ id: string }>(
    "select id from audit_logs where action = 'session_refreshed' limit 1",
  );
  const { page } = await openAs(t, site, `/audit?entry=${id}`);
  await page.getByRole('complementary', { name: 'Entry' }).getByText('session_refreshed').first().waitFor();
});

test('the activity of a user has routine entries on request, and security events', async (t) => {
  const quiet = await createVerifiedUser(site.service);
  await writeRefreshes(2, quiet.id);
  const { page } = await openAs(t, site, `/users?user=${quiet.id}&tab=activity`);
  await page.getByText(/2 routine entries hidden/).waitFor();
  await page.getByRole('button', { name: 'Show routine entries' }).click();
  await page.waitForURL(/routine=show/);
  await entries(page).filter({ hasText: 'session_refreshed' }).first().waitFor();
  await page.reload();
  await entries(page).filter({ hasText: 'session_refreshed' }).first().waitFor();
});
