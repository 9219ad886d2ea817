// The React bindings in a real browser, against the stand-in. Fails without a browser.
import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openBrowser } from '@castellan/testing/e2e/browser';
import type { Page, Route } from 'playwright-core';
import { createTestCastellan } from '../../src/testing.ts';
import { bundle } from '../bundle.ts';
import { gate } from '../fixture.ts';

// Locks exist only in secure contexts, and localhost is one. No server listens here: every request is intercepted.
const ORIGIN = 'http://localhost';
const ME = 'GET /api/v1/users/me';
const REFRESH = 'POST /api/v1/auth/new_access_token';

const SIGNED_OUT = 'nobody, may not ship, no orders';
const ADA = 'ada@example.com, may ship, orders';
const GRACE = 'grace@example.com, may not ship, no orders';

const file = fileURLToPath(new URL('react-page.tsx', import.meta.url));
// Only a development build of React has a strict mode that does everything twice.
const { code } = await bundle(`export { shown } from ${JSON.stringify(file)};`, { mode: 'development' });
const html = `<!doctype html><meta charset="utf-8"><title>page</title><link rel="icon" href="data:,">
<body><script>${code.replaceAll('</script', '<\\/script')}; var { shown } = castellan;</script>`;
const browser = await openBrowser({ after });

/** Opens a browser without cookies, with a Castellan of its own. `requests` grows with each call of the API. */
async function openVisit({ isStrict = false } = {}) {
  const castellan = createTestCastellan();
  const ada = castellan.addUser({ email: 'ada@example.com', permissions: ['orders.read', 'orders.ship'] });
  const grace = castellan.addUser({ email: 'grace@example.com' });
  const fetch = castellan.browserFetch();
  const context = await browser.newContext();
  const requests: string[] = [];
  const complaints: string[] = [];
  /** Requests of these operations wait. */
  const held = new Map<string, Promise<void>>();

  async function answer(route: Route): Promise<void> {
    const request = route.request();
    const { pathname, search } = new URL(request.url());
    const operation = `${request.method()} ${pathname}`;
    requests.push(operation);
    await held.get(operation);
    try {
      const body = request.postData();
      const response = await fetch(castellan.baseUrl + pathname + search, {
        method: request.method(),
        headers: request.headers(),
        ...(body === null ? {} : { body }),
      });
      await route.fulfill({
        status: response.status,
        headers: Object.fromEntries(response.headers),
        body: await response.text(),
      });
    } catch {
      await route.abort();
    }
  }

  await context.route(`${ORIGIN}/**`, (route) =>
    new URL(route.request().url()).pathname.startsWith('/api/')
      ? answer(route)
      : route.fulfill({ contentType: 'text/html', body: html }),
  );
  const openTab = async (): Promise<Page> => {
    const tab = await context.newPage();
    tab.setDefaultTimeout(60_000);
    tab.on('pageerror', (error) => complaints.push(String(error)));
    tab.on('console', (message) => {
      // The browser itself reports each request that fails.
      if (message.type() === 'error' && !message.text().startsWith('Failed to load'))
        complaints.push(message.text());
    });
    await tab.goto(`${ORIGIN}/${isStrict ? '?strict' : ''}`);
    return tab;
  };
  const countOf = (operation: string): number => requests.filter((one) => one === operation).length;
  const hold = (operation: string): (() => void) => {
    const { opened, open } = gate();
    held.set(operation, opened);
    return () => {
      held.delete(operation);
      open();
    };
  };
  return { castellan, ada, grace, context, requests, complaints, openTab, countOf, hold };
}

type Visit = Awaited<ReturnType<typeof openVisit>>;

const showing = (tab: Page, text: string) => tab.waitForFunction(`shown.at(-1) === ${JSON.stringify(text)}`);
const shownIn = (tab: Page): Promise<unknown> => tab.evaluate('shown');
const signIn = (tab: Page, { email, password }: Visit['ada']) =>
  tab.evaluate(`client.auth.signIn(${JSON.stringify({ email, password })}).then(() => {})`);
const waitForRequest = (tab: Page, operation: string) =>
  tab.waitForRequest((one) => `${one.method()} ${new URL(one.url()).pathname}` === operation);

/** Returns a visit with one tab that shows Ada's account. */
async function visitOfAda(options: { isStrict?: boolean } = {}) {
  const visit = await openVisit(options);
  const tab = await visit.openTab();
  await showing(tab, SIGNED_OUT);
  await signIn(tab, visit.ada);
  await showing(tab, ADA);
  return { ...visit, tab };
}

/** Reloads the page, and waits until its new content appears. */
async function reopen(tab: Page, text: string): Promise<void> {
  await tab.reload();
  await showing(tab, text);
}

for (const isStrict of [false, true])
  suite(`300 components${isStrict ? ' in strict mode' : ''}`, () => {
    test('a page without a session asks nothing and shows the signed-out content', async () => {
      const { requests, complaints, openTab } = await openVisit({ isStrict });
      const tab = await openTab();
      await showing(tab, SIGNED_OUT);
      assert.deepEqual(await shownIn(tab), ['loading', SIGNED_OUT]);
      assert.deepEqual(requests, []);
      assert.deepEqual(complaints, []);
    });

    test('signing in and each load read the user once, and nothing flashes', async () => {
      const { tab, countOf, openTab, complaints } = await visitOfAda({ isStrict });
      assert.deepEqual(await shownIn(tab), ['loading', SIGNED_OUT, ADA]);
      assert.equal(countOf(ME), 1);
      await reopen(tab, ADA);
      assert.deepEqual(await shownIn(tab), ['loading', ADA]);
      assert.equal(countOf(ME), 2);
      const second = await openTab();
      await showing(second, ADA);
      assert.deepEqual(await shownIn(second), ['loading', ADA]);
      assert.equal(countOf(ME), 3);
      assert.deepEqual(complaints, []);
    });

    test('a sign-out in one tab shows the signed-out content in the other', async () => {
      const { tab, openTab, countOf } = await visitOfAda({ isStrict });
      const second = await openTab();
      await showing(second, ADA);
      await tab.evaluate('client.auth.signOut()');
      for (const one of [tab, second]) {
        await showing(one, SIGNED_OUT);
        assert.equal(await one.evaluate('account.status'), 'ready');
      }
      assert.deepEqual(await shownIn(second), ['loading', ADA, SIGNED_OUT]);
      assert.equal(countOf(ME), 2);
    });

    test('another user replaces the content in every tab, without a mixture', async () => {
      const { tab, openTab, grace, countOf } = await visitOfAda({ isStrict });
      const second = await openTab();
      await showing(second, ADA);
      await signIn(tab, grace);
      for (const one of [tab, second]) await showing(one, GRACE);
      assert.deepEqual(await shownIn(tab), ['loading', SIGNED_OUT, ADA, 'loading', GRACE]);
      assert.deepEqual(await shownIn(second), ['loading', ADA, 'loading', GRACE]);
      assert.equal(countOf(ME), 4);
    });

    test('without Castellan at the start, the status is failed until reload finds the session', async () => {
      const { tab, castellan, countOf, complaints } = await visitOfAda({ isStrict });
      for (const how of ['no answer', 503] as const) {
        const before = countOf(ME);
        castellan.fail(how);
        await reopen(tab, 'failed');
        assert.equal(await tab.evaluate('account.user'), null);
        assert.equal(typeof (await tab.evaluate('account.error.code')), 'string');
        await tab.evaluate('account.reload()');
        assert.deepEqual(await shownIn(tab), ['loading', 'failed']);
        castellan.recover();
        await tab.evaluate('account.reload()');
        await showing(tab, ADA);
        assert.deepEqual(await shownIn(tab), ['loading', 'failed', ADA]);
        assert.equal(await tab.evaluate('account.error'), undefined);
        assert.equal(countOf(ME), before + 1);
      }
      assert.deepEqual(complaints, []);
    });
  });

test('reload resolves when the user is read, after a restored session too', async () => {
  const { tab, castellan } = await visitOfAda();
  castellan.fail(503);
  await reopen(tab, 'failed');
  castellan.recover();
  assert.equal(await tab.evaluate('account.reload().then(() => account.user?.email)'), 'ada@example.com');
});

test('a change of permissions appears after reload, in one step', async () => {
  const { tab, ada } = await visitOfAda();
  ada.revoke('orders.ship');
  await tab.evaluate('account.reload()');
  ada.grant('orders.ship');
  await tab.evaluate('account.reload()');
  const without = 'ada@example.com, may not ship, orders';
  assert.deepEqual(await shownIn(tab), ['loading', SIGNED_OUT, ADA, without, ADA]);
});

test('a failed reload keeps what is shown, and tells why', async () => {
  const { tab, castellan } = await visitOfAda();
  for (const how of ['no answer', 503] as const) {
    castellan.fail(how);
    await tab.evaluate('account.reload()');
    assert.equal(await tab.evaluate('account.status'), 'ready');
    assert.equal(typeof (await tab.evaluate('account.error.code')), 'string');
    castellan.recover();
    await tab.evaluate('account.reload()');
    assert.equal(await tab.evaluate('account.error'), undefined);
  }
  assert.deepEqual(await shownIn(tab), ['loading', SIGNED_OUT, ADA]);
});

test('a session that Castellan has ended shows the signed-out content after the next read', async () => {
  const { tab, ada } = await visitOfAda();
  ada.endSessions();
  await tab.evaluate('account.reload()');
  assert.deepEqual(await shownIn(tab), ['loading', SIGNED_OUT, ADA, SIGNED_OUT]);
  assert.equal(await tab.evaluate('account.status'), 'ready');
});

test('a page that becomes visible reads the user again only if the last answer is stale', async () => {
  const { tab, ada, countOf } = await visitOfAda();
  await tab.evaluate(`
    var visibility = 'visible', aheadMs = 0;
    const { now } = Date;
    Date.now = () => now() + aheadMs;
    Object.defineProperty(document, 'visibilityState', { get: () => visibility });
    var become = (state) => {
      visibility = state;
      document.dispatchEvent(new Event('visibilitychange'));
    }`);
  /** Returns how many reads the change caused. A request after it arrives later than they do. */
  const readsAfter = async (code: string): Promise<number> => {
    const before = countOf(ME);
    await tab.evaluate(`${code}; fetch('/api/v1/auth/csrf-token').then(() => {})`);
    return countOf(ME) - before;
  };
  assert.equal(await readsAfter(`become('hidden'); become('visible')`), 0);
  assert.equal(await readsAfter(`become('hidden'); aheadMs += 60_000`), 0);
  ada.revoke('orders.ship');
  assert.equal(await readsAfter(`become('visible'); become('hidden'); become('visible')`), 1);
  await showing(tab, 'ada@example.com, may not ship, orders');
  assert.equal(await readsAfter(`become('hidden'); become('visible')`), 0);
  await tab.evaluate('client.auth.signOut()');
  assert.equal(await readsAfter(`aheadMs += 60_000; become('visible')`), 0);
});

test('a refresh that fails after another tab signed in does not hide the user', async () => {
  const { tab, openTab, ada, castellan, hold } = await visitOfAda();
  const second = await openTab();
  await showing(second, ADA);
  ada.endSessions();
  const release = hold(REFRESH);
  await tab.goto('about:blank');
  await second.goto('about:blank');
  await Promise.all([waitForRequest(tab, REFRESH), tab.goto(ORIGIN)]);
  await second.goto(ORIGIN);
  await signIn(second, ada);
  await showing(tab, ADA);
  castellan.fail(503);
  release();
  await tab.waitForResponse((one) => one.status() === 503);
  await tab.evaluate('new Promise((resolve) => setTimeout(resolve))');
  assert.deepEqual(await shownIn(tab), ['loading', ADA]);
});

test('the answer for an earlier user is dropped when it arrives late', async () => {
  const { tab, grace, hold, countOf } = await visitOfAda();
  const release = hold(ME);
  await Promise.all([waitForRequest(tab, ME), tab.evaluate('void account.reload()')]);
  await Promise.all([waitForRequest(tab, ME), signIn(tab, grace)]);
  release();
  await showing(tab, GRACE);
  assert.deepEqual(await shownIn(tab), ['loading', SIGNED_OUT, ADA, 'loading', GRACE]);
  assert.equal(countOf(ME), 3);
});

test('another client shows nothing of the previous one', async () => {
  const { tab, countOf } = await visitOfAda();
  await tab.evaluate('client.close(); replaceClient()');
  await showing(tab, `${ADA}, second client`);
  assert.deepEqual(await shownIn(tab), ['loading', SIGNED_OUT, ADA, 'loading', `${ADA}, second client`]);
  assert.equal(countOf(ME), 2);
});
