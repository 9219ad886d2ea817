// The frame of the console: menu by permission, palette, shortcuts, language, color scheme.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createVerifiedUser, PASSWORD } from '@castellan/testing/harness';
import { addPerson, addRole } from '@castellan/testing/users/people';
import type { Page } from 'playwright-core';
import { assertAccessible } from '../accessibility.ts';
import { heading, openAs, startConsole } from '../harness.ts';

const site = await startConsole({ after }, { APP_URL: 'https://app.example.com/start?a=1' });
const palette = (page: Page) => page.getByRole('dialog').getByRole('combobox');

test('the menu has the pages that the person may open', async (t) => {
  const { page } = await openAs(t, site, '/overview');
  await heading(page).waitFor();
  const all = await page.getByRole('navigation', { name: 'Pages' }).getByRole('link').allTextContents();
  assert.ok(all.includes('Users') && all.includes('Audit log'), all.join());

  const { email } = await createVerifiedUser(site.service);
  const other = await openAs(t, site, '/account', { as: { email, password: PASSWORD } });
  await heading(other.page).waitFor();
  const few = await other.page.getByRole('navigation', { name: 'Pages' }).getByRole('link').allTextContents();
  assert.ok(!few.includes('Users') && few.includes('My account'), few.join());
});

test('the menu leads back to the application', async (t) => {
  const { page } = await openAs(t, site, '/overview');
  const back = page.getByRole('link', { name: 'Back to app.example.com' });
  await back.waitFor();
  assert.equal(await back.getAttribute('href'), 'https://app.example.com/start?a=1');
});

test('the palette finds a person and opens them', async (t) => {
  const user = await createVerifiedUser(site.service);
  const { page } = await openAs(t, site, '/overview');
  await heading(page).waitFor();
  await page.keyboard.press('Control+k');
  await palette(page).fill(user.email.slice(0, -'example.com'.length));
  await page.getByRole('option').filter({ hasText: user.email }).waitFor();
  await page.keyboard.press('Enter');
  await page.waitForURL(`**/users?user=${user.id}`);
});

test('the palette offers what can be done on the page', async (t) => {
  const { page } = await openAs(t, site, '/roles');
  await heading(page).waitFor();
  await page.keyboard.press('Control+k');
  await palette(page).fill('new role');
  await page.getByRole('option', { name: 'New role' }).click();
  await page.getByRole('dialog', { name: 'New role' }).getByLabel('Name').waitFor();
});

test('the palette finds people for those who may only read single users', async (t) => {
  const as = await addPerson(site.service, { roles: [await addRole(site.service, 'users.read')] });
  const { page } = await openAs(t, site, '/overview', { as });
  await heading(page).waitFor();
  await page.keyboard.press('Control+k');
  await palette(page).fill(as.email);
  await page.getByRole('option').filter({ hasText: as.email }).waitFor();
});

test('keys open pages, and can be turned off', async (t) => {
  const { page } = await openAs(t, site, '/overview');
  await heading(page).waitFor();
  await page.keyboard.press('g');
  await page.keyboard.press('u');
  await page.waitForURL('**/users');
  await page.keyboard.press('?');
  const list = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
  await list.getByRole('switch').click();
  await page.keyboard.press('Escape');
  await list.waitFor({ state: 'detached' });
  await page.keyboard.press('g');
  await page.keyboard.press('r');
  await page.keyboard.press('Control+k');
  await palette(page).waitFor();
  assert.equal(new URL(page.url()).pathname, '/users');
});

test('the list of keys has what this page takes, and nothing else', async (t) => {
  const { page } = await openAs(t, site, '/overview');
  const list = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
  const lines = async (name: string): Promise<string[]> => {
    const terms = await list.getByRole('region', { name }).getByRole('term').allTextContents();
    return terms.filter((term) => !/^Go to [A-Z]/.test(term));
  };
  const open = async (path: string, shown: string): Promise<void> => {
    await page.goto(path);
    await page.locator(shown).first().waitFor();
    await page.keyboard.press('?');
    await list.waitFor();
  };
  await open('/overview', 'h1');
  assert.deepEqual(await lines('On this page'), []);
  // The page has no search box.
  assert.deepEqual(await lines('Everywhere'), [
    'Search people, roles, pages and actions',
    'Show this list',
    'Close the topmost layer',
  ]);
  await list.getByText('Go to Users').waitFor();
  const rows = ['Move between rows', 'Open the row'];
  for (const [path, shown, expected] of [
    ['/users', '[data-row]', [...rows, 'Open the next or previous user']],
    ['/roles', '[data-row]', rows],
    ['/audit', '.entry', ['Move between entries', 'Open the entry']],
    [
      '/role-groups',
      '[role="treeitem"]',
      [
        'Move between groups',
        'Go to the first or last group',
        'Unfold or fold the group',
        'Choose the group',
        'Move the group elsewhere',
        'Go to the group whose name begins so',
      ],
    ],
    ['/matrix', '[data-stop]', ['Move between cells', 'Change the cell']],
  ] as const) {
    await open(path, shown);
    const found = (await lines('On this page')).toSorted();
    for (const one of expected) assert.ok(found.includes(one), `${path}: ${one} of ${found.join()}`);
    if (path === '/users' || path === '/roles') assert.deepEqual(found, expected.toSorted(), path);
  }
  // Who may not change roles cannot change cells.
  const as = await addPerson(site.service, { roles: [await addRole(site.service, 'role.read')] });
  const reader = await openAs(t, site, '/matrix', { as });
  await reader.page.locator('[data-stop]').first().waitFor();
  await reader.page.keyboard.press('?');
  await reader.page.getByText('Move between cells').waitFor();
  assert.equal(await reader.page.getByText('Change the cell').count(), 0);
});

test('single keys that are off are not listed', async (t) => {
  const { page } = await openAs(t, site, '/users');
  await page.locator('[data-row]').first().waitFor();
  await page.keyboard.press('?');
  const list = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
  await list.getByText('Open the next or previous user').waitFor();
  await list.getByRole('switch').click();
  await list.getByText('Open the next or previous user').waitFor({ state: 'detached' });
  await list.getByText('Move between rows').waitFor();
  assert.equal(await list.getByText('Go to the search box of the page').count(), 0);
  await list.getByRole('switch').click();
  await list.getByText('Go to the search box of the page').waitFor();
});

test('the listed keys do what the list says', async (t) => {
  const { page } = await openAs(t, site, '/users');
  await page.locator('[data-row]').first().waitFor();
  await page.keyboard.press('j');
  await page.waitForURL(/user=/);
  // Only a pane that is drawn can be closed.
  await page.locator('.pane').waitFor();
  const first = new URL(page.url()).searchParams.get('user');
  await page.keyboard.press('ArrowDown');
  await page.waitForURL((url) => url.searchParams.get('user') !== first);
  await page.keyboard.press('k');
  await page.waitForURL((url) => url.searchParams.get('user') === first);
  await page.keyboard.press('Escape');
  await page.waitForURL((url) => !url.searchParams.has('user'));
  await page.keyboard.press('/');
  await page.locator('input[type="search"]:focus').waitFor();
  await page.keyboard.press('Control+K');
  await palette(page).waitFor();
  await page.keyboard.press('Escape');
  await page.goto('/matrix');
  await page.locator('[data-stop][tabindex="0"]').focus();
  await page.keyboard.press('Control+End');
  const isLast = await page
    .locator('[data-stop]')
    .last()
    .evaluate((stop) => stop === stop.ownerDocument.activeElement);
  assert.ok(isLast);
});

test('on a phone, search boxes are as wide as their page, and the tabs of a page stay in one row', async (t) => {
  for (const locale of ['en-US', 'de-DE']) {
    const { page } = await openAs(t, site, '/overview', {
      context: { locale, viewport: { width: 390, height: 844 } },
    });
    for (const path of ['/users', '/roles', '/matrix', '/permissions', '/settings']) {
      await page.goto(path);
      const search = page.locator('main .filters .grow').first();
      await search.waitFor();
      const { width } = await search.evaluate((box) => box.getBoundingClientRect());
      assert.equal(Math.round(width), 366, path);
    }
    await page.goto('/access');
    const tabs = page.getByRole('tab');
    await tabs.nth(2).waitFor();
    const tops = await tabs.evaluateAll((all) => all.map((tab) => tab.getBoundingClientRect().top));
    assert.equal(new Set(tops).size, 1, locale);
    const lines = await tabs.locator('.mantine-Tabs-tabLabel').evaluateAll((all) =>
      all.map((label) => {
        const range = document.createRange();
        range.selectNodeContents(label);
        return new Set([...range.getClientRects()].map(({ top }) => top)).size;
      }),
    );
    assert.deepEqual(lines, [1, 1, 1], locale);
  }
});

test('language and color scheme survive a reload', async (t) => {
  const { page } = await openAs(t, site, '/overview');
  await heading(page).waitFor();
  await page.getByRole('button', { name: /^Account of/ }).click();
  // The menu stays open.
  await page.getByRole('menuitemradio', { name: 'Dark' }).click();
  await page.getByRole('menuitemradio', { name: 'Deutsch' }).click();
  await page.getByRole('navigation', { name: 'Seiten' }).getByRole('link', { name: 'Benutzer' }).waitFor();
  await page.reload();
  await page.getByRole('navigation', { name: 'Seiten' }).waitFor();
  const root = page.locator('html');
  assert.equal(await root.getAttribute('lang'), 'de');
  assert.equal(await root.getAttribute('data-mantine-color-scheme'), 'dark');
});

test('an ended session asks for the password over the page and goes on', async (t) => {
  const { page } = await openAs(t, site, '/overview', { expected: ['401'] });
  await heading(page).waitFor();
  await page.waitForLoadState('networkidle');
  await site.service.sql('update users set session_epoch = session_epoch + 1 where email = $1', [
    'admin@example.com',
  ]);
  await page.keyboard.press('Control+k');
  await palette(page).fill('admin');
  const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
  await dialog.getByLabel(/^Password/).fill('Vexing#Quartz82Lime');
  await dialog.getByRole('button', { name: 'Sign in', exact: true }).click();
  await dialog.waitFor({ state: 'detached' });
  await page.getByRole('option').filter({ hasText: 'admin@example.com' }).waitFor();
});

test('the frame, the palette and the list of keys are accessible', async (t) => {
  const { page } = await openAs(t, site, '/overview');
  await heading(page).waitFor();
  await assertAccessible(page);
  await page.keyboard.press('Control+k');
  await palette(page).waitFor();
  await assertAccessible(page, 'the palette');
  await page.keyboard.press('Escape');
  await palette(page).waitFor({ state: 'detached' });
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
  await assertAccessible(page, 'the list of keys');
});

test('until the password is changed, only what works is offered; then the heading has the focus', async (t) => {
  const as = await addPerson(site.service, {
    roles: [await addRole(site.service, 'users.read', 'role.read')],
  });
  await site.service.sql('update users set must_change_password = true where id = $1', [as.id]);
  const { page } = await openAs(t, site, '/users', { as });
  await page.getByRole('heading', { name: 'Choose a new password first' }).waitFor();
  const menu = page.getByRole('navigation', { name: 'Pages' }).getByRole('link');
  const pages = async () => (await menu.allTextContents()).filter((name) => !name.startsWith('Back to'));
  assert.deepEqual(await pages(), ['My account']);
  await page.keyboard.press('Control+k');
  await palette(page).fill('a');
  assert.deepEqual(await page.getByRole('option').allTextContents(), ['My account', 'Keyboard shortcuts']);
  await page.keyboard.press('Escape');
  await page.getByLabel('Current password').fill(as.password);
  await page.getByRole('textbox', { name: 'New password' }).fill('Another-Vexing#Quartz82');
  await page.getByRole('button', { name: 'Change the password' }).press('Enter');
  await page.getByRole('heading', { name: 'My sessions' }).waitFor();
  await page.locator('h1:focus').waitFor();
  assert.ok((await pages()).includes('Roles'));
});

test('the focus returns to where it was when a dialog closes', async (t) => {
  const { page } = await openAs(t, site, '/roles');
  await page.getByRole('button', { name: 'New role' }).press('Enter');
  await page.getByRole('dialog', { name: 'New role' }).waitFor();
  await page.keyboard.press('Escape');
  await page.locator('button:focus', { hasText: 'New role' }).waitFor();
  await page.keyboard.press('?');
  const keys = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
  await keys.getByRole('switch').focus();
  await page.keyboard.press('Escape');
  await page.locator('button:focus', { hasText: 'New role' }).waitFor();
});
