// Takes pictures of pages where PICTURES=1 asks for them. They are not in git: look at them after a change.
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';

const folder = fileURLToPath(new URL('../pictures/', import.meta.url));
const takesPictures = process.env.PICTURES === '1';

/** Puts a picture of what the window shows into `packages/console/pictures`. */
export async function photograph(page: Page, name: string): Promise<void> {
  if (takesPictures) await page.screenshot({ path: `${folder}${name}.png`, animations: 'disabled' });
}
