// Requests of the console as curl commands, from the palette.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { ADMIN } from '@castellan/testing/harness';
import type { Page } from 'playwright-core';
import { assertAccessible } from '../accessibility.ts';
import { openAs, startConsole } from '../harness.ts';

const site = await startConsole({ after });
const dialog = (page: Page) => page.getByRole('dialog', { name: 'Copy as curl' });

/** Runs the command as it is, but for the host, which only the browser of the test knows. */
async function run(command: string): Promise<{ data: { total: number } }> {
  const { body } = await site.service.client().login(ADMIN);
  // The service runs in this process, so nothing here may block it.
  const { stdout } = await promisify(execFile)(
    'sh',
    ['-c', command.replace('http://castellan.test', site.service.url)],
    { env: { ...process.env, CASTELLAN_TOKEN: body.data.access_token } },
  );
  return JSON.parse(stdout);
}

test('the list of the page is read from a shell, with its filters', async (t) => {
  const { page } = await openAs(t, site, '/users?status=active&q=admin');
  await page.locator('[data-row]').first().waitFor();
  await page.keyboard.press('Control+k');
  await page.getByRole('dialog').getByRole('combobox').fill('curl');
  await page
    .getByRole('dialog')
    .getByRole('option', { name: /GET \/api\/v1\/users\?/ })
    .first()
    .click();
  const command = (await dialog(page).locator('pre').textContent()) ?? '';
  assert.match(command, /status=active/);
  assert.match(command, /search=admin/);
  assert.match(command, /--header "Authorization: Bearer \$CASTELLAN_TOKEN"/);
  await assertAccessible(page, 'the command');
  assert.equal((await run(command)).data.total, 1);
  await dialog(page).locator('button:focus', { hasText: 'Copy' }).waitFor();
  await page.keyboard.press('Escape');
  await dialog(page).waitFor({ state: 'detached' });
});

test('the last write is offered first, without its password', async (t) => {
  const { page } = await openAs(t, site, '/users/new');
  await page.getByLabel('Email').fill('oneil@example.com');
  await page.getByLabel('First name').fill("O'Neil");
  await page.getByRole('button', { name: 'Create user' }).click();
  await page.getByRole('heading', { name: "O'Neil was created" }).waitFor();
  const password = await page.getByLabel('Password').inputValue();
  await page.keyboard.press('Control+k');
  await page.getByRole('dialog').getByRole('combobox').fill('curl');
  const first = page.getByRole('dialog').getByRole('option').filter({ hasText: 'curl' }).first();
  assert.match((await first.textContent()) ?? '', /POST \/api\/v1\/users$/);
  await first.click();
  const command = (await dialog(page).locator('pre').textContent()) ?? '';
  assert.ok(password.length > 10 && !command.includes(password));
  assert.match(command, /"password":"'"\$PASSWORD"'"/);
  assert.ok(command.includes("O'\\''Neil"), command);
});
