// Opens the sign-in page for tests of the second step and of passkeys.
import assert from 'node:assert/strict';
import { setTimeout } from 'node:timers/promises';
import { newVisit, nextVisit, type Visit } from '@castellan/testing/e2e/browser';
import { type Hooks, PASSWORD } from '@castellan/testing/harness';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';

/** The page's complaints fail the test, except those that contain one of the texts in `expected`. */
export async function visit(
  t: Hooks,
  browser: Browser,
  { expected = ['422'], context }: { expected?: string[]; context?: BrowserContextOptions } = {},
): Promise<Page> {
  const opened: Visit = context
    ? await newVisit(browser, { locale: 'en-US', ...context })
    : await nextVisit(browser);
  t.after(async () => {
    await opened.leave();
    const complaints = opened.complaints.filter((one) => !expected.some((part) => one.includes(part)));
    assert.deepEqual({ complaints, foreign: opened.foreign }, { complaints: [], foreign: [] });
  });
  return opened.page;
}

/** In any language. */
export async function sendPassword(page: Page, email: string, password: string = PASSWORD): Promise<void> {
  await page.locator('[name="email"]').fill(email);
  await page.locator('[name="password"]').fill(password);
  await page.keyboard.press('Enter');
}

/** Hidden while it is empty. */
export const status = (page: Page) => page.locator('[role="status"]');

/** Answers an operation of the service in its place. */
export const answer = (page: Page, operation: string, status: number, body: object) =>
  page.route(`**/api/v1/auth/${operation}`, (route) =>
    route.fulfill({ status, contentType: 'application/json', body: JSON.stringify(body) }),
  );

export const refusal = (code: string, members: object = {}): object => ({
  detail: `The service says ${code}.`,
  code,
  request_id: 'r',
  ...members,
});

/** Returns the 422 that follows the right password of an account whose sign-in goes on with these methods. */
export const secondFactor = (methods: readonly string[], members: object = {}): object =>
  refusal('second_factor_required', {
    second_factor: {
      token: 'pending-token',
      expires_at: new Date(Date.now() + 600_000).toISOString(),
      methods,
      ...members,
    },
  });

export const passkeyOptions = {
  challenge: 'Y2hhbGxlbmdl',
  rpId: 'castellan.test',
  timeout: 300_000,
  userVerification: 'preferred',
  allowCredentials: [],
};

/** Lets the service offer passkeys. */
export async function offerPasskeys(page: Page): Promise<void> {
  const passkey = { available: true, rp_id: 'castellan.test', reason: null };
  await answer(page, 'sign-in-methods', 200, { data: { password: true, passkey, trusted_device_days: 30 } });
  await answer(page, 'login/passkey/options', 200, {
    data: { passkey: passkeyOptions, expires_at: new Date().toISOString() },
  });
}

/**
 * Gives the browser passkeys, which Chromium has on safe origins only. Requests are kept in `requests`, with their answer in
 * the hands of the test: `settle('Name of an error')`, or `settle()` with a passkey. An ended request fails a moment later.
 */
export const addAuthenticator = (page: Page, { suggests = false } = {}) =>
  page.addInitScript(`
    window.requests = [];
    window.PublicKeyCredential = class {
      static isConditionalMediationAvailable = async () => ${suggests};
      static signalUnknownCredential = async (signal) => { window.signalled = signal; };
    };
    const bytes = new Uint8Array([1, 2, 3]).buffer;
    const response = { authenticatorData: bytes, clientDataJSON: bytes, signature: bytes, userHandle: null };
    const passkey = { id: 'AQID', rawId: bytes, response, type: 'public-key', getClientExtensionResults: () => ({}) };
    const busy = () => window.requests.some((one) => one.isOpen);
    const get = ({ mediation = null, signal, publicKey }) => new Promise((resolve, reject) => {
      const fail = (name) => { request.isOpen = false; reject(new DOMException('refused', name)); };
      const settle = (name) => { request.isOpen = false; name ? fail(name) : resolve(passkey); };
      const request = { mediation, rpId: publicKey.rpId, isOpen: true, settle };
      const wasBusy = busy();
      window.requests.push(request);
      signal.addEventListener('abort', () => setTimeout(fail, 50, 'AbortError'));
      if (wasBusy) fail('NotAllowedError');
      else if (window.refusals > 0) { window.refusals -= 1; fail('NotAllowedError'); }
    });
    Object.defineProperty(navigator, 'credentials', { value: { get } });
  `);

/** Settles the request that is open: with a passkey, or with the name of an error. */
export const settle = (page: Page, name = ''): Promise<void> =>
  page.evaluate(`requests.find((one) => one.isOpen).settle(${JSON.stringify(name)})`);

const requests = (page: Page) =>
  page.evaluate<{ isOpen: boolean }[]>('requests.map(({ isOpen }) => ({ isOpen }))');

/** Waits until so many requests were made and the last is open. The page's policy forbids `waitForFunction`. */
export async function waitForRequest(page: Page, count: number): Promise<void> {
  const deadline = Date.now() + 30_000;
  let made = await requests(page);
  while (made.length !== count || !made.at(-1)?.isOpen) {
    if (Date.now() > deadline) throw new Error(`waited for request ${count}: ${JSON.stringify(made)}`);
    await setTimeout(20);
    made = await requests(page);
  }
}
