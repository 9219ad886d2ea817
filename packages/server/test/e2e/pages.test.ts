// The pages that mailed links open, and the reference, in a real browser. Fails without one.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Page } from 'playwright-core';
import { createVerifiedUser, newEmail, PASSWORD, startTestService, type TestMail } from '../harness.ts';
import { newVisit, openBrowser } from './browser.ts';

const NEW_PASSWORD = 'ReplacementPassword!42';

const linkIn = (mail: TestMail): string =>
  /http:\/\/castellan\.test\/\S+#token=[\w-]+/.exec(mail.text)?.[0] ?? '';
/** Sum of the three channels, 0 to 765. */
const brightness = (color: string): number =>
  (color.match(/\d+/g) ?? []).slice(0, 3).reduce((sum, one) => sum + Number(one), 0);
const heading = (page: Page) => page.getByRole('heading', { level: 1 });
const notice = (page: Page) => page.getByRole('status').locator('.notice');

/** The focus is on the notice, so that whoever does not see the page hears it. */
async function assertTold(page: Page, text: RegExp): Promise<void> {
  await notice(page).getByText(text).first().waitFor();
  assert.ok(await page.evaluate("document.activeElement.matches('.notice')"), 'the notice has the focus');
}

// One browser for the file: starting it costs more than all of its visits.
const service = await startTestService({ after });
const browser = await openBrowser({ after }, service);

async function register(): Promise<{ email: string; mail: TestMail }> {
  const email = newEmail();
  await service
    .client()
    .post('/api/v1/auth/register', { email, password: PASSWORD, first_name: 'Ada', last_name: 'L' });
  return { email, mail: await service.mailTo(email) };
}
const isVerified = async (email: string) =>
  (await service.sql<{ verified: boolean }>('select verified from users where email = $1', [email]))[0]
    ?.verified;

test('the mailed link shows a button, and only its click confirms the address', async () => {
  const { email, mail } = await register();
  const { page, complaints, foreign } = await newVisit(browser);
  const answer = await page.goto(linkIn(mail));
  assert.equal(answer?.headers()['referrer-policy'], 'no-referrer');
  const button = page.getByRole('button', { name: 'Confirm my e-mail address' });
  await button.waitFor();
  assert.equal(page.url(), 'http://castellan.test/verify-email', 'the token is out of the address bar');
  assert.equal(await isVerified(email), false);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await assertTold(page, /You can sign in now/);
  assert.equal(await heading(page).textContent(), 'Your address is confirmed');
  assert.equal(await isVerified(email), true);
  assert.equal(await button.count(), 0);
  assert.deepEqual({ complaints, foreign }, { complaints: [], foreign: [] });

  await page.goto(linkIn(mail));
  await button.click();
  await assertTold(page, /confirmed before/);
});

test('an expired link offers a new one, which works', async () => {
  const { email, mail } = await register();
  await service.sql(
    `update one_time_tokens set created_at = created_at - interval '2 days', expires_at = now() - interval '1 second'
      where user_id = (select id from users where email = $1)`,
    [email],
  );
  const { page } = await newVisit(browser);
  await page.goto(linkIn(mail));
  await page.getByRole('button', { name: 'Confirm my e-mail address' }).click();
  await assertTold(page, /Ask for a new one/);
  await page.getByLabel('E-mail address').fill(email);
  await page.getByRole('button', { name: 'Send a new link' }).click();
  await assertTold(page, /a mail with a link is on its way/);
  // The second link is opened in the same tab, where only the fragment differs.
  await page.goto(linkIn(await service.mailTo(email, 1)));
  await page.getByRole('button', { name: 'Confirm my e-mail address' }).click();
  await assertTold(page, /You can sign in now/);
  assert.equal(await isVerified(email), true);
});

test('forgot, mail, new password: broken rules are listed, then the good one signs in', async () => {
  const user = await createVerifiedUser(service);
  const { page, complaints, foreign } = await newVisit(browser);
  await page.goto('/forgot');
  await page.getByLabel('E-mail address').fill(user.email);
  await page.keyboard.press('Enter');
  await assertTold(page, /If this address has an active account/);

  await page.goto(linkIn(await service.mailTo(user.email, 1)));
  const password = page.getByLabel('New password');
  await password.waitFor();
  assert.equal(page.url(), 'http://castellan.test/reset');
  await page.getByText('has 12 to 128 characters').waitFor();
  await password.fill('short');
  await page.getByLabel('Show password').check();
  assert.equal(await password.getAttribute('type'), 'text');
  await page.getByRole('button', { name: 'Set the password' }).click();
  await assertTold(page, /Use at least 12 characters/);
  assert.ok((await notice(page).getByRole('listitem').count()) >= 4, 'every broken rule is listed');
  assert.equal(await password.getAttribute('aria-invalid'), 'true');
  // The browser itself reports every refused request; nothing else may be there.
  assert.ok(
    complaints.every((one) => /status of 400/.test(one)),
    complaints.join('\n'),
  );

  await password.fill(NEW_PASSWORD);
  await page.keyboard.press('Enter');
  await assertTold(page, /Sign in with the new password/);
  const login = await service.client().login({ email: user.email, password: NEW_PASSWORD });
  assert.equal(login.status, 200, login.text);
  assert.deepEqual(foreign, []);
});

test('a used link, a missing token and an unusable address are told in words', async () => {
  const { page } = await newVisit(browser);
  await page.goto('/reset#token=nonsense');
  await page.getByLabel('New password').fill(NEW_PASSWORD);
  await page.getByRole('button', { name: 'Set the password' }).click();
  await assertTold(page, /has expired, was used/);
  await page.getByRole('link', { name: 'Ask for a new link' }).click();
  await page.waitForURL('**/forgot');
  await page.getByLabel('E-mail address').fill('ada@localhost');
  await page.getByRole('button', { name: 'Send the link' }).click();
  await assertTold(page, /not an e-mail address/);
  await page.goto('/verify-email');
  await assertTold(page, /Open this page by the link in our mail/);
});

test('a service that cannot be reached is told, and the next click tries again', async () => {
  const { email, mail } = await register();
  const { page } = await newVisit(browser);
  await page.goto(linkIn(mail));
  await page.route('**/api/**', (route) => route.abort());
  const button = page.getByRole('button', { name: 'Confirm my e-mail address' });
  await button.click();
  await assertTold(page, /cannot be reached/);
  await page.unroute('**/api/**');
  await button.click();
  await assertTold(page, /You can sign in now/);
  assert.equal(await isVerified(email), true);
});

for (const path of [
  '/verify-email#token=x',
  '/reset#token=x',
  '/forgot',
  '/docs',
  '/docs/errors#csrf_invalid',
])
  for (const width of [320, 1280])
    for (const colorScheme of ['light', 'dark'] as const)
      test(`${path} at ${width} px, ${colorScheme}: nothing overflows, nothing complains, text stands out`, async () => {
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

test('every link inside the reference leads somewhere', async () => {
  const { page } = await newVisit(browser);
  const texts = new Map<string, string>();
  for (const path of ['/docs', '/docs/errors']) {
    await page.goto(path);
    const links = await page.evaluate<string[]>(
      "[...document.querySelectorAll('a[href]')].map((one) => one.href)",
    );
    assert.ok(links.length > 30);
    for (const { pathname, hash } of links.map((one) => new URL(one))) {
      if (!texts.has(pathname)) {
        const answer = await service.client().get(pathname);
        assert.equal(answer.status, 200, pathname);
        texts.set(pathname, answer.text);
      }
      if (hash)
        assert.ok(texts.get(pathname)?.includes(`id="${hash.slice(1)}"`), `${pathname}${hash} leads nowhere`);
    }
  }
});
