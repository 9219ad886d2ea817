// The second step after a reset of somebody's factors, in a real browser with answers in the place of the service.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Page } from 'playwright-core';
import { assertPageAccessible } from '../../accessibility.ts';
import { heading, startConsole } from '../../harness.ts';
import { answer, refusal, secondFactor, sendPassword, status, visit } from './visits.ts';

const { browser } = await startConsole({ after });

const LINK = 'A'.repeat(43);

/** Lets the service answer to proofs. Returns the bodies that were sent. */
async function takeProofs(page: Page, answerStatus: number, body: object): Promise<unknown[]> {
  const sent: unknown[] = [];
  await page.route('**/login/second-factor', (route) => {
    sent.push(route.request().postDataJSON());
    return route.fulfill({ status: answerStatus, json: body });
  });
  return sent;
}

test('a link that was opened first is used after the password, and is in no address', async (t) => {
  const page = await visit(t, browser);
  await answer(page, 'login', 422, secondFactor(['recovery_link']));
  const sent = await takeProofs(page, 200, { data: { access_token: 'a.b.c' } });
  await page.route('**/account', (route) => route.fulfill({ contentType: 'text/html', body: 'in' }));
  await page.goto(`/login#recovery=${LINK}`);
  await status(page).getByText('We then use the link that you have opened.').waitFor();
  assert.equal(page.url(), 'http://castellan.test/login');
  await page.reload();
  await status(page).getByText('We then use the link that you have opened.').waitFor();
  await sendPassword(page, 'ada@example.com');
  await page.waitForURL('**/account');
  assert.deepEqual(sent, [{ token: 'pending-token', recovery_token: LINK }]);
  assert.equal(await page.evaluate('sessionStorage.getItem("/login")'), null);
});

test('without the link, the page says where it went and sends it again', async (t) => {
  const page = await visit(t, browser);
  await answer(page, 'login', 422, secondFactor(['recovery_link']));
  await answer(page, 'login/recovery-mail', 200, { message: 'ok' });
  await page.goto('/login');
  await sendPassword(page, 'ada@example.com');
  await page.getByText('Your second factor was reset.').waitFor();
  await assertPageAccessible(page, 'a recovery link');
  await page.getByRole('button', { name: 'Send the link again' }).click();
  await status(page).getByText('a mail is on its way').waitFor();
  const again = page.getByRole('button', { name: /^Send the link again in/ });
  assert.equal(await again.getAttribute('aria-disabled'), 'true');
});

test('the link opened in the tab that waits for it signs in at once', async (t) => {
  const page = await visit(t, browser);
  await answer(page, 'login', 422, secondFactor(['recovery_link']));
  const sent = await takeProofs(page, 200, { data: { access_token: 'a.b.c' } });
  await page.route('**/account', (route) => route.fulfill({ contentType: 'text/html', body: 'in' }));
  await page.goto('/login');
  await sendPassword(page, 'ada@example.com');
  await page.getByText('Your second factor was reset.').waitFor();
  await page.evaluate(`location.hash = 'recovery=${LINK}'`);
  await page.waitForURL('**/account');
  assert.equal(sent.length, 1);
});

test('a dead link is told and forgotten', async (t) => {
  const page = await visit(t, browser);
  await answer(page, 'login', 422, secondFactor(['recovery_link']));
  const sent = await takeProofs(page, 422, refusal('second_factor_invalid', { attempts_left: 4 }));
  await page.goto(`/login#recovery=${LINK}`);
  await sendPassword(page, 'ada@example.com');
  await status(page).getByText('The link has expired, was already used').waitFor();
  await page.getByRole('button', { name: 'Start the sign-in again' }).click();
  await heading(page).getByText('Sign in').waitFor();
  assert.equal(await status(page).textContent(), '');
  await page.reload();
  await heading(page).getByText('Sign in').waitFor();
  assert.equal(await status(page).textContent(), '');
  assert.equal(sent.length, 1);
});
