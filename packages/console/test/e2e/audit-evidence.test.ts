// The evidence on the page Audit log: seals of entries, the proof that the browser verifies, the signed head, new logs.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { after, test } from 'node:test';
import { PASSKEY_ORIGIN } from '@castellan/testing/e2e/browser';
import { ADMIN, signIn } from '@castellan/testing/harness';
import type { Page } from 'playwright-core';
import { assertAccessible } from '../accessibility.ts';
import { type Console, openAs, startConsole } from '../harness.ts';
import { photograph } from '../pictures.ts';

// In a secure context, browsers hash.
const site = await startConsole({ after }, { PUBLIC_URL: PASSKEY_ORIGIN });
const context = { baseURL: PASSKEY_ORIGIN };
const ADDRESS = '203.0.113.9';

const write = async ({ service }: Console, name: string): Promise<string> => {
  const id = randomUUID();
  await service.sql(
    `insert into audit_logs (id, action, resource_type, resource_id, resource_name, details)
     values ($1::uuid, 'role_created', 'role', $1::text, $2, $3)`,
    [id, name, JSON.stringify({ address: ADDRESS, after: { name } })],
  );
  return id;
};
const seal = ({ service }: Console): Promise<void> => service.service.deps.sealer.run();

const entry = (page: Page, name: string) => page.locator('.entry').filter({ hasText: name });
const evidence = (page: Page) =>
  page.getByRole('complementary', { name: 'Entry' }).getByRole('region', { name: 'Evidence' });
const open = (page: Page, name: string) =>
  entry(page, name)
    .getByRole('button', { name: /^Details/ })
    .click();

test('the browser verifies the proof of an entry, and the file has it', async (t) => {
  const id = await write(site, 'Kept');
  await seal(site);
  const { page } = await openAs(t, site, `/audit?address=${ADDRESS}`, { context });
  assert.match((await entry(page, 'Kept').textContent()) ?? '', /Seal \d/);
  await open(page, 'Kept');
  await evidence(page).getByRole('button', { name: 'Proof', exact: true }).click();
  await evidence(page).getByText('The personal data is what was sealed.').waitFor();
  const found = (await evidence(page).getByRole('listitem').allTextContents()).join('\n');
  assert.match(
    found,
    /^passed: The entry is in seal \d+\.\npassed: The seal is in the signed head of \d+ seals\./,
  );
  await assertAccessible(page);
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    evidence(page).getByRole('button', { name: 'Download the proof' }).click(),
  ]);
  assert.equal(download.suggestedFilename(), `audit-proof-${id}.json`);
  const admin = await signIn(site.service, ADMIN);
  const { body } = await admin.get(`/api/v1/audit-logs/${id}/proof`);
  const saved = JSON.parse(await readFile((await download.path()) ?? '', 'utf8'));
  assert.deepEqual([saved.entry, saved.path, saved.seal], [body.data.entry, body.data.path, body.data.seal]);
});

test('an entry that was changed after its seal does not pass', async (t) => {
  const id = await write(site, 'Altered');
  await seal(site);
  await site.service.sql("update audit_logs set resource_id = 'other' where id = $1", [id]);
  const { page } = await openAs(t, site, `/audit?address=${ADDRESS}`, { context, expected: ['409'] });
  await open(page, 'Altered');
  await evidence(page).getByRole('button', { name: 'Proof', exact: true }).click();
  await evidence(page)
    .getByText(/^failed: The entry, or another one in seal \d+, is not what was sealed\.$/)
    .waitFor();
  assert.equal(await evidence(page).getByRole('button', { name: 'Download the proof' }).count(), 0);
});

test('the signed head is what the service signed, and can be downloaded', async (t) => {
  await seal(site);
  const { page } = await openAs(t, site, '/audit', { context });
  await page.getByRole('button', { name: 'Sealed log' }).click();
  const dialog = page.getByRole('dialog', { name: 'Sealed log' });
  await dialog.getByText('The log has never gone on in a new one.').waitFor();
  const note = await dialog.locator('pre').textContent();
  const [, size] = (note ?? '').split('\n');
  const admin = await signIn(site.service, ADMIN);
  assert.equal(note, (await admin.get(`/api/v1/audit-logs/head?size=${size}`)).text);
  await assertAccessible(page);
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    dialog.getByRole('button', { name: 'Download' }).click(),
  ]);
  assert.equal(await readFile((await download.path()) ?? '', 'utf8'), note);
  await dialog.getByRole('button', { name: 'Close' }).click();
  await dialog.waitFor({ state: 'detached' });
});

test('while sealing is off, the page says so; entries wait, are erased, or were inserted', async (t) => {
  const off = await startConsole(t, { AUDIT_SEALING: 'off' });
  const erased = await write(off, 'Erased');
  const [hole] = await off.service.sql<{ position: string }>(
    `select nextval('audit_logs_position_seq') as position`,
  );
  await write(off, 'Old');
  await seal(off);
  await off.service.sql(`update audit_missing set since = since - interval '1 hour'`);
  await seal(off);
  const inserted = await write(off, 'Inserted');
  await off.service.sql('update audit_logs set position = $2 where id = $1', [inserted, hole?.position]);
  const admin = await signIn(off.service, ADMIN);
  const { body } = await admin.get(`/api/v1/audit-logs/${erased}/proof`);
  await off.service.sql(
    `update audit_logs set personal_hash = decode($2, 'base64'), salt = null where id = $1`,
    [erased, body.data.entry.personal_hash],
  );
  await write(off, 'New');
  const { page } = await openAs(t, off, `/audit?address=${ADDRESS}`);
  await page.getByText('AUDIT_SEALING is off').waitFor();
  const marks = async (name: string): Promise<string> => (await entry(page, name).textContent()) ?? '';
  assert.match(await marks('Erased'), /Seal \d+Personal data erased/);
  assert.match(await marks('Old'), /Seal \d+$/);
  assert.match(await marks('Inserted'), /Inserted later$/);
  assert.match(await marks('New'), /Not sealed yet$/);
  await open(page, 'New');
  await evidence(page).getByText('New entries are sealed within some ten seconds.').waitFor();
  assert.equal(await evidence(page).getByRole('button').count(), 0);
  // The page is not from HTTPS.
  await open(page, 'Old');
  await evidence(page).getByRole('button', { name: 'Proof', exact: true }).click();
  await evidence(page).getByText('Download the proof instead.').waitFor();
});

test('a new log is a warning that leads to its entry', async (t) => {
  const fork = randomUUID();
  await site.service.sql(
    `insert into audit_logs (id, action, resource_type, resource_id, details)
     values ($1, 'audit_log_forked', 'audit_log', 'x', $2)`,
    [fork, JSON.stringify({ reason: 'other_history', continues: 'id/audit/1', size: 7, known_size: 9 })],
  );
  await seal(site);
  const { page } = await openAs(t, site, '/audit', { context });
  await page.getByText(/the log went on in a new one/).waitFor();
  await page.getByRole('button', { name: 'Sealed log' }).click();
  const dialog = page.getByRole('dialog', { name: 'Sealed log' });
  await dialog.getByText(/another history than an instance had seen\. 2 seals were lost\./).waitFor();
  await dialog.getByRole('button', { name: 'Close' }).click();
  await page.getByRole('link', { name: 'Show the entry' }).click();
  await page.waitForURL(`**/audit?action=audit_log_forked&entry=${fork}`);
  await page.getByRole('complementary', { name: 'Entry' }).getByText('other_history').first().waitFor();
});

const looks = [
  { name: 'wide-light', viewport: { width: 1440, height: 1000 }, colorScheme: 'light', locale: 'en-US' },
  { name: 'wide-dark', viewport: { width: 1440, height: 1000 }, colorScheme: 'dark', locale: 'de-DE' },
  { name: 'phone-dark', viewport: { width: 390, height: 844 }, colorScheme: 'dark', locale: 'en-US' },
  { name: 'phone-light', viewport: { width: 390, height: 844 }, colorScheme: 'light', locale: 'de-DE' },
] as const;
for (const { name, ...look } of looks)
  test(`the evidence fits: ${name}`, async (t) => {
    const id = await write(site, 'A role with a long name that takes more than one line on a phone');
    await seal(site);
    const { page } = await openAs(t, site, `/audit?address=${ADDRESS}&entry=${id}`, {
      context: { ...context, ...look },
    });
    await page.getByRole('button', { name: /^(Proof|Beweis)$/ }).click();
    await page.locator('.proof').waitFor();
    await page.locator('.proof').scrollIntoViewIfNeeded();
    await photograph(page, `audit-evidence-${name}`);
    await page.goto('/audit');
    await page.getByRole('button', { name: /^(Sealed log|Siegel des Protokolls)$/ }).click();
    await page.getByRole('dialog').locator('pre').waitFor();
    await photograph(page, `audit-head-${name}`);
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    assert.ok(overflow <= 0, `${overflow} pixels too wide`);
    await page.keyboard.press('Escape');
    await page.locator('.entry').first().waitFor();
    await photograph(page, `audit-list-${name}`);
  });
