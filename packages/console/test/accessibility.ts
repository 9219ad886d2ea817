// Checks a page with axe-core against WCAG 2.2 AA, in both color schemes and at both widths.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';

const axe = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

type Size = { width: number; height: number };

const schemes = ['light', 'dark'] as const;
const widths: readonly Size[] = [
  { width: 1440, height: 900 },
  { width: 320, height: 800 },
];

type Finding = { id: string; help: string; nodes: { html: string; failureSummary?: string }[] };

/**
 * Asserts that axe finds nothing, outside of the viewer of the API reference, which is a library's, and that nothing makes the page scroll sideways. Restores scheme and size. `look` is called
 * for each scheme and width, such as to take a picture.
 */
export async function assertAccessible(
  page: Page,
  what = page.url(),
  look?: (scheme: string, size: Size) => Promise<unknown>,
): Promise<void> {
  const before = page.viewportSize();
  for (const colorScheme of schemes)
    for (const size of widths) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      await page.setViewportSize(size);
      await page.locator('.skeletons').waitFor({ state: 'detached' });
      await look?.(colorScheme, size);
      const where = `${what}, ${colorScheme}, ${size.width} px`;
      assert.deepEqual(await violationsOf(page), [], where);
      const isTooWide = await page.evaluate(
        'document.documentElement.scrollWidth > document.documentElement.clientWidth',
      );
      assert.equal(isTooWide, false, `${where}: the page scrolls sideways`);
    }
  if (before) await page.setViewportSize(before);
  await page.emulateMedia({ colorScheme: null, reducedMotion: null });
}

async function violationsOf(page: Page): Promise<string[]> {
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axe);
  const violations = await page.evaluate<Finding[]>(
    `axe.run({ exclude: [['.reference']] }, { resultTypes: ['violations'], runOnly: { type: 'tag', values:
      ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] } }).then(({ violations }) => violations)`,
  );
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(
      ({ html, failureSummary }) => `${id}: ${help}\n  ${html.slice(0, 300)}\n  ${failureSummary ?? ''}`,
    ),
  );
}
