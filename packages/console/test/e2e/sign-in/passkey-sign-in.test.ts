// Passkeys on the sign-in page, in a real browser with a pretended authenticator and answers in the place of the service.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Hooks } from '@castellan/testing/harness';
import type { Page } from 'playwright-core';
import { assertPageAccessible } from '../../accessibility.ts';
import { heading, startConsole } from '../../harness.ts';
import {
  addAuthenticator,
  answer,
  offerPasskeys,
  passkeyOptions,
  refusal,
  secondFactor,
  sendPassword,
  settle,
  status,
  visit,
  waitForRequest,
} from './visits.ts';

const { browser } = await startConsole({ after });

const button = (page: Page) => page.getByRole('button', { name: 'Sign in with a passkey' });
const mediations = (page: Page) => page.evaluate<(string | null)[]>('requests.map((one) => one.mediation)');

async function open(t: Hooks, { suggests = false } = {}): Promise<Page> {
  const page = await visit(t, browser, { expected: ['status of 4'], context: {} });
  await addAuthenticator(page, { suggests });
  await offerPasskeys(page);
  return page;
}

/** Lets the service accept the passkey. The page that follows is not part of the test. */
async function acceptPasskey(page: Page): Promise<unknown[]> {
  const sent: unknown[] = [];
  await page.route('**/api/v1/auth/login/passkey', (route) => {
    sent.push(route.request().postDataJSON());
    return route.fulfill({ json: { data: { access_token: 'a.b.c', token_type: 'bearer' } } });
  });
  await page.route('**/overview', (route) => route.fulfill({ contentType: 'text/html', body: 'in' }));
  return sent;
}

test('the button signs in with the passkey that the browser returns', async (t) => {
  const page = await open(t);
  const sent = await acceptPasskey(page);
  await page.goto('/login');
  await button(page).click();
  await page.getByRole('button', { name: 'Follow your browser…' }).waitFor();
  await waitForRequest(page, 1);
  await settle(page);
  await page.waitForURL('**/overview');
  assert.partialDeepStrictEqual(sent, [{ passkey: { id: 'AQID', rawId: 'AQID', type: 'public-key' } }]);
  assert.ok(await page.evaluate('localStorage.getItem("castellan:http://castellan.test:session")'));
});

test('nothing tells of passkeys where the service or the browser has none', async (t) => {
  const page = await open(t);
  await answer(page, 'sign-in-methods', 404, refusal('route_not_found'));
  const told = page.waitForResponse('**/sign-in-methods');
  await page.goto('/login');
  await told;
  await heading(page).waitFor();
  assert.equal(await page.getByText('passkey').count(), 0);
  const plain = await visit(t, browser, { context: {} });
  const asked: string[] = [];
  plain.on('request', (request) => asked.push(new URL(request.url()).pathname));
  await plain.goto('/login');
  await heading(plain).waitFor();
  assert.deepEqual(
    asked.filter((path) => path.startsWith('/api/') && path !== '/api/v1/auth/providers'),
    [],
  );
  const email = plain.getByLabel('Email address');
  assert.equal(await email.getAttribute('autocomplete'), 'username');
});

test('a suggestion of the email field signs in', async (t) => {
  const page = await open(t, { suggests: true });
  await acceptPasskey(page);
  await page.goto('/login');
  await waitForRequest(page, 1);
  assert.deepEqual(await mediations(page), ['conditional']);
  const autocomplete = await page.getByLabel('Email address').getAttribute('autocomplete');
  assert.equal(autocomplete, 'username webauthn');
  await settle(page);
  await page.waitForURL('**/overview');
});

test('the button ends the suggestions first, waits for it, and they come back after a refusal', async (t) => {
  const page = await open(t, { suggests: true });
  await page.goto('/login');
  await waitForRequest(page, 1);
  await button(page).click();
  await waitForRequest(page, 2);
  assert.deepEqual(await mediations(page), ['conditional', null]);
  await page.getByRole('button', { name: 'Cancel' }).click();
  await waitForRequest(page, 3);
  assert.deepEqual(await mediations(page), ['conditional', null, 'conditional']);
  assert.equal(await status(page).textContent(), '');
});

test('a request that fails at once is repeated once', async (t) => {
  const page = await open(t);
  await page.goto('/login');
  await button(page).waitFor();
  await page.evaluate('window.refusals = 1');
  await button(page).click();
  await waitForRequest(page, 2);
  await page.getByRole('button', { name: 'Cancel' }).click();
  await button(page).waitFor();
  await page.evaluate('window.refusals = 2');
  await button(page).click();
  await status(page).getByText('Nothing happened. Try again, or use your password.').waitFor();
  assert.equal(await page.evaluate('requests.length'), 4);
});

test('suggestions are renewed before their challenge expires, and only while the page shows', async (t) => {
  const page = await open(t, { suggests: true });
  await page.clock.install();
  await page.goto('/login');
  await waitForRequest(page, 1);
  await page.clock.runFor(481_000);
  // The one before fails a moment after it was ended.
  await page.clock.runFor(100);
  await waitForRequest(page, 2);
  await page.evaluate(
    `Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true })`,
  );
  await page.clock.runFor(1_000_000);
  assert.equal(await page.evaluate('requests.length'), 2);
  await page.evaluate(`{
    Object.defineProperty(document, 'visibilityState', { value: 'visible' });
    document.dispatchEvent(new Event('visibilitychange'));
  }`);
  await page.clock.runFor(100);
  await waitForRequest(page, 3);
  await page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`);
  await page.clock.runFor(100);
  assert.equal(await page.evaluate('requests.length'), 3);
});

test('a passkey that the service does not know is told, also to the browser', async (t) => {
  const page = await open(t);
  await answer(page, 'login/passkey', 422, refusal('passkey_unknown'));
  await page.goto('/login');
  await button(page).click();
  await waitForRequest(page, 1);
  await settle(page);
  await status(page).getByText('This passkey no longer works here. Use your password.').waitFor();
  const signalled = await page.evaluate('window.signalled');
  assert.deepEqual(signalled, { rpId: 'castellan.test', credentialId: 'AQID' });
});

test('a dialog that was open for too long can be opened again', async (t) => {
  const page = await open(t);
  await answer(page, 'login/passkey', 422, refusal('sign_in_expired'));
  await page.goto('/login');
  await button(page).click();
  await waitForRequest(page, 1);
  await settle(page);
  await status(page).getByText('Nothing happened. Try again, or use your password.').waitFor();
  await acceptPasskey(page);
  await button(page).click();
  await waitForRequest(page, 2);
  await settle(page);
  await page.waitForURL('**/overview');
});

test('a failure of the passkey goes when the password is sent', async (t) => {
  const page = await open(t);
  await answer(page, 'login', 422, refusal('invalid_credentials'));
  await page.goto('/login');
  await button(page).click();
  await waitForRequest(page, 1);
  await settle(page, 'InvalidStateError');
  await status(page).getByText('Nothing happened.').waitFor();
  await sendPassword(page, 'ada@example.com');
  await status(page).getByText('The service says invalid_credentials.').waitFor();
  assert.equal(await page.getByText('Nothing happened.').count(), 0);
});

test('nothing moves when the button appears, and the page is accessible with it', async (t) => {
  const page = await open(t);
  await page.addInitScript(`
    window.shifts = 0;
    new PerformanceObserver((list) => list.getEntries().forEach(({ value }) => { shifts += value; }))
      .observe({ type: 'layout-shift', buffered: true });`);
  await page.goto('/login');
  await button(page).waitFor();
  assert.equal(await page.evaluate<number>('shifts'), 0);
  await assertPageAccessible(page, 'with passkeys');
});

test('in the second step, a passkey is asked for by the button only, and the device can be trusted', async (t) => {
  const page = await open(t);
  const passkey = { ...passkeyOptions, allowCredentials: [{ id: 'AQID', type: 'public-key' }] };
  const step = secondFactor(['passkey', 'totp', 'recovery_code'], { passkey, may_trust_device: true });
  await answer(page, 'login', 422, step);
  await page.goto('/login');
  await sendPassword(page, 'ada@example.com');
  await heading(page).getByText('Confirm that it is you').waitFor();
  assert.equal(await page.evaluate('requests.length'), 0);
  await assertPageAccessible(page, 'passkey');
  await page.getByLabel('Trust this device for 30 days').check();
  const use = page.getByRole('button', { name: 'Use passkey' });
  await use.click();
  await waitForRequest(page, 1);
  await page.getByRole('button', { name: 'Cancel' }).click();
  await use.waitFor();
  assert.equal(await status(page).textContent(), '');
  const sent: unknown[] = [];
  await page.route('**/login/second-factor', (route) => {
    sent.push(route.request().postDataJSON());
    return route.fulfill({ status: 422, json: refusal('passkey_unknown') });
  });
  await use.click();
  await waitForRequest(page, 2);
  await settle(page);
  await status(page).getByText('This passkey no longer works here. Choose another way.').waitFor();
  assert.partialDeepStrictEqual(sent, [
    { token: 'pending-token', trust_device: true, passkey: { id: 'AQID' } },
  ]);
  await page.getByRole('button', { name: 'Authenticator app' }).click();
  await page.getByLabel('Code', { exact: true }).waitFor();
  assert.equal(await page.getByLabel('Trust this device for 30 days').isChecked(), true);
});

test('a browser without passkeys opens the next way', async (t) => {
  const page = await visit(t, browser, { context: {} });
  await answer(page, 'login', 422, secondFactor(['passkey', 'recovery_code'], { passkey: passkeyOptions }));
  await page.goto('/login');
  await sendPassword(page, 'ada@example.com');
  await page.getByLabel('Recovery code').waitFor();
  assert.equal(await page.getByText('Trust this device').count(), 0);
  await page.getByRole('button', { name: 'Passkey or security key' }).click();
  await page.getByText('This browser cannot use passkeys here.').waitFor();
});
