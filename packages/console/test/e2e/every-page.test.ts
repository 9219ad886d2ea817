// What holds for every page: accessible in both schemes and at both widths, translated, no complaint, no other origin.
// With PICTURES=1, it also takes a picture of each, which takes as long as the rest.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createVerifiedUser, PASSWORD } from '@castellan/testing/harness';
import type { Page } from 'playwright-core';
import { appPaths } from '../../src/common/paths.ts';
import { assertPageAccessible } from '../accessibility.ts';
import { exampleRecords, fillWithPeople, heading, openAs, startConsole } from '../harness.ts';
import { photograph } from '../pictures.ts';
import { untranslatedTexts } from '../untranslated.ts';

const site = await startConsole({ after });
await fillWithPeople(site, 40);

const addressOf = await exampleRecords(site);
/** The reference is a library's page, in English only. */
const translated = appPaths.filter((path) => path !== '/reference').map(addressOf);

/** The page has loaded what it shows. */
async function settle(page: Page): Promise<void> {
  await heading(page).first().waitFor();
  await page.waitForLoadState('networkidle');
}

for (const path of appPaths)
  test(`${path} is accessible`, async (t) => {
    const { page } = await openAs(t, site, addressOf(path));
    await settle(page);
    // The API reference shows a heading of its own, too.
    if (path !== '/reference') assert.equal(await heading(page).count(), 1);
    const name = path.replace(':id', 'one').slice(1).replaceAll('/', '-');
    await assertPageAccessible(page, path, (scheme, { width }) =>
      photograph(page, `${name}-${scheme}-${width}`),
    );
  });

test('every text of every page is translated, also from right to left', async (t) => {
  const { page } = await openAs(t, site, '/overview');
  await page.evaluate("localStorage.setItem('castellan.language', 'en-XB')");
  const known: string[] = [];
  page.on('response', async (response) => {
    if (response.url().includes('/api/')) known.push(await response.text().catch(() => ''));
  });
  for (const path of translated) {
    await page.goto(path);
    await settle(page);
    assert.equal(await page.locator('html').getAttribute('dir'), 'rtl');
    assert.deepEqual(await untranslatedTexts(page, known), [], path);
    const isTooWide = await page.evaluate(
      'document.documentElement.scrollWidth > document.documentElement.clientWidth',
    );
    assert.equal(isTooWide, false, `${path} scrolls sideways from right to left`);
  }
});

test('a person without permissions reaches no dead end', async (t) => {
  const { email } = await createVerifiedUser(site.service);
  const { page } = await openAs(t, site, '/account', { as: { email, password: PASSWORD } });
  await settle(page);
  const links = await page.getByRole('navigation', { name: 'Pages' }).getByRole('link').all();
  const targets = await Promise.all(links.map((link) => link.getAttribute('href')));
  for (const target of targets) {
    await page.goto(target ?? '');
    await settle(page);
    assert.equal(await page.getByText('You cannot open this page').count(), 0, `${target}`);
  }
  for (const path of translated.filter((one) => !targets.includes(one) && one !== '/overview')) {
    await page.goto(path);
    await settle(page);
    await page.getByText('You cannot open this page').waitFor();
    assert.equal(new URL(page.url()).pathname, path);
  }
});
