// What the sign-in page shows before its scripts have run, in a real browser: it must look as the page that replaces it.
import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { startConsole } from '../harness.ts';

const logo = join(tmpdir(), `logo-${process.pid}.svg`);
await writeFile(
  logo,
  '<svg xmlns="http://www.w3.org/2000/svg" width="72" height="36"><path d="M0 0h72v36H0z"/></svg>',
);

after(() => rm(logo));

const plain = await startConsole({ after });
const scripts = '**/assets/*.js';

/** Runs in the page. Returns each text and each field that shows, with its place in pixels. */
function placesIn(): string[] {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const places: string[] = [];
  const add = (name: string, { x, y, width, height }: DOMRect): void => {
    if (width > 0) places.push([name, ...[x, y, width, height].map(Math.round)].join(' '));
  };
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    const value = text.nodeValue ?? '';
    if (!value.trim()) continue;
    const range = document.createRange();
    range.setStart(text, value.length - value.trimStart().length);
    range.setEnd(text, value.trimEnd().length);
    add(value.trim(), range.getBoundingClientRect());
  }
  for (const box of document.querySelectorAll('main, input, button, img, .brand svg'))
    add(box.localName, box.getBoundingClientRect());
  // The button that shows the password comes with the scripts.
  return places.filter((one) => !/^button \d+ \d+ 36 36$|^svg \d+ \d+ 20 20$/.test(one)).sort();
}

/** Opens the page, first with its scripts held back. Returns what shows then, and what shows in the end. */
async function bothLooks(
  browser: typeof plain.browser,
  path: string,
  options: BrowserContextOptions,
  prepare: (page: Page) => Promise<unknown> = async () => {},
): Promise<{ early: string[]; late: string[]; shifts: number }> {
  const context = await browser.newContext({ baseURL: 'http://castellan.test', ...options });
  try {
    const page = await context.newPage();
    await prepare(page);
    await page.addInitScript(`
      window.shifts = 0;
      new PerformanceObserver((list) => list.getEntries().forEach(({ value }) => { shifts += value; }))
        .observe({ type: 'layout-shift', buffered: true });`);
    const held = Promise.withResolvers<void>();
    await page.route(scripts, async (route) => {
      await held.promise;
      await route.continue();
    });
    await page.goto(path, { waitUntil: 'commit' });
    await page.locator('#root').waitFor({ state: 'attached' });
    // The style sheets and the logo are there when the page has been painted.
    await page.evaluate(async () => {
      while (performance.getEntriesByName('first-paint').length === 0)
        await new Promise((resolve) => requestAnimationFrame(resolve));
      await Promise.all([...document.images].map((image) => image.decode()));
    });
    const early = await page.evaluate(placesIn);
    held.resolve();
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.locator('.frame').first().waitFor({ state: 'detached' });
    const late = await page.evaluate(placesIn);
    return { early, late, shifts: await page.evaluate<number>('shifts') };
  } finally {
    await context.close();
  }
}

const sizes = [
  { width: 390, height: 844 },
  { width: 1280, height: 800 },
];

for (const [locale, title] of [
  ['en-US', 'Sign in'],
  ['de-AT', 'Anmelden'],
] as const)
  test(`in ${locale}, the page looks the same before and after its scripts have run`, async () => {
    for (const viewport of sizes)
      for (const colorScheme of ['light', 'dark'] as const) {
        const { early, late, shifts } = await bothLooks(plain.browser, '/login', {
          locale,
          viewport,
          colorScheme,
        });
        assert.ok(
          early.some((one) => one.startsWith(title)),
          early.join('\n'),
        );
        assert.deepEqual(early, late, `${viewport.width} pixels, ${colorScheme}`);
        assert.equal(shifts, 0);
      }
  });

test('with a name, a logo and a language of the operator too', async (t) => {
  const { browser } = await startConsole(t, {
    SERVICE_NAME: 'Konten & Rechte der "Stadtwerke" Musterhausen an der Ruhr',
    LOGO_FILE: logo,
    ACCENT_COLOR: '#0b7a3e',
    LANGUAGE: 'de',
  });
  for (const viewport of sizes) {
    const { early, late, shifts } = await bothLooks(browser, '/login', { locale: 'fr-FR', viewport });
    assert.ok(
      early.some((one) => one.startsWith('Konten & Rechte der "Stadtwerke"')),
      early.join('\n'),
    );
    assert.ok(
      early.some((one) => one.startsWith('Anmelden')),
      early.join('\n'),
    );
    assert.ok(
      early.some((one) => /^img .* 72 36$/.test(one)),
      early.join('\n'),
    );
    assert.deepEqual(early, late);
    // The page knows how wide the logo will be.
    assert.equal(shifts, 0);
  }
});

test('the other pages, and a language without a frame, show no sign-in form first', async () => {
  for (const path of ['/', '/register', '/forgot', '/reset', '/verify-email', '/check-email']) {
    const answer = await fetch(`${plain.service.url}${path}`, { headers: { accept: 'text/html' } });
    assert.equal(answer.status, 200);
    assert.doesNotMatch(await answer.text(), /<form|\{\{/, path);
  }
  const { early, late } = await bothLooks(plain.browser, '/login', {}, (page) =>
    page.addInitScript("localStorage.setItem('castellan.language', 'en-XB')"),
  );
  assert.deepEqual(early, []);
  assert.ok(
    late.some((one) => one.startsWith('⟦Sign in⟧')),
    late.join('\n'),
  );
});

test('nothing in the early look takes the focus or is read out', async (t) => {
  const context = await plain.browser.newContext({ baseURL: 'http://castellan.test', locale: 'en-US' });
  t.after(() => context.close());
  const page = await context.newPage();
  await page.route(scripts, (route) => route.abort());
  await page.goto('/login');
  await page.locator('.frame h1').getByText('Sign in').waitFor();
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate('document.activeElement.localName'), 'body');
  assert.equal(await page.getByRole('heading').count(), 0);
  await page.locator('.frame:visible a').first().click({ force: true });
  assert.equal(new URL(page.url()).pathname, '/login');
});
