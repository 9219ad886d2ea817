// Phones: the filters of lists fold behind one button, the list begins on the first screen, and nothing in a page scrolls.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Page } from 'playwright-core';
import { appPaths } from '../../../src/common/paths.ts';
import { exampleRecords, fillWithPeople, heading, openAs, startConsole } from '../../harness.ts';
import { layoutFaults } from '../../layout-faults.ts';

const site = await startConsole({ after });
await fillWithPeople(site, 40);
const addressOf = await exampleRecords(site);

const phone = { viewport: { width: 390, height: 844 } };
const fold = (page: Page, name: RegExp) => page.getByRole('button', { name, expanded: false });

/** Each list with filters, one that is set, and a control among them. */
const lists = [
  { path: '/users', set: '?status=active', control: 'Status' },
  { path: '/roles', set: '?holders=none', control: 'Filter' },
  { path: '/matrix', set: '?roles=custom', control: 'Permission group' },
  { path: '/permissions', set: '?is_builtin=false', control: 'Filter' },
  {
    path: '/sessions',
    set: '?address=203.0.113.0/24',
    control: 'Address or network, such as 203.0.113.0/24',
  },
  { path: '/audit', set: '?result=failure', control: 'Result' },
];

for (const { path, set, control } of lists)
  test(`the filters of ${path} fold on phones behind a button with the number of those set`, async (t) => {
    const { page } = await openAs(t, site, path, { context: phone });
    const filter = page.getByLabel(control, { exact: true }).first();
    await fold(page, /^Filters$/).waitFor();
    assert.equal(await filter.isVisible(), false);
    await page.goto(path + set);
    const button = fold(page, /^Filters \(1\)$/);
    await button.waitFor();
    assert.equal(await filter.isVisible(), false);
    await button.click();
    await filter.waitFor();
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.reload();
    await filter.waitFor();
    assert.equal(await button.count(), 0);
  });

test('the first user stands on the first screen of a phone', async (t) => {
  const { page } = await openAs(t, site, '/users', { context: phone });
  const first = await page.locator('[data-row]').first().boundingBox();
  assert.ok(
    first && first.y + first.height <= 844 * 0.75,
    `it ends at ${first && first.y + first.height} px`,
  );
});

test('a refused filter shows on phones, although the others are folded', async (t) => {
  const { page } = await openAs(t, site, '/sessions?address=nowhere', { context: phone, expected: ['422'] });
  await page.locator('[aria-invalid="true"]').waitFor();
});

test('on phones, nothing that stands inside a page scrolls by itself', async (t) => {
  const { page } = await openAs(t, site, '/account', { context: phone });
  const faultsOf = async (path: string): Promise<string[]> => {
    await page.goto(path);
    await heading(page).first().waitFor();
    await page.waitForLoadState('networkidle');
    for (const closed of await page.locator('details:not([open]) > summary').all()) await closed.click();
    for (const closed of await page.locator('.filter-fold').all()) await closed.click();
    return layoutFaults(page).then((all) => all.filter((one) => one.startsWith('a box')));
  };
  for (const path of appPaths) assert.deepEqual(await faultsOf(addressOf(path)), [], path);
  const admin = '/access?permission=users.read&view=check&user=';
  const [{ id } = { id: '' }] = await site.service.sql<{ id: string }>('select id from users limit 1');
  assert.deepEqual(await faultsOf(admin + id), []);
});

test('a role group that is chosen on a phone comes into view below its tree', async (t) => {
  const { page } = await openAs(t, site, '/role-groups', { context: phone });
  await page.getByRole('treeitem').first().click();
  const title = page.getByRole('heading', { level: 2 });
  await title.waitFor();
  const top = (await title.boundingBox())?.y ?? 0;
  assert.ok(top >= 56 && top < 844, `its heading is at ${top} px`);
});
