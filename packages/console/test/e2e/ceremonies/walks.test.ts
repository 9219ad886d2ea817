// From a loss, or a requirement, to an account that is whole again: each as one person walks it in a browser.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { plugIn } from '@castellan/testing/e2e/authenticator';
import { PASSKEY_ORIGIN } from '@castellan/testing/e2e/browser';
import { ADMIN, type Hooks, signIn } from '@castellan/testing/harness';
import { age } from '@castellan/testing/passkeys/own';
import { type AppUser, addAppUser, codeOf, forgetStep } from '@castellan/testing/second-factors/app';
import { addStrong, requireOfRole } from '@castellan/testing/second-factors/requirements';
import { addPerson, addRole } from '@castellan/testing/users/people';
import type { Page } from 'playwright-core';
import { assertFocusIn, heading, startConsole } from '../../harness.ts';
import { layoutFaults } from '../../layout-faults.ts';
import {
  beginSetUp,
  button,
  confirmSetUp,
  keepCodes,
  proofDialog,
  secretIn,
  setUpDialog,
} from '../../own-factors.ts';
import { photograph } from '../../pictures.ts';
import { sendPassword, status, visit } from '../sign-in/visits.ts';

const { service, browser } = await startConsole({ after }, { PUBLIC_URL: PASSKEY_ORIGIN });

/** Opens a window of somebody new. */
const arrive = (t: Hooks, locale = 'en-US'): Promise<Page> =>
  visit(t, browser, { expected: ['422', '403'], context: { baseURL: PASSKEY_ORIGIN, locale } });

async function enterPassword(page: Page, { email, password }: { email: string; password: string }) {
  await page.goto('/login?next=%2Faccount');
  await sendPassword(page, email, password);
}

async function enterCode(page: Page, label: string, code: string): Promise<void> {
  await page.getByLabel(label, { exact: true }).fill(code);
  await page.keyboard.press('Enter');
}

/** The account is open for everything. */
async function assertInside(page: Page): Promise<void> {
  await page.waitForURL(/\/account(#security)?$/);
  await page.getByRole('heading', { name: 'My sessions' }).waitFor();
}

async function signOut(page: Page): Promise<void> {
  await button(page, 'Sign out').click();
  await heading(page).getByText('Sign in').waitFor();
}

/** Signs in with the new app, and not with a code of the old one. */
async function assertReplaced(page: Page, user: AppUser, secret: string): Promise<void> {
  await forgetStep(service, user);
  await signOut(page);
  await enterPassword(page, user);
  await enterCode(page, 'Code', codeOf(user.secret));
  await status(page).getByText('This code is wrong. 4 tries left.').waitFor();
  await enterCode(page, 'Code', codeOf(secret));
  await assertInside(page);
}

test('a lost phone: in with a recovery code, another app in the place of the old one, new codes', async (t) => {
  const user = await addAppUser(service);
  const page = await arrive(t);
  await enterPassword(page, user);
  await button(page, 'Recovery code').click();
  await enterCode(page, 'Recovery code', user.recoveryCodes[0] ?? '');
  await assertInside(page);
  await page.getByText('9 of 10 left').waitFor();
  await button(page, 'Replace the authenticator app').click();
  const replacing = page.getByRole('dialog', { name: 'Replace the authenticator app' });
  const secret = await secretIn(replacing);
  await confirmSetUp(page, secret, replacing);
  await page.getByText('Your authenticator app is set up.').waitFor();
  await button(page, 'Recovery codes: Make new ones').click();
  await button(page.getByRole('dialog', { name: 'Make new recovery codes?' }), 'Make new ones').click();
  const codes = await keepCodes(page);
  assert.equal(codes.filter((one) => user.recoveryCodes.includes(one)).length, 0);
  await page.getByText('10 of 10 left').waitFor();
  assert.equal((await service.mailTo(user.email, 1)).kind, 'recovery_code_used');
  await assertReplaced(page, user, secret);
});

test('a session that ended elsewhere: the second step over the page, and what was typed is saved', async (t) => {
  const user = await addStrong(service, 'self.update_profile');
  const page = await visit(t, browser, {
    expected: ['422', '401'],
    context: { baseURL: PASSKEY_ORIGIN, locale: 'en-US' },
  });
  await enterPassword(page, user);
  await enterCode(page, 'Code', codeOf(user.secret));
  await assertInside(page);
  await page.getByLabel('First name').fill('Typed');
  await forgetStep(service, user);
  await service.sql('update users set session_epoch = session_epoch + 1 where id = $1', [user.id]);
  await button(page, 'Save').click();
  const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
  await dialog.getByLabel(/^Password/).fill(user.password);
  await button(dialog, 'Sign in').click();
  const code = dialog.getByLabel('Code of the authenticator app');
  await code.fill(codeOf(user.secret) === '000000' ? '000001' : '000000');
  await page.keyboard.press('Enter');
  await dialog.getByText('This code is wrong').waitFor();
  await button(dialog, 'Cancel').click();
  await dialog.getByLabel(/^Password/).waitFor();
  await button(dialog, 'Sign in').click();
  await code.fill(codeOf(user.secret));
  await page.keyboard.press('Enter');
  await dialog.waitFor({ state: 'detached' });
  await page.getByText('Your names are saved.').waitFor();
  assert.deepEqual(await service.sql('select first_name from users where id = $1', [user.id]), [
    { first_name: 'Typed' },
  ]);
});

test('a session that ended elsewhere: the focus follows the steps, also where no factor works', async (t) => {
  const user = await addStrong(service, 'self.update_profile');
  const page = await visit(t, browser, {
    expected: ['422', '401'],
    context: { baseURL: PASSKEY_ORIGIN, locale: 'en-US' },
  });
  await enterPassword(page, user);
  await enterCode(page, 'Code', codeOf(user.secret));
  await assertInside(page);
  await service.sql('update users set session_epoch = session_epoch + 1 where id = $1', [user.id]);
  await page.getByLabel('First name').fill('Typed');
  await button(page, 'Save').click();
  const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
  await dialog.getByLabel(/^Password/).fill(user.password);
  await page.keyboard.press('Enter');
  await dialog.getByLabel('Code of the authenticator app').waitFor();
  await assertFocusIn(page, 'input[autocomplete="one-time-code"]');
  await button(dialog, 'Cancel').click();
  await assertFocusIn(page, 'input[type="password"]');
  await service.sql('update totp_factors set suspended_at = now() where user_id = $1', [user.id]);
  await service.sql('update recovery_codes set used_at = now() where user_id = $1', [user.id]);
  await page.keyboard.press('Enter');
  await dialog.getByRole('alert').getByText('none of your second factors works here').waitFor();
  await button(dialog, 'Cancel').click();
  await assertFocusIn(page, 'input[type="password"]');
});

/** Lets an administrator reset the factors, and returns the address in the mail that follows. */
async function resetFactors({ id, email }: AppUser): Promise<string> {
  const admin = await signIn(service, ADMIN);
  const answer = await admin.post(`/api/v1/users/${id}/factors/reset`, { reason: 'Lost everything' });
  assert.equal(answer.status, 200, answer.text);
  const mail = await service.mailTo(email, 1);
  assert.equal(mail.kind, 'second_factor_reset');
  const [link = ''] = /^http:\S+#recovery=\S+/m.exec(mail.text) ?? [];
  return link;
}

test('everything lost: in with the mailed link, then another app before anything else', async (t) => {
  const user = await addAppUser(service);
  const role = await addRole(service);
  await service.sql('insert into user_roles (user_id, role_id) values ($1, $2)', [user.id, role]);
  await requireOfRole(service, role, 'aal2');
  const link = await resetFactors(user);
  const page = await arrive(t);
  await page.goto(link);
  await status(page).getByText('We then use the link that you have opened.').waitFor();
  await sendPassword(page, user.email, user.password);
  await page.waitForURL('**/account');
  await page.getByRole('heading', { name: 'Set up a second factor first' }).waitFor();
  const secret = await beginSetUp(page);
  await confirmSetUp(page, secret);
  await keepCodes(page);
  await assertInside(page);
  await assertReplaced(page, user, secret);
  const again = await arrive(t);
  await again.goto(link);
  await sendPassword(again, user.email, user.password);
  await again.getByLabel('Code', { exact: true }).waitFor();
});

test('a passkey that a role requires is set up before the page that was asked for', async (t) => {
  const role = await addRole(service, 'user.read');
  await requireOfRole(service, role, 'phr');
  const person = await addPerson(service, { roles: [role] });
  const page = await arrive(t);
  const authenticator = await plugIn(page);
  await page.goto('/login?next=%2Fusers');
  await sendPassword(page, person.email, person.password);
  await page.getByRole('heading', { name: 'Set up a second factor first' }).waitFor();
  await page.getByText('ask for a passkey or a security key').waitFor();
  assert.equal(await page.getByText('your account needs a second factor').count(), 0, 'it is said once');
  assert.equal(await button(page, 'Set up an authenticator app').count(), 0);
  await button(page, 'Add a passkey').click();
  await button(page.getByRole('dialog', { name: 'Add a passkey' }), 'Continue').click();
  await keepCodes(page);
  await assertInside(page);
  await page.goto('/users');
  await page.getByText(person.email).first().waitFor();
  assert.equal((await authenticator.credentials()).length, 1);
});

test('a requirement that is announced is told on every page until a factor is set up', async (t) => {
  const role = await addRole(service);
  await requireOfRole(service, role, 'aal2', "now() + interval '10 days'");
  const person = await addPerson(service, { roles: [role] });
  const page = await arrive(t);
  await page.goto('/login');
  await sendPassword(page, person.email, person.password);
  await page.waitForURL('**/overview');
  const notice = page.getByText(/^From .* your account needs a second factor\./);
  await page.setViewportSize({ width: 390, height: 844 });
  await notice.getByRole('link', { name: 'Set up' }).click();
  await assertInside(page);
  const title = await page.getByRole('heading', { name: 'Sign-in and security' }).boundingBox();
  const header = await page.getByRole('banner').boundingBox();
  assert.ok(title && header && title.y > header.height, 'the title is below the header');
  await confirmSetUp(page, await beginSetUp(page));
  await keepCodes(page);
  await page.goto('/overview');
  await heading(page).waitFor();
  await page.waitForLoadState('networkidle');
  assert.equal(await notice.count(), 0);
});

test('a passkey and an app: set up, one confirms a sign-in, and later what is done to the other', async (t) => {
  const person = await addPerson(service, { email: 'ada@example.com' });
  const page = await arrive(t);
  await page.setViewportSize({ width: 1280, height: 800 });
  await plugIn(page);
  await page.addInitScript('PublicKeyCredential.isConditionalMediationAvailable = async () => false;');
  await enterPassword(page, person);
  await assertInside(page);
  await button(page, 'Add a passkey').click();
  const adding = page.getByRole('dialog', { name: 'Add a passkey' });
  await adding.getByLabel('Name').fill('My laptop');
  await button(adding, 'Continue').click();
  await keepCodes(page);
  const secret = await beginSetUp(page);
  await setUpDialog(page).locator('svg[role="img"] path').waitFor();
  await photograph(page, 'second-factor-set-up');
  await confirmSetUp(page, secret);
  await page.getByText('Your authenticator app is set up.').waitFor();
  await button(page, 'Replace the authenticator app').waitFor();
  await signOut(page);
  await forgetStep(service, person);
  await enterPassword(page, person);
  await button(page, 'Use passkey').waitFor();
  await button(page, 'Authenticator app').click();
  await photograph(page, 'second-factor-sign-in');
  await enterCode(page, 'Code', codeOf(secret));
  await assertInside(page);
  await page.getByRole('region', { name: 'Known devices' }).waitFor();
  await photograph(page, 'second-factor-account');
  await age(service, person);
  await forgetStep(service, person);
  await button(page, 'Replace the authenticator app').click();
  await proofDialog(page).getByLabel('Code of the authenticator app').waitFor();
  await photograph(page, 'second-factor-step-up');
  await proofDialog(page).getByLabel('Code of the authenticator app').fill(codeOf(secret));
  await page.keyboard.press('Enter');
  await button(page.getByRole('dialog', { name: 'Replace the authenticator app' }), 'Cancel').click();
  // The proof counts for some minutes.
  await button(page, 'Remove My laptop').click();
  await button(page.getByRole('dialog', { name: 'Remove My laptop?' }), 'Remove').click();
  await page.getByText('It is removed.').waitFor();
  assert.equal(await page.getByText('My laptop').count(), 0);
});

test('in German: set up, confirm, sign in with the app, and nothing is cut on a phone', async (t) => {
  const person = await addPerson(service);
  const page = await arrive(t, 'de-DE');
  const known: string[] = [];
  page.on('response', async (response) => {
    if (response.url().includes('/api/')) known.push(await response.text().catch(() => ''));
  });
  const assertFits = async (what: string): Promise<void> => {
    let faults = await layoutFaults(page, known);
    // The text of a button that has waited slides back into its place.
    for (let looks = 1; faults.length > 0 && looks < 20; looks += 1) {
      await page.waitForTimeout(100);
      faults = await layoutFaults(page, known);
    }
    assert.deepEqual(faults, [], what);
  };
  await page.setViewportSize({ width: 390, height: 844 });
  await enterPassword(page, person);
  await page.waitForURL('**/account');
  await page.getByRole('heading', { name: 'Anmeldung und Sicherheit' }).waitFor();
  await button(page, 'Authenticator-App einrichten').click();
  const setUp = page.getByRole('dialog', { name: 'Authenticator-App einrichten' });
  const secret = await secretIn(setUp);
  await assertFits('the set-up');
  await setUp.getByLabel('Geben Sie den Code ein, den die App zeigt').fill(codeOf(secret));
  await page.keyboard.press('Enter');
  const codes = page.getByRole('dialog', { name: 'Bewahren Sie Ihre Wiederherstellungscodes auf' });
  await codes.getByLabel('Ich habe sie aufbewahrt').check();
  await assertFits('the recovery codes');
  await button(codes, 'Fertig').click();
  await page.getByText('10 von 10 übrig').waitFor();
  await forgetStep(service, person);
  await age(service, person);
  await button(page, 'App entfernen').click();
  await button(page.getByRole('dialog', { name: 'Authenticator-App entfernen?' }), 'App entfernen').click();
  const proof = page.getByRole('dialog', { name: 'Bestätigen Sie, dass Sie es sind' });
  await proof.getByText('Sie sind dabei, Ihre Authenticator-App zu entfernen.').waitFor();
  await assertFits('the proof');
  await button(proof, 'Abbrechen').click();
  await page.context().clearCookies();
  await enterPassword(page, person);
  await heading(page).getByText('Bestätigen Sie, dass Sie es sind').waitFor();
  await assertFits('the second step');
  await enterCode(page, 'Code', codeOf(secret));
  await page.waitForURL('**/account');
  assert.equal(await page.locator('html').getAttribute('lang'), 'de');
});
