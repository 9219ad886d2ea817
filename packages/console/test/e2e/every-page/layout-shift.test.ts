// What has been shown does not move when the answers arrive, on a phone and on a desktop: the budget of every page.
import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { createVerifiedUser, PASSWORD } from '@castellan/testing/harness';
import type { Page } from 'playwright-core';
import { appPaths } from '../../../src/common/paths.ts';
import { exampleRecords, fillWithPeople, heading, openAs, startConsole } from '../../harness.ts';

const site = await startConsole({ after });
await fillWithPeople(site, 200);

/** The limit of https://web.dev/articles/cls is 0.1. */
const BUDGET = 0.05;
/** Answers arrive one after the other, so that each state between the grey boxes and the whole page shows. */
const FIRST_ANSWER_MS = 300;
const BETWEEN_ANSWERS_MS = 60;

const sizes = [
  { width: 390, height: 844 },
  { width: 1280, height: 800 },
];

const addressOf = await exampleRecords(site);

/** Runs in each page before its own scripts. */
const observe = `
  window.shifts = [];
  new PerformanceObserver((list) => {
    const textOf = ({ x, y, width, height }) => [x, y, width, height].map(Math.round).join();
    for (const { value, hadRecentInput, sources } of list.getEntries())
      if (!hadRecentInput)
        shifts.push({
          value,
          moved: sources.map(({ node, previousRect, currentRect }) => {
            const element = node instanceof Element ? node : node?.parentElement;
            return element?.outerHTML.slice(0, 80) + ' ' + textOf(previousRect) + ' to ' + textOf(currentRect);
          }),
        });
  }).observe({ type: 'layout-shift', buffered: true });`;

type Shift = { value: number; moved: string[] };

/** Opens each page at both sizes. Returns those beyond the budget, with what moved. */
async function unsteadyPages(page: Page, paths: readonly string[]): Promise<string[]> {
  await page.addInitScript(observe);
  let asked = 0;
  await page.route('**/api/v1/**', async (route) => {
    await setTimeout(FIRST_ANSWER_MS + BETWEEN_ANSWERS_MS * asked++);
    await route.continue();
  });
  const unsteady: string[] = [];
  for (const size of sizes) {
    await page.setViewportSize(size);
    for (const path of paths) {
      asked = 0;
      await page.goto(path);
      // The page of the API reference shows a heading of its own, too.
      await heading(page).first().waitFor();
      await page.waitForLoadState('networkidle');
      const shifts = await page.evaluate<Shift[]>('shifts');
      const sum = shifts.reduce((all, { value }) => all + value, 0);
      const moves = shifts.flatMap(({ value, moved }) => [`by ${value.toFixed(3)}:`, ...moved]);
      if (sum > BUDGET)
        unsteady.push([`${path} at ${size.width} pixels: ${sum.toFixed(3)}`, ...moves].join('\n  '));
    }
  }
  return unsteady;
}

test('no page moves while it loads', async (t) => {
  const { page } = await openAs(t, site, '/docs/errors', { context: {} });
  const paths = appPaths.map(addressOf);
  assert.deepEqual(await unsteadyPages(page, paths), []);
});

test('the name of the service does not move when the logo arrives', async (t) => {
  const logo = join(tmpdir(), `wide-logo-${process.pid}.svg`);
  await writeFile(
    logo,
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 120 40"><path d="M0 0h120v40H0z"/></svg>',
  );
  t.after(() => rm(logo));
  const own = await startConsole(t, { LOGO_FILE: logo, SERVICE_NAME: 'Acme accounts' });
  const { page } = await openAs(t, own, '/docs/errors', { context: {} });
  let held = Promise.withResolvers<void>();
  await page.route('**/brand/logo', async (route) => {
    await held.promise;
    await route.continue();
  });
  for (const path of ['/account', '/register']) {
    held = Promise.withResolvers<void>();
    await page.goto(path, { waitUntil: 'commit' });
    const name = page.locator('.brand span');
    await name.waitFor();
    const before = await name.boundingBox();
    assert.equal(
      await page.locator('.brand img').evaluate((img: HTMLImageElement) => img.naturalWidth),
      0,
      path,
    );
    held.resolve();
    await page.waitForFunction(() => document.querySelector<HTMLImageElement>('.brand img')?.naturalWidth);
    assert.deepEqual(await name.boundingBox(), before, path);
  }
});

test('nor do the pages of a person without permissions', async (t) => {
  const { email } = await createVerifiedUser(site.service);
  const { page } = await openAs(t, site, '/docs/errors', { as: { email, password: PASSWORD }, context: {} });
  assert.deepEqual(await unsteadyPages(page, ['/account', '/access', '/users']), []);
});
