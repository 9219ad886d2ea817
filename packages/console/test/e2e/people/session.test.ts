// What happens to the page when the session, the network or the service changes under it.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ADMIN, createVerifiedUser } from '@castellan/testing/harness';
import type { Page } from 'playwright-core';
import { heading, openAs, startConsole } from '../../harness.ts';

const site = await startConsole({ after });
const { email } = await createVerifiedUser(site.service);

const menu = (page: Page) => page.getByRole('navigation', { name: 'Pages' });
const people = (page: Page) => page.getByRole('table').getByText(email);

/** Removes all access tokens from the allowlist, as their expiry does. Sessions live on. */
const expireAccessTokens = () => site.service.sql("delete from session_tokens where kind = 'access'");

const refreshes = (page: Page): string[] => {
  const found: string[] = [];
  page.on('request', (request) => {
    if (request.url().endsWith('/auth/new_access_token')) found.push(request.url());
  });
  return found;
};

test('an expired token is replaced once for all requests of a page', async (t) => {
  const { page } = await openAs(t, site, '/overview', { expected: ['401'] });
  await heading(page).waitFor();
  await page.waitForLoadState('networkidle');
  const asked = refreshes(page);
  await expireAccessTokens();
  await menu(page).getByRole('link', { name: 'Users', exact: true }).click();
  await people(page).waitFor();
  assert.equal(asked.length, 1);
});

test('a second tab takes the session over without a refresh, and both sign out together', async (t) => {
  const { page } = await openAs(t, site, '/overview');
  await heading(page).waitFor();
  const second = await page.context().newPage();
  const asked = refreshes(second);
  await second.goto('/users');
  await people(second).waitFor();
  assert.equal(asked.length, 0);
  await second.getByRole('button', { name: /^Account of/ }).click();
  await second.getByRole('menuitem', { name: 'Sign out' }).click();
  await second.waitForURL('**/login*');
  await page.waitForURL('**/login*');
});

test('what was typed survives a session that ends elsewhere, and the form is sent after signing in again', async (t) => {
  const { page } = await openAs(t, site, '/users/new', { expected: ['401'] });
  await page.getByLabel('First name').fill('Grace');
  await page.getByLabel('Last name').fill('Hopper');
  await page.getByLabel('Email', { exact: false }).first().fill('grace@example.com');
  const [{ id } = { id: '' }] = await site.service.sql<{ id: string }>(
    'select id from users where email = $1',
    [ADMIN.email],
  );
  await site.service.sql('update users set session_epoch = session_epoch + 1 where id = $1', [id]);
  await page.getByRole('button', { name: 'Create user' }).click();
  const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
  await dialog.getByLabel(/^Password/).fill(ADMIN.password);
  await dialog.getByRole('button', { name: 'Sign in', exact: true }).click();
  await dialog.waitFor({ state: 'detached' });
  await page.getByText('Grace Hopper').first().waitFor();
  const created = await site.service.sql("select 1 from users where email = 'grace@example.com'");
  assert.equal(created.length, 1);
});

test('after signing out nothing of the person stays, also with unsaved input', async (t) => {
  const { page } = await openAs(t, site, `/users?q=${encodeURIComponent(email)}`);
  const questions: string[] = [];
  page.on('dialog', (dialog) => {
    questions.push(dialog.type());
    void dialog.dismiss();
  });
  await page
    .getByRole('button', { name: new RegExp(email) })
    .first()
    .click();
  await page.getByLabel('First name').fill('Typed');
  await page.getByRole('button', { name: /^Account of/ }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.waitForURL('**/login*');
  assert.deepEqual(questions, []);
  assert.equal(new URL(page.url()).search, '');
});

test('offline is said, and the page goes on when the network is back', async (t) => {
  const { page } = await openAs(t, site, '/overview', { expected: ['ERR_INTERNET_DISCONNECTED'] });
  await heading(page).waitFor();
  await page.waitForLoadState('networkidle');
  await page.context().setOffline(true);
  await page.getByText('You are offline').waitFor();
  await page.context().setOffline(false);
  await page.getByText('You are offline').waitFor({ state: 'detached' });
  await menu(page).getByRole('link', { name: 'Users', exact: true }).click();
  await people(page).waitFor();
});

test('a failed list says so and can be tried again', async (t) => {
  const { page } = await openAs(t, site, '/overview', { expected: ['500'] });
  await heading(page).waitFor();
  await page.route('**/api/v1/users?**', (route) =>
    route.fulfill({
      status: 500,
      contentType: 'application/json',
      body: JSON.stringify({ detail: 'Something failed.', code: 'internal_error', request_id: 'r-1' }),
    }),
  );
  await menu(page).getByRole('link', { name: 'Users', exact: true }).click();
  const alert = page.getByRole('alert').filter({ hasText: 'Something failed.' });
  await alert.waitFor();
  await page.unroute('**/api/v1/users?**');
  await alert.getByRole('button', { name: 'Try again' }).click();
  await people(page).waitFor();
});

test('a slow network shows the frame and grey rows first', async (t) => {
  const { page } = await openAs(t, site, '/overview');
  await heading(page).waitFor();
  let release = (): void => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route('**/api/v1/users?**', async (route) => {
    await held;
    await route.continue();
  });
  await menu(page).getByRole('link', { name: 'Users', exact: true }).click();
  const waiting = page.locator('.table-card[aria-busy="true"]');
  await waiting.waitFor();
  assert.equal(await heading(page).textContent(), 'Users');
  release();
  await people(page).waitFor();
  assert.equal(await waiting.count(), 0);
});

test('a refresh that must wait says so, and then the page opens', async (t) => {
  const { page } = await openAs(t, site, '/docs/errors', { expected: ['429'] });
  let refusals = 0;
  await page.route('**/api/v1/auth/new_access_token', (route) => {
    refusals += 1;
    if (refusals > 1) return route.continue();
    return route.fulfill({
      status: 429,
      headers: { 'retry-after': '4', 'content-type': 'application/json' },
      body: JSON.stringify({ detail: 'Too many requests.', code: 'rate_limited', request_id: 'r-2' }),
    });
  });
  await page.goto('/account');
  await page.getByRole('status').filter({ hasText: 'Reconnecting' }).waitFor();
  await heading(page).waitFor();
  assert.equal(await heading(page).textContent(), 'My account');
});
