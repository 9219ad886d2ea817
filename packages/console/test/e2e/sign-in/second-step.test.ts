// The second step of a sign-in with an authenticator app, in a real browser and against the service.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { addAppUser, codeOf, wrongCodeOf } from '@castellan/testing/second-factors/app';
import type { Page } from 'playwright-core';
import { assertPageAccessible } from '../../accessibility.ts';
import { assertFocusIn, heading, startConsole } from '../../harness.ts';
import { sendPassword, status, visit } from './visits.ts';

const { service, browser } = await startConsole({ after }, { RATE_LIMIT_SECOND_FACTOR: 'off' });

const code = (page: Page) => page.getByLabel('Code', { exact: true });

/** Opens the second step. */
async function open(page: Page, email: string, path = '/login'): Promise<void> {
  await page.goto(path);
  await sendPassword(page, email);
  await heading(page).getByText('Confirm that it is you').waitFor();
}

const endSignIns = (userId: string) =>
  service.sql("update pending_sign_ins set expires_at = now() - interval '1 second' where user_id = $1", [
    userId,
  ]);

test('a code of the app signs in and leads to the page that asked for it', async (t) => {
  const user = await addAppUser(service);
  const page = await visit(t, browser);
  await open(page, user.email, '/login?next=%2Faccount%3Fx%3D1');
  await assertFocusIn(page, 'h1');
  await page.getByText(user.email, { exact: true }).waitFor();
  assert.equal(await page.locator('[autocomplete="username"]').inputValue(), user.email);
  assert.equal(await code(page).getAttribute('inputmode'), 'numeric');
  assert.equal(await code(page).getAttribute('autocomplete'), 'one-time-code');
  const digits = codeOf(user.secret);
  await code(page).fill(` ${digits.slice(0, 3)} ${digits.slice(3)}`);
  await page.keyboard.press('Enter');
  await page.waitForURL('**/account?x=1');
  await page.getByText(user.email).first().waitFor();
  assert.equal(await page.evaluate('sessionStorage.getItem("castellan.second-step")'), null);
});

test('the page sends nothing before the form is submitted, and nothing that cannot be a code', async (t) => {
  const user = await addAppUser(service);
  const page = await visit(t, browser);
  await open(page, user.email);
  const sent: string[] = [];
  page.on('request', (request) => sent.push(new URL(request.url()).pathname));
  await code(page).fill(wrongCodeOf(user.secret));
  await code(page).fill('12345');
  assert.deepEqual(sent, []);
  await page.keyboard.press('Enter');
  await status(page).getByText('The code has six digits.').waitFor();
  assert.deepEqual(sent, []);
});

test('a wrong code tells the tries that are left, selects the field and is tied to it', async (t) => {
  const user = await addAppUser(service);
  const page = await visit(t, browser);
  await open(page, user.email);
  const wrong = wrongCodeOf(user.secret);
  await code(page).fill(wrong);
  await page.getByRole('button', { name: 'Confirm' }).click();
  await status(page).getByText('This code is wrong. 4 tries left.').waitFor();
  await assertFocusIn(page, '[name="totp"]');
  assert.equal(await page.evaluate('getSelection().toString()'), wrong);
  assert.equal(await code(page).getAttribute('aria-invalid'), 'true');
  const described = await code(page).getAttribute('aria-describedby');
  assert.equal(await status(page).getAttribute('id'), described);
  for (const left of ['3 tries', '2 tries', '1 try']) {
    await page.keyboard.press('Enter');
    await status(page).getByText(`This code is wrong. ${left} left.`).waitFor();
  }
  await page.keyboard.press('Enter');
  await status(page).getByText('Too many wrong codes. Start the sign-in again.').waitFor();
  await heading(page).getByText('Sign in').waitFor();
  assert.equal(await page.getByLabel('Email address').inputValue(), user.email);
});

test('an account none of whose factors works is told so, and where to get help', async (t) => {
  const user = await addAppUser(service);
  await service.sql('update totp_factors set suspended_at = now() where user_id = $1', [user.id]);
  await service.sql('update recovery_codes set used_at = now() where user_id = $1', [user.id]);
  const page = await visit(t, browser);
  await page.goto('/login');
  await sendPassword(page, user.email);
  await status(page).getByText('Ask your administrator to reset them.').waitFor();
  await heading(page).getByText('Sign in').waitFor();
});

test('a locked app says when it opens again, and a recovery code still signs in', async (t) => {
  const user = await addAppUser(service);
  const page = await visit(t, browser);
  await open(page, user.email);
  await service.sql(
    `insert into factor_attempts (user_id, failures, locks, total, locked_until, updated_at)
     values ($1, 0, 1, 5, now() + interval '14 minutes', now())`,
    [user.id],
  );
  await code(page).fill(codeOf(user.secret));
  await page.keyboard.press('Enter');
  await status(page)
    .getByText(/Too many wrong codes. Try again in 14 minutes, or choose/)
    .waitFor();
  await page.getByRole('button', { name: 'Recovery code' }).click();
  await assertFocusIn(page, 'h1');
  assert.equal(await status(page).textContent(), '');
  const [recoveryCode = ''] = user.recoveryCodes;
  await page.getByLabel('Recovery code').fill(recoveryCode.toLowerCase().replaceAll('-', ' '));
  await page.keyboard.press('Enter');
  await page.waitForURL('**/account');
});

test('a reload returns to the second step, and so does a second look at the page', async (t) => {
  const user = await addAppUser(service);
  const page = await visit(t, browser);
  await open(page, user.email);
  await page.reload();
  await heading(page).getByText('Confirm that it is you').waitFor();
  await assertFocusIn(page, 'h1');
  await code(page).fill(codeOf(user.secret));
  await page.keyboard.press('Enter');
  await page.waitForURL('**/account');
});

test('people can go back to the password, also after a reload', async (t) => {
  const user = await addAppUser(service);
  const page = await visit(t, browser);
  await open(page, user.email);
  await page.getByRole('button', { name: 'Start the sign-in again' }).click();
  await heading(page).getByText('Sign in').waitFor();
  await assertFocusIn(page, 'h1');
  assert.equal(await page.getByLabel('Email address').inputValue(), user.email);
  await page.reload();
  await heading(page).getByText('Sign in').waitFor();
});

test('a sign-in that is over leads back to the password, with the email', async (t) => {
  const user = await addAppUser(service);
  const page = await visit(t, browser);
  await open(page, user.email);
  await endSignIns(user.id);
  await code(page).fill(codeOf(user.secret));
  await page.keyboard.press('Enter');
  await status(page).getByText('This sign-in has expired.').waitFor();
  await assertFocusIn(page, '.notice');
  await heading(page).getByText('Sign in').waitFor();
  assert.equal(await page.getByLabel('Email address').inputValue(), user.email);
  await sendPassword(page, user.email);
  await heading(page).getByText('Confirm that it is you').waitFor();
  await code(page).fill(codeOf(user.secret));
  await page.keyboard.press('Enter');
  await page.waitForURL('**/account');
});

test('a tab that is opened again after ten minutes begins with the password', async (t) => {
  const user = await addAppUser(service);
  const page = await visit(t, browser);
  await open(page, user.email);
  await page.evaluate(`{
    const kept = JSON.parse(sessionStorage.getItem('castellan.second-step'));
    sessionStorage.setItem('castellan.second-step', JSON.stringify({ ...kept, startedMs: Date.now() - 600_000 }));
  }`);
  await page.reload();
  await status(page).getByText('This sign-in has expired.').waitFor();
  assert.equal(await page.getByLabel('Email address').inputValue(), user.email);
});

test('the second step is accessible, also with a wrong code, and nothing moves after a reload', async (t) => {
  const user = await addAppUser(service);
  const page = await visit(t, browser);
  await open(page, user.email);
  await assertPageAccessible(page, 'the app');
  await code(page).fill(wrongCodeOf(user.secret));
  await page.keyboard.press('Enter');
  await status(page).getByText('tries left').waitFor();
  await assertPageAccessible(page, 'a wrong code');
  await page.getByRole('button', { name: 'Recovery code' }).click();
  await assertPageAccessible(page, 'a recovery code');
  await page.addInitScript(`
    window.shifts = 0;
    new PerformanceObserver((list) => list.getEntries().forEach(({ value }) => { shifts += value; }))
      .observe({ type: 'layout-shift', buffered: true });`);
  await page.reload();
  await code(page).waitFor();
  assert.equal(await page.evaluate<number>('shifts'), 0);
});
