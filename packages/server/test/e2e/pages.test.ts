// The pages behind mailed links, and the API reference, in a real browser. Fails without one.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { newVisit, openBrowser } from '@castellan/testing/e2e/browser';
import {
  ADMIN,
  createVerifiedUser,
  newEmail,
  PASSWORD,
  startTestService,
  type TestMail,
} from '@castellan/testing/harness';
import type { Page } from 'playwright-core';

const NEW_PASSWORD = 'ReplacementPassword!42';

const linkIn = (mail: TestMail): string =>
  /http:\/\/castellan\.test\/\S+#token=[\w-]+/.exec(mail.text)?.[0] ?? '';
/** Returns the sum of the three channels, 0 to 765. */
const brightness = (color: string): number =>
  (color.match(/\d+/g) ?? []).slice(0, 3).reduce((sum, one) => sum + Number(one), 0);
const heading = (page: Page) => page.getByRole('heading', { level: 1 });
const notice = (page: Page) => page.getByRole('status').locator('.notice');

/** Asserts that the notice has this text and the focus, so that screen readers announce it. */
async function assertNotice(page: Page, text: RegExp): Promise<void> {
  await notice(page).getByText(text).first().waitFor();
  assert.ok(await page.evaluate("document.activeElement.matches('.notice')"), 'the notice has the focus');
}

// One browser for the file, because starting it costs more than all visits.
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

test('the mailed link shows a button, and only a click on it confirms the email', async () => {
  const { email, mail } = await register();
  const { page, complaints, foreign } = await newVisit(browser);
  const answer = await page.goto(linkIn(mail));
  assert.equal(answer?.headers()['referrer-policy'], 'no-referrer');
  const button = page.getByRole('button', { name: 'Confirm my email address' });
  await button.waitFor();
  assert.equal(page.url(), 'http://castellan.test/verify-email', 'the token is not in the address bar');
  assert.equal(await isVerified(email), false);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await assertNotice(page, /You can sign in now/);
  assert.equal(await heading(page).textContent(), 'Your email address is confirmed');
  assert.equal(await isVerified(email), true);
  assert.equal(await button.count(), 0);
  assert.deepEqual({ complaints, foreign }, { complaints: [], foreign: [] });

  await page.goto(linkIn(mail));
  await assertNotice(page, /already confirmed/);
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
  await assertNotice(page, /Request a new one/);
  await page.getByLabel('Email address').fill(email);
  await page.getByRole('button', { name: 'Send a new link' }).click();
  await assertNotice(page, /a mail with a link is on its way/);
  // The second link is opened in the same tab, in which only the fragment differs.
  await page.goto(linkIn(await service.mailTo(email, 1)));
  await page.getByRole('button', { name: 'Confirm my email address' }).click();
  await assertNotice(page, /You can sign in now/);
  assert.equal(await isVerified(email), true);
});

test('forgotten password: the mail leads to a form that lists broken rules, then sets a password that signs in', async () => {
  const user = await createVerifiedUser(service);
  const { page, complaints, foreign } = await newVisit(browser);
  await page.goto('/forgot');
  await page.getByLabel('Email address').fill(user.email);
  await page.keyboard.press('Enter');
  await assertNotice(page, /If this email address has an active account/);

  await page.goto(linkIn(await service.mailTo(user.email, 1)));
  const password = page.getByLabel('New password');
  await password.waitFor();
  assert.equal(page.url(), 'http://castellan.test/reset');
  await page.getByText('has 12 to 128 characters').waitFor();
  await password.fill('short');
  await page.getByLabel('Show password').check();
  assert.equal(await password.getAttribute('type'), 'text');
  await page.getByRole('button', { name: 'Set the password' }).click();
  await assertNotice(page, /Use at least 12 characters/);
  assert.ok((await notice(page).getByRole('listitem').count()) >= 4, 'every broken rule is listed');
  assert.equal(await password.getAttribute('aria-invalid'), 'true');
  // The browser itself reports every refused request; it must report nothing else.
  assert.ok(
    complaints.every((one) => /status of 400/.test(one)),
    complaints.join('\n'),
  );

  await password.fill(NEW_PASSWORD);
  await page.keyboard.press('Enter');
  await assertNotice(page, /Sign in with the new password/);
  const login = await service.client().login({ email: user.email, password: NEW_PASSWORD });
  assert.equal(login.status, 200, login.text);
  assert.deepEqual(foreign, []);
});

test('a used link, a missing token and an invalid email are explained in words', async () => {
  const { page } = await newVisit(browser);
  await page.goto('/reset#token=nonsense');
  await assertNotice(page, /has expired, was already used/);
  assert.ok(await page.getByLabel('New password').isHidden(), 'an invalid link shows no password field');
  await page.getByRole('link', { name: 'Request a new link' }).click();
  await page.waitForURL('**/forgot');
  await page.getByLabel('Email address').fill('ada@localhost');
  await page.getByRole('button', { name: 'Send the link' }).click();
  await assertNotice(page, /not an email address/);
  await page.goto('/verify-email');
  await assertNotice(page, /Open this page with the link in our mail/);
});

test('an unreachable service is reported, and the next click tries again', async () => {
  const { email, mail } = await register();
  const { page } = await newVisit(browser);
  await page.goto(linkIn(mail));
  await page.route('**/api/**', (route) => route.abort());
  const button = page.getByRole('button', { name: 'Confirm my email address' });
  await button.click();
  await assertNotice(page, /cannot be reached/);
  await page.unroute('**/api/**');
  await button.click();
  await assertNotice(page, /You can sign in now/);
  assert.equal(await isVerified(email), true);
});

test('a reload keeps the token of a link, until the link is used', async () => {
  const user = await createVerifiedUser(service);
  await service.client().post('/api/v1/auth/password-reset/request', { email: user.email });
  const { page } = await newVisit(browser);
  await page.goto(linkIn(await service.mailTo(user.email, 1)));
  for (let reload = 0; reload < 2; reload += 1) {
    await page.getByLabel('New password').waitFor();
    await page.reload();
  }
  await page.getByLabel('New password').fill(NEW_PASSWORD);
  await page.keyboard.press('Enter');
  await assertNotice(page, /Sign in with the new password/);
  assert.equal(await page.evaluate('sessionStorage.length'), 0);
  await page.reload();
  await assertNotice(page, /Open this page with the link/);
});

test('a person who did not register removes the account with two clicks', async () => {
  const { email, mail } = await register();
  const { page, complaints } = await newVisit(browser);
  await page.goto(linkIn(mail));
  await page.getByText('Did someone else register').click();
  await page.getByRole('button', { name: /This was not me/ }).click();
  await assertNotice(page, /Nobody can sign in/);
  assert.equal(await isVerified(email), undefined);
  assert.deepEqual(complaints, []);
});

test('a person who keeps an account that somebody else registered sets a password with the click', async () => {
  const { email, mail } = await register();
  const { page } = await newVisit(browser);
  await page.goto(linkIn(mail));
  await page.getByText('Did someone else register').click();
  const password = page.getByLabel('New password');
  await password.fill('short');
  await page.keyboard.press('Enter');
  await assertNotice(page, /Use at least 12 characters/);
  assert.equal(await isVerified(email), false);
  await password.fill(NEW_PASSWORD);
  await page.keyboard.press('Enter');
  await assertNotice(page, /password that you have just chosen/);
  assert.equal((await service.client().login({ email, password: PASSWORD })).status, 422);
  assert.equal((await service.client().login({ email, password: NEW_PASSWORD })).status, 200);
});

test('the front page is HTML for browsers and JSON for programs', async () => {
  const { page, complaints } = await newVisit(browser);
  await page.goto('/');
  await heading(page).getByText('Accounts and permissions').waitFor();
  for (const { pathname } of await page.evaluate<URL[]>(
    "[...document.querySelectorAll('a[href]')].map(({ pathname }) => ({ pathname }))",
  ))
    assert.equal((await service.client().get(pathname)).status, 200, pathname);
  assert.deepEqual(complaints, []);
  const forPeople = await service.client().request('GET', '/', { headers: { accept: 'text/html' } });
  for (const accept of ['*/*', 'application/json', null]) {
    const answer = await service.client().request('GET', '/', { headers: { accept } });
    assert.match(answer.headers.get('content-type') ?? '', /^application\/json/);
    assert.notEqual(answer.headers.get('etag'), forPeople.headers.get('etag'));
    for (const field of ['reference', 'openapi', 'health'])
      assert.equal((await service.client().get(`/${answer.body.data[field]}`)).status, 200, field);
  }
});

test('pages show the name of the service and link to the application', async (t) => {
  const own = await startTestService(t, {
    SERVICE_NAME: 'Tom & Co <3',
    APP_URL: 'https://app.example.com/start?a=1&b=2',
    FORGOT_URL: 'https://app.example.com/forgotten',
  });
  const ownBrowser = await openBrowser(t, own);
  const { page } = await newVisit(ownBrowser);
  await page.goto('/reset#token=x');
  await heading(page).getByText('This link does not work').waitFor();
  assert.equal(await page.title(), 'This link does not work · Tom & Co <3');
  const again = page.getByRole('link', { name: 'Request a new link' });
  assert.equal(await again.getAttribute('href'), 'https://app.example.com/forgotten');
  await page.goto('/forgot');
  assert.equal(await page.getByRole('link', { name: 'Continue' }).count(), 0);
  await page.getByLabel('Email address').fill('ada@example.com');
  await page.keyboard.press('Enter');
  await assertNotice(page, /on its way/);
  const onward = page.getByRole('link', { name: 'Continue' });
  assert.equal(await onward.getAttribute('href'), 'https://app.example.com/start?a=1&b=2');
});

const looks = [
  { width: 320, colorScheme: 'dark' },
  { width: 1280, colorScheme: 'light' },
] as const;
for (const path of [
  '/',
  '/verify-email#token=x',
  '/reset#token=x',
  '/forgot',
  '/docs/errors#csrf_invalid',
  '/docs',
])
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
