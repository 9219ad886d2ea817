// The pages of people who are not signed in, in a real browser. Fails without one.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { newVisit, nextVisit, openBrowser, type Visit } from '@castellan/testing/e2e/browser';
import {
  ADMIN,
  createVerifiedUser,
  type Hooks,
  newEmail,
  PASSWORD,
  startTestService,
  type TestMail,
} from '@castellan/testing/harness';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { assertAccessible, assertPageAccessible } from '../../accessibility.ts';
import { heading, startConsole } from '../../harness.ts';

const NEW_PASSWORD = 'ReplacementPassword!42';

const { service, browser } = await startConsole({ after });

const linkIn = (mail: TestMail): string =>
  /http:\/\/castellan\.test\/\S+#token=[\w-]+/.exec(mail.text)?.[0] ?? '';
/** Returns the sum of the three channels, 0 to 765. */
const brightness = (color: string): number =>
  (color.match(/\d+/g) ?? []).slice(0, 3).reduce((sum, one) => sum + Number(one), 0);
const notice = (page: Page) => page.getByRole('status').locator('.notice');

/** Asserts that the notice has this text and the focus, so that screen readers announce it. */
async function assertNotice(page: Page, text: RegExp): Promise<void> {
  await notice(page).getByText(text).first().waitFor();
  // It gets the focus after it is shown.
  await notice(page).and(page.locator(':focus')).waitFor();
}

/** The page's complaints fail the test, except those that contain one of the texts in `expected`. */
async function visit(t: Hooks, expected: string[] = [], options?: BrowserContextOptions): Promise<Visit> {
  const opened = options
    ? await newVisit(browser, { locale: 'en-US', ...options })
    : await nextVisit(browser);
  t.after(async () => {
    await opened.leave();
    const complaints = opened.complaints.filter((one) => !expected.some((part) => one.includes(part)));
    assert.deepEqual({ complaints, foreign: opened.foreign }, { complaints: [], foreign: [] });
  });
  return opened;
}

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
const fillIn = async (page: Page, email: string, password: string): Promise<void> => {
  await page.getByLabel('Email address').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.keyboard.press('Enter');
};

test('the start leads to sign-in with one request to the API, for the providers, and to the console after it', async (t) => {
  const { page } = await visit(t);
  const calls: string[] = [];
  page.on('request', (request) => {
    if (request.url().includes('/api/')) calls.push(new URL(request.url()).pathname);
  });
  const told = page.waitForResponse('**/api/v1/auth/providers');
  await page.goto('/');
  await heading(page).getByText('Sign in').waitFor();
  await told;
  assert.equal(new URL(page.url()).pathname, '/login');
  assert.deepEqual(calls, ['/api/v1/auth/providers']);
  await fillIn(page, ADMIN.email, ADMIN.password);
  await page.waitForURL('**/overview');
  await page.goto('/');
  await page.waitForURL('**/overview');
});

test('people without a page of the console are led to their account', async (t) => {
  const { email } = await createVerifiedUser(service);
  const { page } = await visit(t);
  await page.goto('/login');
  await fillIn(page, email, PASSWORD);
  await page.waitForURL('**/account');
});

test('sign-in leads to the page that asked for it, and never to another site', async (t) => {
  const { page } = await visit(t);
  await page.goto('/login?next=%2Fusers%3Fq%3Dada');
  await fillIn(page, ADMIN.email, ADMIN.password);
  await page.waitForURL('**/users?q=ada');
  const led: string[] = [];
  await page.route('**://evil.example/**', (route) => {
    led.push(route.request().url());
    return route.fulfill({ body: 'another site' });
  });
  for (const next of [
    '%2F%5Cevil.example%2Fx',
    '/..//evil.example/x',
    '/.//evil.example/x',
    '/%252e//evil.example/x',
    '/%252E%252E//evil.example/x',
    '/users/..//evil.example/x',
    '/.%09.%09//evil.example/x',
    '/..%5C%5Cevil.example/x',
    '/./%5Cevil.example/x',
  ]) {
    await page.goto(`/login?next=${next}`);
    await fillIn(page, ADMIN.email, ADMIN.password);
    await page.waitForURL('**/overview');
  }
  assert.deepEqual(led, []);
});

test('a wrong password is told, and keeps the email', async (t) => {
  const { email } = await createVerifiedUser(service);
  const { page } = await visit(t, ['422']);
  await page.goto('/login');
  await fillIn(page, email, 'Wrong!Passw0rd-here');
  await assertNotice(page, /email or password is wrong/);
  assert.equal(await page.getByLabel('Email address').inputValue(), email);
});

test('sign-in of a registration that waits offers a new mail', async (t) => {
  const { email } = await register();
  const { page } = await visit(t, ['422']);
  await page.goto('/login');
  await fillIn(page, email, PASSWORD);
  await assertNotice(page, /not confirmed yet/);
  await page.getByRole('button', { name: 'Send a new link' }).click();
  await assertNotice(page, /on its way/);
  assert.match((await service.mailTo(email, 1)).text, /verify-email#token=/);
});

test('a locked account says how long', async (t) => {
  const { email } = await createVerifiedUser(service);
  for (let attempt = 0; attempt < 5; attempt += 1)
    await service.client().login({ email, password: 'Wrong!Passw0rd-here' });
  const { page } = await visit(t, ['422']);
  await page.goto('/login');
  await fillIn(page, email, PASSWORD);
  await assertNotice(page, /locked after too many failed attempts. Try again in \d+ minutes/);
});

test('a rate limit disables the button and counts down', async (t) => {
  const { page } = await visit(t, ['429']);
  await page.route('**/api/v1/auth/login', (route) =>
    route.fulfill({
      status: 429,
      headers: { 'retry-after': '3' },
      contentType: 'application/json',
      body: JSON.stringify({ detail: 'Too many requests.', code: 'rate_limited', request_id: 'r' }),
    }),
  );
  await page.goto('/login');
  await fillIn(page, ADMIN.email, ADMIN.password);
  const waiting = page.getByRole('button', { name: /^Try again in [123] seconds?$/ });
  await waiting.waitFor();
  assert.equal(await waiting.getAttribute('aria-disabled'), 'true');
  await page.unroute('**/api/v1/auth/login');
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.waitForURL('**/overview');
});

for (const [locale, seconds, text] of [
  ['de', 172_800, 'Zu viele Anfragen. Versuchen Sie es in 2 Tagen erneut.'],
  ['de', 3_600, 'Zu viele Anfragen. Versuchen Sie es in 1 Stunde erneut.'],
  ['en', 172_800, 'Too many requests. Try again in 2 days.'],
] as const)
  test(`in ${locale}, a wait of ${seconds} seconds has the right case`, async (t) => {
    const { page } = await visit(t, ['429'], { locale });
    await page.route('**/api/v1/auth/login', (route) =>
      route.fulfill({
        status: 429,
        headers: { 'retry-after': String(seconds) },
        contentType: 'application/json',
        body: JSON.stringify({ detail: 'Too many requests.', code: 'rate_limited', request_id: 'r' }),
      }),
    );
    await page.goto('/login');
    await page.locator('[name="email"]').fill(ADMIN.email);
    await page.locator('[name="password"]').fill(ADMIN.password);
    await page.keyboard.press('Enter');
    await notice(page).getByText(text, { exact: true }).waitFor();
    const wait = seconds === 3_600 ? /in (1 Stunde|60 Minuten)$/ : /in 2 (Tagen|days)$/;
    await page.getByRole('button', { name: wait }).waitFor();
  });

test('a registration checks the password while it is typed, and its email is in no address', async (t) => {
  const { page } = await visit(t);
  const email = newEmail();
  await page.goto('/register');
  await page.getByLabel('First name').fill('Ada');
  await page.getByLabel('Last name').fill('Lovelace');
  await page.getByLabel('Email address').fill(email);
  const digit = page.getByRole('listitem').filter({ hasText: 'a digit' });
  await digit.waitFor();
  await page.getByLabel('Password', { exact: true }).fill('QaRegisterPass!');
  assert.equal(await digit.getAttribute('data-state'), 'open');
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
  assert.equal(await digit.getAttribute('data-state'), 'met');
  await page.getByRole('button', { name: 'Create the account' }).click();
  await page.waitForURL('**/check-email');
  await page.getByText(`We sent a mail to ${email}`).waitFor();
  assert.equal(page.url(), 'http://castellan.test/check-email');
  const again = page.getByRole('button', { name: /^Send it again in (1 minute|\d+ seconds)$/ });
  assert.equal(await again.getAttribute('aria-disabled'), 'true');
  await service.mailTo(email);
});

test('a person with one name registers', async (t) => {
  const { page } = await visit(t);
  const email = newEmail();
  await page.goto('/register');
  await page.getByLabel('First name').fill('Plato');
  await page.getByLabel('Email address').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
  await page.getByRole('button', { name: 'Create the account' }).click();
  await page.waitForURL('**/check-email');
  const names = await service.sql('select first_name, last_name from users where email = $1', [email]);
  assert.deepEqual(names, [{ first_name: 'Plato', last_name: '' }]);
});

test('a registration with an email that has an account offers to sign in', async (t) => {
  const { email } = await createVerifiedUser(service);
  const { page } = await visit(t, ['409']);
  await page.goto('/register');
  await page.getByLabel('First name').fill('Ada');
  await page.getByLabel('Last name').fill('Lovelace');
  await page.getByLabel('Email address').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
  await page.keyboard.press('Enter');
  await assertNotice(page, /already exists/);
  await page.getByRole('main').getByRole('link', { name: 'Sign in' }).first().click();
  await page.waitForURL('**/login');
  assert.equal(await page.getByLabel('Email address').inputValue(), email);
});

test('the mailed link shows a button, and only a click on it confirms the email', async (t) => {
  const { email, mail } = await register();
  const { page } = await visit(t);
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

  await page.goto(linkIn(mail));
  await assertNotice(page, /confirmed before/);
  await page.getByRole('link', { name: 'Go to sign-in' }).click();
  await page.waitForURL('**/login');
});

test('links as mail programs change them are recognized', async (t) => {
  const user = await createVerifiedUser(service);
  await service.client().post('/api/v1/auth/password-reset/request', { email: user.email });
  const reset = linkIn(await service.mailTo(user.email, 1));
  const { email, mail } = await register();
  const verification = linkIn(mail);
  const { page } = await visit(t);
  for (const change of [
    (link: string) => link.replace('#', '%23'),
    (link: string) => link.replace('#', '/#'),
    (link: string) => link.replace('#token=', '%23token%3D'),
    (link: string) => link.replace('token=', 'token=3D'),
    (link: string) => `${link}.`,
    (link: string) => link.replace(/^[^#]+/, (start) => start.toUpperCase()),
  ]) {
    await page.goto(change(reset));
    // It stands before the password that it belongs to, so that password managers store both.
    const account = page.locator('form:has([autocomplete="new-password"]) [autocomplete="username"]');
    await account.waitFor();
    assert.deepEqual([await account.inputValue(), await account.isEditable()], [user.email, false]);
    assert.equal(page.url(), 'http://castellan.test/reset');
    await page.evaluate('sessionStorage.clear()');
    await page.goto(change(verification));
    await page.getByRole('button', { name: 'Confirm my email address' }).waitFor();
    assert.equal(page.url(), 'http://castellan.test/verify-email');
    await page.evaluate('sessionStorage.clear()');
  }
  await page.getByText('Did someone else register').click();
  assert.equal(await page.locator('[autocomplete="username"]').inputValue(), email);
});

test('an address that is not there leads on: to sign-in, or into the console', async (t) => {
  const { page } = await visit(t, ['status of 404']);
  for (const path of ['/nonsense', '/api/v1/xyz', '/users/me']) {
    await page.goto(path);
    await heading(page).getByText('There is no page at this address').waitFor();
  }
  await assertPageAccessible(page, 'a missing page');
  await page.getByRole('link', { name: 'Go to sign-in' }).click();
  await fillIn(page, ADMIN.email, ADMIN.password);
  await page.waitForURL('**/overview');
  await page.goto('/nonsense');
  await page.getByRole('link', { name: 'Go to the start page' }).click();
  await page.waitForURL('**/overview');
});

test('the address that password managers ask for leads to the password, also through sign-in', async (t) => {
  const user = await createVerifiedUser(service);
  const { page } = await visit(t);
  await page.goto('/.well-known/change-password');
  await fillIn(page, user.email, PASSWORD);
  await page.waitForURL('**/account');
  await page.goto('/.well-known/change-password');
  await page.waitForURL('**/account');
  await page.locator('[autocomplete="new-password"]').waitFor();
});

test('an expired link offers a new one, which works', async (t) => {
  const { email, mail } = await register();
  await service.sql(
    `update one_time_tokens set created_at = created_at - interval '2 days', expires_at = now() - interval '1 second'
      where user_id = (select id from users where email = $1)`,
    [email],
  );
  const { page } = await visit(t);
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

test('forgotten password: the mail leads to a form that lists broken rules, then sets a password that signs in', async (t) => {
  const user = await createVerifiedUser(service);
  // The browser itself reports every refused request; it must report nothing else.
  const { page } = await visit(t, ['status of 400']);
  await page.goto('/forgot');
  await page.getByLabel('Email address').fill(user.email);
  await page.keyboard.press('Enter');
  await assertNotice(page, /If this email address has an active account/);

  await page.goto(linkIn(await service.mailTo(user.email, 1)));
  const password = page.getByLabel('New password');
  await password.waitFor();
  assert.equal(page.url(), 'http://castellan.test/reset');
  await page.getByText('12 characters or more').waitFor();
  await password.fill('short');
  await page.getByRole('button', { name: 'Show the password' }).click();
  assert.equal(await password.getAttribute('type'), 'text');
  await page.getByRole('button', { name: 'Set the password' }).click();
  await assertNotice(page, /does not meet the password policy/);
  assert.ok((await notice(page).getByRole('listitem').count()) >= 4, 'every broken rule is listed');
  assert.equal(await password.getAttribute('aria-invalid'), 'true');

  await password.fill(NEW_PASSWORD);
  await page.keyboard.press('Enter');
  await assertNotice(page, /Sign in with the new password/);
  const login = await service.client().login({ email: user.email, password: NEW_PASSWORD });
  assert.equal(login.status, 200, login.text);
});

test('a used link, a missing token and an invalid email are explained in words', async (t) => {
  const { page } = await visit(t, ['status of 4']);
  await page.goto('/reset#token=nonsense');
  await assertNotice(page, /has expired, was already used/);
  assert.equal(await page.getByLabel('New password').count(), 0, 'an invalid link shows no password field');
  await page.getByRole('link', { name: 'Request a new link' }).click();
  await page.waitForURL('**/forgot');
  await page.getByLabel('Email address').fill('ada@localhost');
  await page.getByRole('button', { name: 'Send the link' }).click();
  await assertNotice(page, /not an email address/);
  await page.goto('/verify-email');
  await assertNotice(page, /Open this page with the link in our mail/);
});

test('an unreachable service is reported, and the next click tries again', async (t) => {
  const { email, mail } = await register();
  const { page } = await visit(t, ['ERR_FAILED']);
  await page.goto(linkIn(mail));
  const button = page.getByRole('button', { name: 'Confirm my email address' });
  await button.waitFor();
  await page.route('**/api/**', (route) => route.abort());
  await button.click();
  await assertNotice(page, /cannot be reached/);
  await page.unroute('**/api/**');
  await button.click();
  await assertNotice(page, /You can sign in now/);
  assert.equal(await isVerified(email), true);
});

test('a reload keeps the token of a link, until the link is used', async (t) => {
  const user = await createVerifiedUser(service);
  await service.client().post('/api/v1/auth/password-reset/request', { email: user.email });
  const { page } = await visit(t);
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

test('a person who did not register removes the account with two clicks', async (t) => {
  const { email, mail } = await register();
  const { page } = await visit(t);
  await page.goto(linkIn(mail));
  await page.getByText('Did someone else register').click();
  await page.getByRole('button', { name: /This was not me/ }).click();
  await assertNotice(page, /Nobody can sign in/);
  assert.equal(await isVerified(email), undefined);
});

test('a person who keeps an account that somebody else registered sets a password with the click', async (t) => {
  const { email, mail } = await register();
  const { page } = await visit(t, ['status of 400']);
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

test('pages show the name of the service and link to the application', async (t) => {
  const own = await startTestService(t, {
    SERVICE_NAME: 'Tom & Co <3',
    APP_URL: 'https://app.example.com/start?a=1&b=2',
    FORGOT_URL: 'https://app.example.com/forgotten',
  });
  const ownBrowser = await openBrowser(t, own);
  const { page } = await newVisit(ownBrowser, { locale: 'en-US' });
  await page.goto('/reset#token=x');
  await heading(page).getByText('This link does not work').waitFor();
  assert.equal(await page.title(), 'This link does not work · Tom & Co <3');
  const again = page.getByRole('link', { name: 'Request a new link' });
  assert.equal(await again.getAttribute('href'), 'https://app.example.com/forgotten');
  await page.goto('/login');
  const forgot = page.getByRole('link', { name: 'Forgot your password?' });
  assert.equal(await forgot.getAttribute('href'), 'https://app.example.com/forgotten');
  await page.goto('/forgot');
  assert.equal(await page.getByRole('link', { name: 'Continue' }).count(), 0);
  await page.getByLabel('Email address').fill('ada@example.com');
  await page.keyboard.press('Enter');
  await assertNotice(page, /on its way/);
  const onward = page.getByRole('link', { name: 'Continue' });
  assert.equal(await onward.getAttribute('href'), 'https://app.example.com/start?a=1&b=2');
});

test('the page of a forgotten password says how long the link works', async (t) => {
  for (const [locale, text] of [
    ['en', 'It works once, within 30 minutes.'],
    ['de', 'Er funktioniert nur einmal und ist 30 Minuten gültig.'],
  ] as const) {
    const { page } = await visit(t, [], { locale });
    await page.goto('/forgot');
    await page.getByText(text).waitFor();
  }
});

test('the pages speak German to those who ask for it, and remember another choice', async (t) => {
  const { page } = await visit(t, [], { locale: 'de-AT' });
  await page.goto('/login');
  await heading(page).getByText('Anmelden').waitFor();
  assert.equal(await page.locator('html').getAttribute('lang'), 'de');
  await page.getByRole('button', { name: 'English' }).click();
  await heading(page).getByText('Sign in').waitFor();
  await page.reload();
  await heading(page).getByText('Sign in').waitFor();
});

test('without JavaScript, the page says what it needs', async (t) => {
  const { page } = await visit(t, [], { javaScriptEnabled: false });
  await page.goto('/reset#token=x');
  const told = page.locator('noscript');
  assert.equal(await told.isVisible(), true);
  assert.match((await told.textContent()) ?? '', /needs JavaScript. Allow it/);
});

const paths = [
  '/login',
  '/register',
  '/check-email',
  '/verify-email#token=x',
  '/reset#token=x',
  '/invitation#token=x',
  '/confirm-email#token=x',
  '/undo-email#token=x',
  '/undo-deletion#token=x',
  '/forgot',
];

const looks = [
  { width: 320, colorScheme: 'dark' },
  { width: 1280, colorScheme: 'light' },
] as const;
for (const { width, colorScheme } of looks)
  test(`at ${width} px, ${colorScheme}: nothing overflows, no error is reported, text has contrast`, async (t) => {
    const { page } = await visit(t, [], { viewport: { width, height: 800 }, colorScheme });
    for (const path of paths) {
      await page.goto(path);
      await heading(page).waitFor();
      if (path === '/register') await page.getByText('a digit').waitFor();
      if (path.endsWith('#token=x')) await notice(page).waitFor();
      const wide = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
      assert.ok(wide <= 0, `${path} is ${wide} px wider than the window`);
      const colors = await page.evaluate<string[]>(
        '(({ color, backgroundColor }) => [color, backgroundColor])(getComputedStyle(document.body))',
      );
      const [text = 0, ground = 0] = colors.map(brightness);
      assert.ok(Math.abs(text - ground) > 500, `${colors} are too close`);
      assert.equal(ground < text, colorScheme === 'dark');
    }
  });

test('the pages are accessible, also with a checklist, a refusal and a link to confirm', async (t) => {
  const { mail } = await register();
  const { page } = await visit(t, ['status of 4']);
  for (const path of paths) {
    await page.goto(path);
    await heading(page).waitFor();
    if (path === '/register') await page.getByText('a digit').waitFor();
    if (path.endsWith('#token=x')) await notice(page).waitFor();
    await assertPageAccessible(page, path);
  }
  await page.goto(linkIn(mail));
  await page.getByText('Did someone else register').click();
  await page.getByLabel('New password').fill('short');
  await page.keyboard.press('Enter');
  await assertNotice(page, /Use at least 12 characters/);
  await assertAccessible(page, 'a refused password');
});
