// The time from an input to the next paint, with 12,000 users, and a matrix of 250 permissions and 40 roles.
// Times are compared with work of a known size that the same browser does at the same moment, so that a busy machine does not
// fail the test.
import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import type { Page } from 'playwright-core';
import { heading, openAs, startConsole } from '../harness.ts';

const site = await startConsole({ after });

/** Of a processor four times slower than this one. */
const CPU_SLOWDOWN = 4;
/** The inputs take 0.8 to 0.9 of the reference work, beside other load. Three times as long would be felt. */
const LIMIT = 3;
const INPUTS = 7;

await site.service.sql(`insert into users (id, email, first_name, last_name, password_hash, is_active, verified)
  select gen_random_uuid(), 'person' || n || '@example.com', 'Person', 'No' || n, null, true, true
    from generate_series(1, 12000) as n`);
await site.service.sql(`insert into permission_groups (id, name, description)
  select gen_random_uuid(), 'area' || n, '' from generate_series(1, 20) as n`);
await site.service.sql(`insert into permissions (id, name, description, group_id)
  select gen_random_uuid(), g.name || '.act' || n, '', g.id
    from permission_groups g, generate_series(1, 10) as n where g.name like 'area%'`);
await site.service.sql(`insert into roles (id, name, description)
  select gen_random_uuid(), 'Team ' || n, '' from generate_series(1, 38) as n`);
await site.service.sql(`insert into role_permissions (role_id, permission_id)
  select r.id, p.id from roles r, permissions p
   where r.name like 'Team%' and p.name like 'area%' and abs(hashtext(r.name || p.name)) % 3 = 0`);

async function slowDown(page: Page): Promise<void> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Emulation.setCPUThrottlingRate', { rate: CPU_SLOWDOWN });
}

/** Clicks each of the elements and returns the median time until the browser has painted the result. */
const clickEach = (page: Page, selector: string, from: number): Promise<number> =>
  page.evaluate<number>(`(async () => {
    const times = [];
    for (let n = 0; n < ${INPUTS}; n++) {
      const element = document.querySelectorAll(${JSON.stringify(selector)})[${from} + n];
      const started = performance.now();
      element.click();
      await new Promise((painted) => requestAnimationFrame(() => setTimeout(painted)));
      times.push(performance.now() - started);
    }
    return times.sort((a, b) => a - b)[${INPUTS >> 1}];
  })()`);

/** Lays out and paints a table of 2,000 plain cells. */
const referenceWork = (page: Page): Promise<number> =>
  page.evaluate<number>(`(async () => {
    const times = [];
    for (let n = 0; n < ${INPUTS}; n++) {
      const started = performance.now();
      const table = document.createElement('table');
      table.innerHTML = ('<tr>' + '<td>1</td>'.repeat(40) + '</tr>').repeat(50);
      document.body.append(table);
      await new Promise((painted) => requestAnimationFrame(() => setTimeout(painted)));
      table.remove();
      times.push(performance.now() - started);
    }
    return times.sort((a, b) => a - b)[${INPUTS >> 1}];
  })()`);

async function assertFast(
  t: TestContext,
  page: Page,
  what: string,
  run: () => Promise<number>,
): Promise<void> {
  const reference = await referenceWork(page);
  const time = await run();
  const ratio = time / reference;
  const result = `${what}: ${time.toFixed(0)} ms, ${ratio.toFixed(1)} times the reference work of ${reference.toFixed(0)} ms`;
  t.diagnostic(result);
  assert.ok(ratio <= LIMIT, result);
}

test('the list of users stays quick', async (t) => {
  const { page } = await openAs(t, site, '/users?size=100', { context: {} });
  await page.getByRole('row').nth(50).waitFor();
  await slowDown(page);
  await assertFast(t, page, 'selecting a row', () => clickEach(page, '[data-select]', 1));
  await assertFast(t, page, 'opening the pane', () => clickEach(page, '[data-open]', 1));
});

test('the matrix stays quick', async (t) => {
  const { page } = await openAs(t, site, '/matrix?f=area1', { context: {} });
  await heading(page).waitFor();
  await page.getByRole('checkbox').nth(200).waitFor();
  await slowDown(page);
  await assertFast(t, page, 'changing a cell', () =>
    clickEach(page, '[role="checkbox"]:not([aria-disabled="true"])', 20),
  );
});

test('the rows of the list of users wait for one refresh and one request, and shift nothing', async (t) => {
  const { page } = await openAs(t, site, '/docs/errors');
  const asked: string[] = [];
  page.on('request', (request) => {
    const { pathname } = new URL(request.url());
    if (pathname.startsWith('/api/')) asked.push(pathname.slice('/api/v1'.length));
  });
  await page.addInitScript(`
    window.shifted = 0;
    new PerformanceObserver((list) => {
      for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) window.shifted += value;
    }).observe({ type: 'layout-shift', buffered: true });`);
  // Whatever else the page reads never answers, so the rows cannot wait for it.
  const own = ['/auth/new_access_token', '/users/me', '/users'];
  // The first request of a browser that has no token yet; later ones share it.
  const answered = [...own, '/auth/csrf-token'];
  await page.route(
    (address) =>
      address.pathname.startsWith('/api/') && !answered.includes(address.pathname.slice('/api/v1'.length)),
    () => {},
  );
  await page.goto('/users');
  await page.locator('[data-row]').first().waitFor();
  assert.deepEqual(
    own.map((path) => asked.filter((one) => one === path).length),
    [1, 1, 1],
    asked.join(),
  );
  const shifted = await page.evaluate<number>('window.shifted');
  assert.ok(shifted <= 0.05, `the layout shifts by ${shifted}`);
});

test('a browser that opens the list of users for the first time asks for it before the app has loaded', async (t) => {
  const { page } = await openAs(t, site, '/docs/errors');
  // The app never loads. What asks for the rows is the file before it.
  await page.route(/\/assets\/app-[^/]+\.js$/, () => {});
  const asked = page.waitForRequest((request) => new URL(request.url()).pathname === '/api/v1/users');
  await page.goto('/users', { waitUntil: 'commit' });
  const { searchParams } = new URL((await asked).url());
  assert.equal(searchParams.get('include'), 'activity');
});

test('the rows beyond the first screen follow', async (t) => {
  const { page } = await openAs(t, site, '/users');
  await page.waitForFunction(() => document.querySelectorAll('[data-row]').length === 50);
});
