// Checks pages with axe-core against WCAG 2.2 AA, in light and dark, wide and narrow.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';

const axe = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

type Size = { width: number; height: number };
type Scheme = 'light' | 'dark';
type Look = { scheme: Scheme; size: Size; rules: object };

const WIDE: Size = { width: 1440, height: 900 };
const NARROW: Size = { width: 320, height: 800 };

const allRules = {
  type: 'tag',
  values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
};
/** The only rules whose result depends on the color scheme. */
const colorRules = { type: 'rule', values: ['color-contrast', 'link-in-text-block'] };

const everyLook: readonly Look[] = [WIDE, NARROW].flatMap((size) => [
  { scheme: 'light', size, rules: allRules } as const,
  { scheme: 'dark', size, rules: colorRules } as const,
]);
/** Each scheme and each width once. */
const oppositeLooks: readonly Look[] = [
  { scheme: 'light', size: WIDE, rules: allRules },
  { scheme: 'dark', size: NARROW, rules: allRules },
];

type Finding = { id: string; help: string; nodes: { html: string; failureSummary?: string }[] };

/**
 * Asserts for a whole page that axe finds nothing in either scheme at either width, outside of the viewer of the API
 * reference, which is a library's, and that the page does not scroll sideways. `photograph` is called for each look.
 */
export const assertPageAccessible = (
  page: Page,
  what: string,
  photograph?: (scheme: Scheme, size: Size) => Promise<unknown>,
): Promise<void> => assertLooks(page, what, everyLook, photograph);

/** Asserts the same of a state of a page, in two looks, because it consists of what whole pages consist of. */
export const assertAccessible = (page: Page, what = page.url()): Promise<void> =>
  assertLooks(page, what, oppositeLooks);

/** Restores scheme and size. */
async function assertLooks(
  page: Page,
  what: string,
  looks: readonly Look[],
  photograph?: (scheme: Scheme, size: Size) => Promise<unknown>,
): Promise<void> {
  const before = page.viewportSize();
  for (const { scheme, size, rules } of looks) {
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' });
    await page.setViewportSize(size);
    await page.locator('.skeletons').first().waitFor({ state: 'detached' });
    await photograph?.(scheme, size);
    const where = `${what}, ${scheme}, ${size.width} px`;
    assert.deepEqual(await violationsOf(page, rules), [], where);
    const isTooWide = await page.evaluate(
      'document.documentElement.scrollWidth > document.documentElement.clientWidth',
    );
    assert.equal(isTooWide, false, `${where}: the page scrolls sideways`);
  }
  if (before) await page.setViewportSize(before);
  await page.emulateMedia({ colorScheme: null, reducedMotion: null });
}

async function violationsOf(page: Page, runOnly: object): Promise<string[]> {
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axe);
  const options = JSON.stringify({ resultTypes: ['violations'], runOnly });
  const violations = await page.evaluate<Finding[]>(
    `axe.run({ exclude: [['.reference']] }, ${options}).then(({ violations }) => violations)`,
  );
  const hasBar = (await page.locator('.bulk-bar').count()) > 0;
  // What the bar at the bottom covers in part can be scrolled out from under it.
  const isUnderBar = (id: string, summary = ''): boolean =>
    hasBar && id === 'target-size' && summary.includes('partially obscured');
  return violations.flatMap(({ id, help, nodes }) =>
    nodes
      .filter(({ failureSummary }) => !isUnderBar(id, failureSummary))
      .map(
        ({ html, failureSummary }) => `${id}: ${help}\n  ${html.slice(0, 300)}\n  ${failureSummary ?? ''}`,
      ),
  );
}
