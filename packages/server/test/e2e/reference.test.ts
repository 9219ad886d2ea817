// The API reference and the list of error codes, in a real browser. Fails without one.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { newVisit, openBrowser } from '@castellan/testing/e2e/browser';
import { ADMIN, startTestService } from '@castellan/testing/harness';

/** Returns the sum of the three channels, 0 to 765. */
const brightness = (color: string): number =>
  (color.match(/\d+/g) ?? []).slice(0, 3).reduce((sum, one) => sum + Number(one), 0);

// One browser for the file, because starting it costs more than all visits.
const service = await startTestService({ after });
const browser = await openBrowser({ after }, service);

const looks = [
  { width: 320, colorScheme: 'dark' },
  { width: 1280, colorScheme: 'light' },
] as const;
for (const path of ['/docs/errors#csrf_invalid', '/docs'])
  for (const { width, colorScheme } of looks)
    test(`${path} at ${width} px, ${colorScheme}: nothing overflows, no error is reported, text has contrast`, async () => {
      const { page, complaints, foreign } = await newVisit(browser, {
        viewport: { width, height: 800 },
        colorScheme,
      });
      await page.goto(path);
      const wide = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
      assert.ok(wide <= 0, `the page is ${wide} px wider than the window`);
      assert.deepEqual({ complaints, foreign }, { complaints: [], foreign: [] });
      const colors = await page.evaluate<string[]>(
        '(({ color, backgroundColor }) => [color, backgroundColor])(getComputedStyle(document.body))',
      );
      const [text = 0, ground = 0] = colors.map(brightness);
      assert.ok(Math.abs(text - ground) > 500, `${colors} are too close`);
      assert.equal(ground < text, colorScheme === 'dark');
    });

test('every link of the error codes has a target', async () => {
  const { page } = await newVisit(browser);
  await page.goto('/docs/errors');
  const links = await page.evaluate<string[]>(
    "[...document.querySelectorAll('a[href]')].map((one) => one.href)",
  );
  assert.ok(links.length > 30);
  const text = await page.content();
  for (const { pathname, hash } of links.map((one) => new URL(one))) {
    assert.equal((await service.client().get(pathname)).status, 200, pathname);
    if (hash) assert.ok(text.includes(`id="${hash.slice(1)}"`), `${hash} has no target`);
  }
});

test('the reference signs in, searches, calls an operation with access token and CSRF token, and signs out', async () => {
  const { page, complaints, foreign } = await newVisit(browser, { viewport: { width: 1280, height: 900 } });
  await page.goto('/docs');
  await page.getByLabel('Email').fill(ADMIN.email);
  await page.getByLabel('Password').fill(ADMIN.password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByText(`Signed in as ${ADMIN.email}.`).waitFor();
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox').last().fill('permission group');
  await page
    .getByRole('option', { name: /permission group/i })
    .first()
    .waitFor();
  await page.keyboard.press('Escape');
  const statuses = await page.evaluate<number[]>(`(async () => {
    const api = new URL('./api/v1/', location.href);
    const json = { 'content-type': 'application/json' };
    const group = { method: 'POST', headers: json, body: JSON.stringify({ name: 'from the reference' }) };
    return [
      (await castellanFetch(new URL('users/me', api))).status,
      (await castellanFetch(new URL('permission-groups', api), group)).status,
    ];
  })()`);
  assert.deepEqual(statuses, [200, 201]);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByText('Sign in to send requests').waitFor();
  assert.deepEqual({ complaints, foreign }, { complaints: [], foreign: [] });
});

test('the reference sends a request of an operation with its button', async () => {
  const { page } = await newVisit(browser, { viewport: { width: 1280, height: 900 } });
  await page.goto('/docs#tag/health/GET/health/ready');
  await page
    .getByRole('button', { name: /Test Request/ })
    .first()
    .waitFor();
  await page
    .getByRole('button', { name: /Test Request.*health\/ready/ })
    .first()
    .click();
  const answered = page.waitForResponse((response) => response.url().endsWith('/health/ready'));
  await page.getByRole('button', { name: /^Send/ }).first().click();
  assert.equal((await answered).status(), 200);
});
