// The client in five tabs of a real browser, against the real service. Fails without a browser.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { openBrowser } from '@castellan/testing/e2e/browser';
import { ADMIN, startTestService } from '@castellan/testing/harness';
import type { Page } from 'playwright-core';
import { bundleClient } from '../bundle.ts';

const TABS = 5;
const CREDENTIALS = JSON.stringify(ADMIN);
/** A call whose result or code is returned. */
const ME = `client.get('/api/v1/users/me').then(({ data }) => data.email, ({ code }) => code)`;
const html = `<!doctype html><title>tab</title><script>${await bundleClient()}</script>
<script>
  var client = castellan.createClient({ baseUrl: location.origin });
  var events = [];
  client.auth.subscribe(({ type }) => events.push(type));
</script>`;

// Locks exist only in secure contexts, and 127.0.0.1 is one.
const service = await startTestService({ after });
const browser = await openBrowser({ after }, service);

/** Opens a browser without cookies. `requests` grows with each call of the API. */
async function openVisit() {
  const context = await browser.newContext();
  const requests: string[] = [];
  await context.route('**/tab', (route) => route.fulfill({ contentType: 'text/html', body: html }));
  context.on('request', (request) => {
    const { pathname } = new URL(request.url());
    if (pathname.startsWith('/api/')) requests.push(`${request.method()} ${pathname}`);
  });
  const openTab = async (): Promise<Page> => {
    const page = await context.newPage();
    page.setDefaultTimeout(60_000);
    await page.goto(`${service.url}/tab`);
    return page;
  };
  const refreshes = () => requests.filter((one) => one.endsWith('/new_access_token')).length;
  return { context, requests, refreshes, openTab };
}

/** Opens five tabs, of which the first signs in. */
async function signedInTabs() {
  const visit = await openVisit();
  const tabs: Page[] = [];
  for (let i = 0; i < TABS; i++) tabs.push(await visit.openTab());
  await tabs[0]?.evaluate(`client.auth.signIn(${CREDENTIALS})`);
  await Promise.all(tabs.map((tab) => becomes(tab, 'authenticated')));
  return { ...visit, tabs };
}

const becomes = (tab: Page, state: string) => tab.waitForFunction(`client.auth.state === '${state}'`);
const evaluateAll = (tabs: Page[], code: string) => Promise.all(tabs.map((tab) => tab.evaluate(code)));

test('five tabs with expired tokens cause one refresh', async () => {
  const { tabs, refreshes } = await signedInTabs();
  assert.equal(refreshes(), 0, 'the sign-in of one tab signs the others in');
  for (let round = 1; round <= 3; round++) {
    await service.sql(`delete from session_tokens where kind = 'access'`);
    assert.deepEqual(await evaluateAll(tabs, ME), Array(TABS).fill(ADMIN.email));
    assert.equal(refreshes(), round);
  }
});

test('five tabs of a revoked session cause one refresh and are all anonymous', async () => {
  const { tabs, refreshes } = await signedInTabs();
  await service.sql('delete from session_tokens');
  const codes = await evaluateAll(tabs, ME);
  assert.equal(codes.includes(ADMIN.email), false);
  await Promise.all(tabs.map((tab) => becomes(tab, 'anonymous')));
  assert.equal(refreshes(), 1);
  assert.deepEqual(await evaluateAll(tabs, 'events'), Array(TABS).fill(['authenticated', 'session_ended']));
});

test('a new tab and a reloaded one take the session of the others', async () => {
  const { tabs, refreshes, openTab } = await signedInTabs();
  await tabs[1]?.reload();
  for (const tab of [await openTab(), tabs[1]!]) {
    assert.equal(await tab.evaluate('client.auth.restore()'), 'authenticated');
    assert.equal(await tab.evaluate(ME), ADMIN.email);
  }
  assert.equal(refreshes(), 0);
});

test('the only tab is reloaded: one refresh, and no secret in what scripts can read', async () => {
  const { refreshes, openTab } = await openVisit();
  const tab = await openTab();
  await tab.evaluate(`client.auth.signIn(${CREDENTIALS})`);
  await tab.reload();
  assert.equal(await tab.evaluate('client.auth.restore()'), 'authenticated');
  assert.equal(refreshes(), 1);
  const readable = await tab.evaluate(
    'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])',
  );
  assert.doesNotMatch(String(readable), /eyJ|refresh/);
});

test('without a session, restoring sends nothing', async () => {
  const { requests, openTab } = await openVisit();
  const tab = await openTab();
  assert.equal(await tab.evaluate('client.auth.restore()'), 'anonymous');
  assert.deepEqual(requests, []);
});

test('a sign-out in one tab signs all out; five tabs that write use one CSRF token', async () => {
  const { tabs, requests } = await signedInTabs();
  const write = `client.post('/api/v1/roles', { body: { name: 'role ' + crypto.randomUUID() } }).then(() => 'done', ({ code }) => code)`;
  assert.deepEqual(await evaluateAll(tabs, write), Array(TABS).fill('done'));
  assert.equal(requests.filter((one) => one.endsWith('/csrf-token')).length, 1);
  await tabs[3]?.evaluate('client.auth.signOut()');
  await Promise.all(tabs.map((tab) => becomes(tab, 'anonymous')));
  assert.deepEqual(await tabs[0]?.evaluate('events'), ['authenticated', 'signed_out']);
});
