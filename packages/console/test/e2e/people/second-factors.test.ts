// One's own second factors, the dialog that asks for a fresh proof, and a set-up that is required.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ADMIN, createVerifiedUser, PASSWORD } from '@castellan/testing/harness';
import { age } from '@castellan/testing/passkeys/own';
import { codeOf, forgetStep, wrongCodeOf } from '@castellan/testing/second-factors/app';
import { addRole } from '@castellan/testing/users/people';
import type { Page, Route } from 'playwright-core';
import { assertAccessible } from '../../accessibility.ts';
import { assertFocusIn, heading, openAs, startConsole } from '../../harness.ts';
import {
  beginSetUp,
  button,
  codesDialog,
  confirmSetUp,
  keepCodes,
  proofDialog,
  setUpDialog,
} from '../../own-factors.ts';

const site = await startConsole({ after });
const { service } = site;

type Person = { id: string; email: string; password: string };

async function newPerson(): Promise<Person> {
  const { id, email } = await createVerifiedUser(service);
  return { id, email, password: PASSWORD };
}

/** Opens the account of a new person with an app. */
async function openWithApp(t: Parameters<typeof openAs>[0], expected: string[] = []) {
  const as = await newPerson();
  const { page } = await openAs(t, site, '/account', { as, expected });
  const secret = await beginSetUp(page);
  await confirmSetUp(page, secret);
  const codes = await keepCodes(page);
  await forgetStep(service, as);
  return { as, page, secret, codes };
}

test('an app is set up in three steps, and the recovery codes are shown until they are kept', async (t) => {
  const as = await newPerson();
  const other = service.client();
  await other.login(as);
  const { page } = await openAs(t, site, '/account', { as, expected: ['422'] });
  const secret = await beginSetUp(page);
  assert.match(secret, /^[A-Z2-7]{32}$/);
  const dialog = setUpDialog(page);
  await dialog.getByRole('img', { name: 'QR code to set up the authenticator app' }).waitFor();
  await dialog.getByText('From now on your password alone no longer signs you in.').waitFor();
  await assertAccessible(page, 'the set-up of an app');
  const code = dialog.getByLabel('Enter the code that the app shows');
  await code.fill('12 34');
  await code.press('Enter');
  await dialog.getByText('Enter the six digits that the app shows.').waitFor();
  await code.fill(wrongCodeOf(secret));
  await code.press('Enter');
  await code.and(page.locator('[aria-invalid="true"]:focus')).waitFor();
  await dialog.getByText('This code is wrong or was used.').waitFor();
  assert.equal(await page.getByRole('alert').count(), 0, 'it is said once');
  await confirmSetUp(page, secret);
  await codesDialog(page).waitFor();
  assert.equal(await button(codesDialog(page), 'Done').isDisabled(), true);
  await page.keyboard.press('Escape');
  await assertAccessible(page, 'the recovery codes');
  const codes = await keepCodes(page);
  assert.equal(new Set(codes).size, 10);
  for (const one of codes) assert.match(one, /^([0-9A-HJKMNP-TV-Z]{4}-){3}[0-9A-HJKMNP-TV-Z]{4}$/);
  await page.getByText('10 of 10 left').waitFor();
  await assertAccessible(page, 'an account with an app');
  assert.equal((await other.get('/api/v1/users/me')).status, 401, 'the other session has ended');
});

test('leaving the recovery codes before they are kept asks', async (t) => {
  const as = await newPerson();
  const { page } = await openAs(t, site, '/account', { as });
  await page.goto('/access');
  await heading(page).getByText('Access explorer').waitFor();
  await page.getByRole('link', { name: 'My account' }).first().click();
  await confirmSetUp(page, await beginSetUp(page));
  await codesDialog(page).waitFor();
  await page.evaluate('history.back()');
  const question = page.getByRole('dialog', { name: 'Leave without keeping the codes?' });
  await button(question, 'Stay').click();
  await codesDialog(page).waitFor();
  assert.equal(new URL(page.url()).pathname, '/account');
  const download = page.waitForEvent('download');
  await button(codesDialog(page), 'Download').click();
  assert.equal((await download).suggestedFilename(), 'recovery-codes.txt');
  await keepCodes(page);
});

test('an account without a factor proves its password first, and Cancel leaves the page as it was', async (t) => {
  const as = await newPerson();
  const { page } = await openAs(t, site, '/account', { as, expected: ['403', '400'] });
  const setUp = button(page, 'Set up an authenticator app');
  await setUp.waitFor();
  await age(service, as);
  await setUp.click();
  const dialog = proofDialog(page);
  await dialog.getByText('You are about to set up an authenticator app.').waitFor();
  await assertFocusIn(page, '[role="dialog"] input[type="password"]');
  await assertAccessible(page, 'the proof by password');
  await button(dialog, 'Cancel').click();
  await dialog.waitFor({ state: 'detached' });
  assert.equal(await page.getByRole('alert').count(), 0, 'the person knows why nothing happened');
  await setUp.click();
  const password = dialog.getByRole('textbox', { name: 'Password' });
  await password.fill('Wrong!Passw0rd-here');
  await password.press('Enter');
  await password.and(page.locator('[aria-invalid="true"]:focus')).waitFor();
  await password.fill(PASSWORD);
  await password.press('Enter');
  await setUpDialog(page).waitFor();
  assert.equal(await dialog.count(), 0);
});

test('new recovery codes ask for a code of the app, or for a recovery code', async (t) => {
  const { as, page, secret, codes } = await openWithApp(t, ['403', '422']);
  await age(service, as);
  await button(page, 'Recovery codes: Make new ones').click();
  const question = page.getByRole('dialog', { name: 'Make new recovery codes?' });
  await button(question, 'Make new ones').click();
  const dialog = proofDialog(page);
  const field = dialog.getByLabel('Code of the authenticator app');
  await field.and(page.locator(':focus')).waitFor();
  await assertAccessible(page, 'the proof by app');
  await field.fill(wrongCodeOf(secret));
  await field.press('Enter');
  await field.and(page.locator('[aria-invalid="true"]:focus')).waitFor();
  await field.fill(codeOf(secret));
  await field.press('Enter');
  const next = await keepCodes(page);
  assert.equal(next.length, 10);
  assert.equal(next.filter((one) => codes.includes(one)).length, 0, 'the former ones have ended');
  await age(service, as);
  await button(page, 'Remove the app').click();
  await button(page.getByRole('dialog', { name: 'Remove the authenticator app?' }), 'Remove the app').click();
  await button(dialog, 'Recovery code').click();
  await dialog.getByLabel('Recovery code').fill((next[0] ?? '').toLowerCase());
  await button(dialog, 'Confirm').click();
  await page.getByText('The authenticator app is removed.').waitFor();
  await button(page, 'Set up an authenticator app').waitFor();
  assert.equal((await service.client().login(as)).status, 200, 'the password alone signs in again');
});

/** Refuses the first request to each of these addresses, as the service would. Returns how often each was asked. */
async function refuseOnce(
  page: Page,
  addresses: readonly string[],
  body: object,
): Promise<Map<string, number>> {
  const asked = new Map<string, number>();
  for (const address of addresses)
    await page.route(address, async (route: Route) => {
      const count = (asked.get(address) ?? 0) + 1;
      asked.set(address, count);
      if (count > 1) return route.continue();
      return route.fulfill({ status: 403, json: { detail: 'Refused.', request_id: 'test', ...body } });
    });
  return asked;
}

test('however many requests need a proof, one dialog asks, and each is sent once more', async (t) => {
  const as = await newPerson();
  const { page } = await openAs(t, site, '/access', { as, expected: ['403'] });
  await heading(page).waitFor();
  // This page asks for one of them, too.
  await page.waitForLoadState('networkidle');
  const addresses = ['**/api/v1/auth/sessions?*', '**/api/v1/auth/factors', '**/effective-permissions*'];
  const asked = await refuseOnce(page, addresses, {
    code: 'step_up_required',
    step_up: { required_acr: 'aal1', max_age: 600 },
  });
  await page.getByRole('link', { name: 'My account' }).first().click();
  const dialog = proofDialog(page);
  const password = dialog.getByRole('textbox', { name: 'Password' });
  await password.fill(PASSWORD);
  assert.equal(await page.getByRole('dialog').count(), 1);
  await password.press('Enter');
  await page.getByText('You are signed in only here.').waitFor();
  await button(page, 'Set up an authenticator app').waitFor();
  await dialog.waitFor({ state: 'detached' });
  assert.deepEqual(
    [...asked.values()].filter((count) => count !== 2),
    [],
  );
});

test('a preview and an export that need a proof ask for it, too', async (t) => {
  const { id } = await newPerson();
  const role = await addRole(service, 'session.read');
  await service.sql('insert into user_roles (user_id, role_id) values ($1, $2)', [id, role]);
  const { page } = await openAs(t, site, `/roles/${role}`, { expected: ['403'] });
  await heading(page).waitFor();
  const prove = async (): Promise<void> => {
    await proofDialog(page).getByRole('textbox', { name: 'Password' }).fill(ADMIN.password);
    await button(proofDialog(page), 'Confirm').click();
    await proofDialog(page).waitFor({ state: 'detached' });
  };
  const refusal = { code: 'step_up_required', step_up: { required_acr: 'aal1', max_age: 600 } };
  await refuseOnce(page, ['**/api/v1/access/changes?dry_run=true*', '**/holders/export*'], refusal);
  await button(page, 'Delete').click();
  await prove();
  await page.getByText('1 loses session.read').waitFor();
  await button(page.getByRole('dialog'), 'Cancel').click();
  await page.getByRole('tab', { name: 'Holders' }).click();
  const download = page.waitForEvent('download');
  await button(page, 'Export CSV').click();
  await prove();
  await download;
});

test('after Cancel a page says why it shows nothing, and trying again asks again', async (t) => {
  const as = await newPerson();
  const { page } = await openAs(t, site, '/access', { as, expected: ['403'] });
  await heading(page).waitFor();
  await page.route('**/api/v1/auth/sessions?*', (route) =>
    route.fulfill({
      status: 403,
      json: {
        detail: 'Refused.',
        code: 'step_up_required',
        request_id: 'test',
        step_up: { required_acr: 'aal1', max_age: 600 },
      },
    }),
  );
  await page.getByRole('link', { name: 'My account' }).first().click();
  await button(proofDialog(page), 'Cancel').click();
  const sessions = page.getByRole('region', { name: 'My sessions' });
  await sessions.getByText('Confirm that it is you, then try again.').waitFor();
  await page.unroute('**/api/v1/auth/sessions?*');
  await button(sessions, 'Try again').click();
  await page.getByText('You are signed in only here.').waitFor();
});

const FACTORS = '**/api/v1/auth/factors';
const requirement = { required_acr: 'aal2', enforced_from: '2031-12-12T10:00:00Z', met: false };

/** Answers for a service that has more to say about an account without an app. */
const answerFactors = (page: Page, more: object) =>
  page.route(FACTORS, (route) =>
    route.fulfill({
      json: {
        data: {
          totp: null,
          passkeys: [],
          recovery_codes: null,
          available: { totp: true, passkey: true, security_key: true },
          requirement: null,
          context: { acr: 'aal1', auth_time: '2026-10-01T10:00:00Z' },
          ...more,
        },
        message: 'Read.',
      },
    }),
  );

test('a second factor that is required comes before everything else', async (t) => {
  const as = await newPerson();
  const { page } = await openAs(t, site, '/access', { as, expected: ['403'] });
  await heading(page).waitFor();
  await answerFactors(page, { requirement: { ...requirement } });
  await refuseOnce(page, ['**/api/v1/auth/sessions?*'], {
    code: 'second_factor_enrolment_required',
    required_acr: 'aal2',
  });
  await page.getByRole('link', { name: 'My account' }).first().click();
  await page.getByRole('heading', { name: 'Set up a second factor first' }).waitFor();
  await assertFocusIn(page, 'h1');
  assert.equal(await page.getByRole('heading', { name: 'My sessions' }).count(), 0);
  await assertAccessible(page, 'a set-up that is required');
  await confirmSetUp(page, await beginSetUp(page));
  await page.unroute(FACTORS);
  await keepCodes(page);
  await page.getByRole('heading', { name: 'My sessions' }).waitFor();
});

test('until a requirement counts, every page says so, and leads to the set-up', async (t) => {
  const as = await newPerson();
  const { page } = await openAs(t, site, '/access', { as });
  await heading(page).waitFor();
  await answerFactors(page, { requirement });
  await page.getByRole('link', { name: 'My account' }).first().click();
  await button(page, 'Set up an authenticator app').waitFor();
  await page.goto('/access');
  const notice = page.getByText(/^From Dec 12, 2031 your account needs a second factor\./);
  await notice.waitFor();
  await assertAccessible(page, 'the notice');
  await notice.getByRole('link', { name: 'Set up' }).click();
  await button(page, 'Set up an authenticator app').waitFor();
  await page.unroute(FACTORS);
  await page.goto('/access');
  await heading(page).getByText('Access explorer').waitFor();
  await notice.waitFor({ state: 'detached' });
});

const passkey = {
  id: 'f1f1d4bb-0000-4000-8000-000000000001',
  kind: 'passkey',
  name: 'Chrome on Android',
  rp_id: 'castellan.test',
  usable: true,
  created_at: '2026-10-01T10:00:00Z',
  last_used_at: null,
  backed_up: true,
  transports: ['internal'],
};
const device = {
  id: 'f1f1d4bb-0000-4000-8000-000000000009',
  user_agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0',
  network: '203.0.113.0/24',
  created_at: '2026-10-01T10:00:00Z',
  last_used_at: '2026-11-01T10:00:00Z',
  trusted_until: '2031-12-12T10:00:00Z',
  current: true,
};

test('passkeys, security keys and devices are listed, renamed and forgotten', async (t) => {
  const as = await newPerson();
  const { page } = await openAs(t, site, '/access', { as });
  await heading(page).waitFor();
  const passkeys = [
    passkey,
    { ...passkey, id: `${passkey.id.slice(0, -1)}2`, kind: 'security_key', name: 'Blue key', usable: false },
  ];
  let devices = [device];
  const sent: [string, unknown][] = [];
  await answerFactors(page, { passkeys });
  await page.route('**/api/v1/auth/factors/passkeys/*', async (route) => {
    sent.push([route.request().method(), route.request().postDataJSON()]);
    await route.fulfill({ json: { data: passkey, message: 'Changed.' } });
  });
  await page.route(/\/api\/v1\/auth\/devices/, async (route) => {
    if (route.request().method() === 'DELETE') devices = [];
    await route.fulfill({ json: { data: devices, message: 'Read.' } });
  });
  await page.getByRole('link', { name: 'My account' }).first().click();
  const list = page.getByRole('region', { name: 'Passkeys' });
  await list.getByText('Synced').waitFor();
  await page.getByRole('region', { name: 'Security keys' }).getByText('Only for castellan.test').waitFor();
  await page.getByText('Trusted until Dec 12, 2031').waitFor();
  await assertAccessible(page, 'passkeys and devices');
  await button(list, 'Rename Chrome on Android').click();
  const dialog = page.getByRole('dialog', { name: 'Rename Chrome on Android' });
  await dialog.getByLabel('Name').fill('My phone');
  await button(dialog, 'Save').click();
  await page.getByText('The name is saved.').waitFor();
  assert.deepEqual(sent, [['PUT', { name: 'My phone' }]]);
  await button(list, 'Remove Chrome on Android').click();
  await page.getByText('Your other factors stay.').waitFor();
  await button(page.getByRole('dialog'), 'Cancel').click();
  await button(page, 'Forget Firefox 144 on Linux').click();
  await page.getByText('The device is forgotten.').waitFor();
  await page.getByRole('region', { name: 'Known devices' }).waitFor({ state: 'detached' });
});

test('known devices are listed without a second factor, too', async (t) => {
  const as = await newPerson();
  const { page } = await openAs(t, site, '/access', { as });
  await heading(page).waitFor();
  await page.route('**/api/v1/auth/devices', (route) =>
    route.fulfill({ json: { data: [{ ...device, trusted_until: null }], message: 'Read.' } }),
  );
  await page.getByRole('link', { name: 'My account' }).first().click();
  await page.getByRole('region', { name: 'Known devices' }).getByText('Firefox 144 on Linux').waitFor();
});
