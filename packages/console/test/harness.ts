// Opens the console in a real browser, on a service of its own, as a given person.
// Every test also checks that the page complained about nothing and asked no other origin.
import assert from 'node:assert/strict';
import { fillDemo } from '@castellan/server/modules/demo/service';
import { newVisit, nextVisit, openBrowser, type Visit } from '@castellan/testing/e2e/browser';
import {
  ADMIN,
  type Hooks,
  signIn as loggedIn,
  startTestService,
  type TestService,
} from '@castellan/testing/harness';
import { addProvider } from '@castellan/testing/openid/providers';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';

export type Console = { service: TestService; browser: Browser };

/** Starts a service and a browser for a test or a whole file. */
export async function startConsole(t: Hooks, environment: Record<string, string> = {}): Promise<Console> {
  // Browsers keep Secure cookies of plain http for localhost only.
  const service = await startTestService(t, { COOKIE_SECURE: 'false', ...environment });
  return { service, browser: await openBrowser(t, service) };
}

/** Returns what makes an address of the path of a page: with the id of a record of the kind that the page shows. */
export async function exampleRecords({ service }: Console): Promise<(path: string) => string> {
  const [role] = await service.sql<{ id: string }>("select id from roles where name = 'Admin'");
  const admin = await loggedIn(service, ADMIN);
  const { status, body } = await admin.post('/api/v1/applications', {
    client_id: 'example',
    name: 'Example',
    redirect_uris: ['https://app.example.com/callback'],
  });
  assert.equal(status, 201, JSON.stringify(body));
  const provider = await addProvider(service, { name: 'Example' });
  // Told of what does not happen in tests, so that nothing is sent.
  const webhook = await admin.post('/api/v1/webhooks', {
    name: 'Example',
    url: 'https://hooks.example.com/events',
    events: ['database_restored'],
  });
  assert.equal(webhook.status, 201, webhook.text);
  const ids = {
    roles: role?.id ?? '',
    applications: body.data.id,
    'identity-providers': provider.id,
    webhooks: webhook.body.data.id,
  };
  return (path) =>
    Object.entries(ids).reduce((now, [kind, id]) => now.replace(`/${kind}/:id`, `/${kind}/${id}`), path);
}

/** Fills the service with the company of `castellan demo`. */
export async function fillWithPeople({ service }: Console, people: number): Promise<void> {
  const { deps } = service.service;
  await fillDemo(deps, { people, seed: '1', passwordHash: null, onProgress: () => {} });
}

/**
 * Opens a page as this person, without the sign-in page. The page's complaints fail the test at its end, except those that
 * contain one of the texts in `expected`, such as "403" where a test provokes a refusal. With `context`, the window is
 * new and has these options.
 */
export async function openAs(
  t: Hooks,
  { browser }: Console,
  path: string,
  options: {
    as?: { email: string; password: string };
    expected?: string[];
    context?: BrowserContextOptions;
  } = {},
): Promise<Visit> {
  const visit = options.context
    ? await newVisit(browser, { locale: 'en-US', ...options.context })
    : await nextVisit(browser);
  const { page, complaints, foreign } = visit;
  t.after(async () => {
    await visit.leave();
    const unexpected = complaints.filter((one) => !options.expected?.some((part) => one.includes(part)));
    assert.deepEqual({ complaints: unexpected, foreign }, { complaints: [], foreign: [] });
  });
  if (options.context) await page.goto('/docs/errors');
  await page.evaluate(signIn, options.as ?? ADMIN);
  await page.goto(path);
  return visit;
}

/** Runs in the page. */
async function signIn({ email, password }: { email: string; password: string }): Promise<void> {
  const csrf = await (await fetch('/api/v1/auth/csrf-token')).json();
  const answer = await fetch('/api/v1/auth/login', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-csrf-token': csrf.data.csrf_token },
    body: JSON.stringify({ email, password }),
  });
  if (!answer.ok) throw new Error(`signing in failed: ${answer.status}`);
  // The SDK's note that this browser has a session. It is no secret.
  localStorage.setItem(`castellan:${location.origin}:session`, 'test');
}

/** Waits until the focus is in an element of the selector. On the body, keyboards would begin again at the top. */
export const assertFocusIn = (page: Page, selector: string): Promise<void> =>
  page.locator(`${selector}:focus, ${selector} :focus`).waitFor({ state: 'attached' });

export const heading = (page: Page) => page.getByRole('heading', { level: 1 });
