// The settings in force, read-only, and the API reference in the frame.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createVerifiedUser, PASSWORD } from '@castellan/testing/harness';
import { assertAccessible } from '../accessibility.ts';
import { heading, openAs, startConsole } from '../harness.ts';

const site = await startConsole({ after }, { ACCOUNT_LOCKOUT_ATTEMPTS: '4' });

test('settings are found by name or text, in groups, and say whether they are set', async (t) => {
  const { page } = await openAs(t, site, '/settings');
  const row = page.getByRole('listitem').filter({ hasText: 'ACCOUNT_LOCKOUT_ATTEMPTS' });
  await row.getByText('set', { exact: true }).waitFor();
  await row.getByText('4', { exact: true }).waitFor();
  await page.getByRole('region', { name: 'Accounts and passwords' }).waitFor();
  await page.getByLabel('Filter settings').fill('lockout_attempts');
  await page.waitForURL('**/settings?q=lockout_attempts');
  assert.equal(await page.locator('.settings-list > li').count(), 1);
  await page.reload();
  await row.waitFor();
  assert.equal(await page.locator('.settings-list > li').count(), 1);
  await page.getByLabel('Filter settings').fill('no such setting');
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await page.getByRole('region', { name: 'Mail' }).waitFor();
});

test('no secret is shown, and the page tells version and health', async (t) => {
  const { page } = await openAs(t, site, '/settings');
  const secret = page.getByRole('listitem').filter({ hasText: 'SECRET_KEY' });
  await secret.getByText('secret, not shown').waitFor();
  const about = page.getByRole('region', { name: 'About this service' });
  await about.getByText(/^\d+\.\d+\.\d+$/).waitFor();
  await about.getByText('Ready', { exact: true }).waitFor();
  await assertAccessible(page);
});

test('a failed request is told, and the next try shows the settings', async (t) => {
  const { page } = await openAs(t, site, '/overview', { expected: ['ERR_FAILED', '503'] });
  await heading(page).waitFor();
  await page.route('**/api/v1/settings', (route) =>
    route.fulfill({
      status: 503,
      contentType: 'application/json',
      body: JSON.stringify({ detail: 'The service is busy.', code: 'overloaded', request_id: 'r' }),
    }),
  );
  await page.getByRole('link', { name: 'Settings' }).click();
  await page.getByRole('alert').waitFor();
  await page.unroute('**/api/v1/settings');
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('region', { name: 'Mail' }).waitFor();
});

test('who may not read settings learns which permission that needs', async (t) => {
  const { email } = await createVerifiedUser(site.service);
  const { page } = await openAs(t, site, '/settings', { as: { email, password: PASSWORD } });
  await page.getByText('settings.read').waitFor();
});

test('the reference in the frame sends requests as the person, and its script loads only there', async (t) => {
  const { page } = await openAs(t, site, '/settings');
  await heading(page).waitFor();
  assert.equal(await page.locator('script[src*="viewer.js"]').count(), 0);
  await page.goto('/reference#tag/users/GET/api/v1/users/me');
  await page
    .getByRole('searchbox')
    .or(page.getByRole('button', { name: /search/i }))
    .first()
    .waitFor();
  const open = page.getByRole('button', { name: /Test Request.*users\/me\b/ }).first();
  await open.click();
  const answered = page.waitForResponse((response) =>
    new URL(response.url()).pathname.endsWith('/api/v1/users/me'),
  );
  await page.getByRole('button', { name: /^Send/ }).first().click();
  assert.equal((await answered).status(), 200);
});
