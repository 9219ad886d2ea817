// The second factors of other users: what the pane tells, the acts that help somebody who lost theirs, the list, the overview.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { PASSKEY_ORIGIN } from '@castellan/testing/e2e/browser';
import { ADMIN } from '@castellan/testing/harness';
import { type AppUser, addAppUser } from '@castellan/testing/second-factors/app';
import { trustedBrowser } from '@castellan/testing/second-factors/devices';
import { ageProofs, requireOfRole } from '@castellan/testing/second-factors/requirements';
import { watch } from '@castellan/testing/secret-watch';
import { addPerson, addRole } from '@castellan/testing/users/people';
import type { Locator, Page } from 'playwright-core';
import { assertAccessible } from '../../accessibility.ts';
import { assertFocusIn, openAs, startConsole } from '../../harness.ts';

const site = await startConsole({ after }, { PUBLIC_URL: PASSKEY_ORIGIN });
const { service } = site;

let admin: { id: string };
before(async () => {
  [admin = assert.fail()] = await service.sql<{ id: string }>('select id from users where email = $1', [
    ADMIN.email,
  ]);
});

const security = (user: { id: string }): string => `/users?q=${user.id}&user=${user.id}&tab=security`;
const panel = (page: Page): Locator => page.getByRole('tabpanel', { name: 'Security' });
const button = (place: Page | Locator, name: string): Locator =>
  place.getByRole('button', { name, exact: true });
const resetDialog = (page: Page): Locator =>
  page.getByRole('dialog', { name: /^Reset the second factor of/ });

const addKey = (
  { id }: { id: string },
  kind: 'passkey' | 'security_key',
  name: string,
  rpId = new URL(PASSKEY_ORIGIN).hostname,
) =>
  service.sql(
    `insert into passkeys (id, user_id, credential_id, public_key, kind, name, rp_id, sign_count, backup_eligible, backed_up)
     values (gen_random_uuid(), $1, uuid_send(gen_random_uuid()), '\\x00', $2, $3, $4, 0, true, true)`,
    [id, kind, name, rpId],
  );

const actionsOf = ({ id }: { id: string }) =>
  service.sql<{ action: string; details: Record<string, unknown> }>(
    'select action, details from audit_logs where resource_id = $1',
    [id],
  );

test('the pane tells the factors of a user, and what is required of them', async (t) => {
  const user = await addAppUser(service);
  await addKey(user, 'passkey', 'Work phone');
  await addKey(user, 'security_key', 'Blue key', 'old.example.com');
  const role = await addRole(service);
  await service.sql('insert into user_roles (user_id, role_id) values ($1, $2)', [user.id, role]);
  await requireOfRole(service, role, 'phr', "'2031-12-12T10:00:00Z'::timestamptz");
  t.after(() => requireOfRole(service, role, null));
  const { page } = await openAs(t, site, security(user));
  const items = panel(page).getByRole('listitem');
  await items.nth(3).waitFor();
  const shown = await items.allTextContents();
  assert.match(shown[0] ?? '', /^Work phone Synced .*Passkey.*Added .*Not used yet/);
  assert.match(shown[1] ?? '', /^Blue key .*Only for old\.example\.com.*Security key/);
  assert.match(shown[2] ?? '', /^Authenticator app.*Added/);
  assert.match(shown[3] ?? '', /^Recovery codes10 of 10 left$/);
  await panel(page)
    .getByText('Required from Dec 12, 2031: a passkey or a security key. It is set up.')
    .waitFor();
  await panel(page).getByText('No device is trusted.').waitFor();
  await assertAccessible(page, 'the second factors of a user');
});

test('a missing factor is told, also in the list and on the overview', async (t) => {
  const role = await addRole(service);
  const holder = await addPerson(service, { firstName: 'Without', lastName: 'Factor', roles: [role] });
  const withApp = await addAppUser(service);
  await service.sql('insert into user_roles (user_id, role_id) values ($1, $2)', [withApp.id, role]);
  const { page } = await openAs(t, site, '/overview');
  await page.getByRole('heading', { name: 'Needs attention' }).waitFor();
  const tile = page.getByRole('link', { name: /required second factor/ });
  assert.equal(await tile.count(), 0, 'nothing is required');
  await requireOfRole(service, role, 'aal2');
  t.after(() => requireOfRole(service, role, null));
  await page.reload();
  await page.getByRole('link', { name: /1\s*user without a required second factor/ }).click();
  await page.waitForURL('**/users?second_factor=missing&is_active=true');
  const rows = page.getByRole('table', { name: 'Users' }).locator('tbody tr');
  await rows.filter({ hasText: 'Without Factor' }).getByText('Missing').waitFor();
  assert.equal(await rows.count(), 1);
  await rows
    .getByRole('button', { name: /Without Factor/ })
    .first()
    .click();
  await page.getByRole('tab', { name: 'Security' }).click();
  await panel(page)
    .getByText(/^Required since .*: a second factor\. It is missing/)
    .waitFor();
  assert.equal(await button(panel(page), 'Reset second factor').count(), 0);
  await page.getByRole('complementary').getByRole('button', { name: 'Close' }).click();
  const filter = page.getByRole('combobox', { name: 'Second factor' });
  await filter.selectOption('With a second factor');
  await page.waitForURL('**/users?second_factor=on&is_active=true');
  await rows.filter({ hasText: withApp.email }).getByText('App').waitFor();
  assert.equal(await rows.filter({ hasText: holder.email }).count(), 0);
});

/** Opens the question of a reset for a user with an app. */
async function openReset(t: Parameters<typeof openAs>[0], expected: string[] = []) {
  const user = await addAppUser(service);
  const { page } = await openAs(t, site, security(user), { expected });
  await button(panel(page), 'Reset second factor').click();
  await resetDialog(page).waitFor();
  return { user, page };
}

const isSignedIn = async ({ client }: AppUser): Promise<boolean> =>
  (await client.get('/api/v1/users/me')).status === 200;

test('a reset says what ends, asks for the reason and mails the link; a new link can be made', async (t) => {
  const { user, page } = await openReset(t);
  const dialog = resetDialog(page);
  assert.deepEqual(await dialog.getByRole('listitem').allTextContents(), [
    'Authenticator app',
    '10 recovery codes',
    'all sessions, trusted devices and mailed links',
  ]);
  await dialog.getByText(`It goes to ${user.email}.`).waitFor();
  await dialog.getByLabel('Reason').fill('Lost phone');
  await assertAccessible(page, 'the reset of a second factor');
  await button(dialog, 'Reset second factor').click();
  await dialog.waitFor({ state: 'detached' });
  await page.getByText('The recovery link is on its way.').waitFor();
  await panel(page).getByText('The next sign-in takes the password and the recovery link.').waitFor();
  assert.equal(await isSignedIn(user), false);
  const { details } = (await actionsOf(user)).find(({ action }) => action === 'second_factor_reset') ?? {};
  assert.deepEqual([details?.reason, details?.deliver], ['Lost phone', 'mail']);
  await button(panel(page), 'New recovery link').click();
  const again = page.getByRole('dialog', { name: /^Make a new recovery link for/ });
  await again.getByText('the former recovery link').waitFor();
  await button(again, 'New recovery link').click();
  await again.waitFor({ state: 'detached' });
  const resets = (await actionsOf(user)).filter(({ action }) => action === 'second_factor_reset');
  assert.equal(resets.length, 2);
});

test('the link is shown once, after a fresh proof, by keyboard alone', async (t) => {
  const { user, page } = await openReset(t, ['403']);
  await ageProofs(service, admin, 700);
  const dialog = resetDialog(page);
  await assertFocusIn(page, '[role="dialog"]');
  await dialog.getByRole('radio', { name: /^Mail it to them/ }).focus();
  await page.keyboard.press('ArrowDown');
  assert.equal(await dialog.getByRole('radio', { name: /^Show it to me once/ }).isChecked(), true);
  await button(dialog, 'Reset second factor').focus();
  await page.keyboard.press('Enter');
  const proof = page.getByRole('dialog', { name: 'Confirm that it is you' });
  await proof.getByText('You are about to reset the second factor of a user.').waitFor();
  assert.equal(await isSignedIn(user), true, 'nothing has happened yet');
  await proof.getByRole('textbox', { name: 'Password' }).fill(ADMIN.password);
  await page.keyboard.press('Enter');
  const shown = page.getByRole('dialog', { name: 'Hand over the recovery link' });
  const link = await shown.getByLabel('Recovery link').inputValue();
  watch.note(new URL(link).hash.replace('#recovery=', ''), 'recovery link');
  assert.match(link, /\/login#recovery=[\w-]{43}$/);
  await shown.getByText(/^It works once, until /).waitFor();
  await assertAccessible(page, 'the recovery link');
  await button(shown, 'Done').focus();
  await page.keyboard.press('Enter');
  await shown.waitFor({ state: 'detached' });
  assert.ok(!(await page.content()).includes(link));
});

test('a closed app is opened, a suspended one is told, and devices are forgotten', async (t) => {
  const user = await addAppUser(service);
  await trustedBrowser(service, user);
  await service.sql(
    `insert into factor_attempts (user_id, failures, locks, total, locked_until) values ($1, 5, 1, 5, now() + interval '15 minutes')
     on conflict (user_id) do update set locked_until = excluded.locked_until`,
    [user.id],
  );
  const { page } = await openAs(t, site, security(await addPerson(service)));
  await panel(page).getByText('None. The password alone signs in.').waitFor();
  await page.goto(security(user));
  await panel(page).getByText('Wrong codes have closed the authenticator app until').waitFor();
  await button(panel(page), 'Unlock').click();
  await button(page.getByRole('dialog'), 'Unlock').click();
  await panel(page).getByText('Wrong codes have closed').waitFor({ state: 'detached' });
  await panel(page).getByText('On 1 trusted device, the password alone signs in.').waitFor();
  await button(panel(page), 'Forget all devices').click();
  const question = page.getByRole('dialog', { name: /^Forget all devices of/ });
  await assertAccessible(page, 'the question about devices');
  await button(question, 'Forget all devices').click();
  await panel(page).getByText('No device is trusted.').waitFor();
  assert.equal((await service.sql('select from devices where user_id = $1', [user.id])).length, 0);
  await service.sql('update totp_factors set suspended_at = now() where user_id = $1', [user.id]);
  await page.reload();
  await panel(page).getByText('Suspended', { exact: true }).waitFor();
});

test('what the person may not do says why', async (t) => {
  const user = await addAppUser(service);
  const reader = await addPerson(service, { roles: [await addRole(service, 'users.read')] });
  const { page } = await openAs(t, site, security(user), { as: reader });
  await panel(page)
    .getByText(/second_factor\.read/)
    .first()
    .waitFor();
  const helper = await addPerson(service, {
    roles: [await addRole(service, 'users.read', 'second_factor.read')],
  });
  const other = await openAs(t, site, security(user), { as: helper });
  const reset = panel(other.page).getByRole('button', { name: /^Reset second factor/ });
  assert.equal(await reset.getAttribute('aria-disabled'), 'true');
  await panel(other.page)
    .getByRole('button', { name: /second_factor\.reset/ })
    .waitFor();
  await reset.click({ force: true });
  assert.equal(await other.page.getByRole('dialog').count(), 0);
});
