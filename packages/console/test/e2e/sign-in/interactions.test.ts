// The pages between an application's request and its answer, in a real browser. The operations of requests are answered here, so
// that each step can be shown; signing in is the service's.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { ConsentBody, Interaction } from '@castellan/contract/interactions';
import { nextVisit } from '@castellan/testing/e2e/browser';
import { createVerifiedUser, type Hooks } from '@castellan/testing/harness';
import { addAppUser, codeOf } from '@castellan/testing/second-factors/app';
import type { Page } from 'playwright-core';
import { assertPageAccessible } from '../../accessibility.ts';
import { assertFocusIn, heading, openAs, startConsole } from '../../harness.ts';
import { layoutFaults } from '../../layout-faults.ts';
import { photograph } from '../../pictures.ts';
import { untranslatedTexts } from '../../untranslated.ts';
import { answer, refusal, sendPassword, status, visit } from './visits.ts';

const site = await startConsole({ after }, { RATE_LIMIT_SECOND_FACTOR: 'off' });
const { service, browser } = site;

const ID = 'A'.repeat(43);
const inAnHour = (): string => new Date(Date.now() + 3_600_000).toISOString();

const application: Interaction['application'] = {
  name: 'Grafana',
  home_url: 'https://grafana.example.com',
  policy_url: null,
  terms_url: null,
  first_party: true,
  host: 'grafana.example.com',
};
const ada = { name: 'Ada Lovelace', email: 'ada@example.com' };

const interactionAt = (step: Interaction['step'], members: Partial<Interaction> = {}): Interaction => ({
  step,
  application,
  account: step === 'sign_in' ? null : ada,
  login_hint: null,
  providers: [],
  required_acr: null,
  required_permission: null,
  consent: null,
  device: null,
  expires_at: inAnHour(),
  ...members,
});

const consent: Interaction['consent'] = {
  scopes: [
    { name: 'openid', text: 'Sign you in.', is_new: false },
    { name: 'email', text: 'Read your email address.', is_new: true },
    { name: 'offline_access', text: 'Stay signed in.', is_new: true },
    { name: 'reports', text: 'Read the reports.', is_new: false },
  ],
  permissions: [{ name: 'report.read', description: 'Read every report' }],
  offline: true,
  until: inAnHour(),
};

type Sent = { name: string; body: unknown; csrf: string | undefined };

/** Answers the operations of one request. Each answer leads to the application, and is kept in `sent`. */
async function serve(page: Page, interaction: Interaction, next = '/docs/errors?code=1'): Promise<Sent[]> {
  const sent: Sent[] = [];
  await page.route(`**/api/v1/oauth/interactions/${ID}**`, async (route) => {
    const request = route.request();
    const name = new URL(request.url()).pathname.split(ID)[1] ?? '';
    if (request.method() === 'GET') return route.fulfill({ json: { data: interaction, message: '' } });
    sent.push({ name, body: request.postDataJSON(), csrf: request.headers()['x-csrf-token'] });
    return route.fulfill({ json: { data: { redirect_to: next }, message: '' } });
  });
  return sent;
}

/** Opens a page on which the service says this step. */
async function open(t: Hooks, interaction: Interaction, path = '/login') {
  const page = await visit(t, browser, { expected: ['401', '404', '422'] });
  const sent = await serve(page, interaction);
  await page.goto(`${path}?interaction=${ID}`);
  return { page, sent };
}

const click = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();

/** Where the page goes on after a sign-in. The service's own operation is answered here. */
async function catchAuthorize(page: Page): Promise<void> {
  await page.route('**/api/v1/oauth/authorize?**', (route) =>
    route.fulfill({ contentType: 'text/html', body: '<title>authorized</title>' }),
  );
}

test('a sign-in says what for, fills in the email, and goes on with the request', async (t) => {
  const user = await createVerifiedUser(service);
  const { page } = await open(t, interactionAt('sign_in', { login_hint: user.email }));
  await catchAuthorize(page);
  await heading(page).getByText('Sign in').waitFor();
  await page.getByText('to continue to Grafana', { exact: true }).waitFor();
  assert.equal(await page.getByLabel('Email address').inputValue(), user.email);
  for (const [name, path] of [
    ['Create an account', '/register'],
    ['Forgot your password?', '/forgot'],
  ] as const) {
    const href = await page.getByRole('link', { name }).getAttribute('href');
    assert.equal(href, `${path}?interaction=${ID}`);
  }
  await assertPageAccessible(page, 'sign-in for an application');
  await sendPassword(page, user.email);
  await page.waitForURL(`**/api/v1/oauth/authorize?interaction=${ID}`);
});

test('the page speaks the language that the application asks for, unless the person has chosen one', async (t) => {
  const { page } = await open(t, interactionAt('sign_in'));
  const address = `/login?interaction=${ID}&ui_locales=de`;
  await page.goto(address);
  await page.getByText('weiter zu Grafana').waitFor();
  assert.equal(await page.locator('html').getAttribute('lang'), 'de');
  const href = await page.getByRole('link', { name: 'Konto erstellen' }).getAttribute('href');
  assert.equal(href, `/register?interaction=${ID}&ui_locales=de`);
  await click(page, 'English');
  await page.getByText('to continue to Grafana').waitFor();
});

test('a second factor is asked for on the way', async (t) => {
  const user = await addAppUser(service);
  const { page } = await open(t, interactionAt('sign_in'));
  await catchAuthorize(page);
  await sendPassword(page, user.email);
  await page.getByLabel('Code', { exact: true }).fill(codeOf(user.secret));
  await page.keyboard.press('Enter');
  await page.waitForURL(`**/api/v1/oauth/authorize?interaction=${ID}`);
});

test('an account is created for the request, and the next page still knows it', async (t) => {
  const { page } = await open(t, interactionAt('sign_in', { login_hint: 'new@example.com' }), '/register');
  await heading(page).getByText('Create an account').waitFor();
  await page.getByText('to continue to Grafana', { exact: true }).waitFor();
  assert.equal(await page.getByLabel('Email address').inputValue(), 'new@example.com');
  await page.getByLabel('First name').fill('Ada');
  await page.getByLabel('Password', { exact: true }).fill('Vexing#Quartz82Lime');
  await page.keyboard.press('Enter');
  await page.waitForURL(`**/check-email?interaction=${ID}`);
  const link = page.getByRole('link', { name: 'Go to sign-in' });
  assert.equal(await link.getAttribute('href'), `/login?interaction=${ID}`);
});

test('a request that is finished says so, at every page and for an id that is cut off', async (t) => {
  const page = await visit(t, browser, { expected: ['404', '422'] });
  await page.route('**/api/v1/oauth/interactions/**', (route) =>
    route.fulfill({ status: 404, json: refusal('interaction_not_found') }),
  );
  for (const path of ['/login', '/register', '/consent', '/device', '/sign-out'])
    for (const id of [ID, '']) {
      if (id === '' && path !== '/login') continue;
      await page.goto(`${path}?interaction=${id}`);
      await heading(page).getByText('This sign-in is finished').waitFor();
      await page.getByText('Begin again in the application.').waitFor();
    }
  await page.goto('/consent');
  await heading(page).getByText('This sign-in is finished').waitFor();
  await assertPageAccessible(page, 'finished');
});

test('consent names who asks and what for, and sends the scopes that are left', async (t) => {
  const { page, sent } = await open(t, interactionAt('consent', { consent }), '/consent');
  await heading(page).getByText('Grafana asks for access').waitFor();
  for (const text of [
    'You are sent back to grafana.example.com',
    'Signed in as Ada Lovelace (ada@example.com)',
    'report.read Read every report',
    /The access lasts when you are not there, until /,
  ])
    await page.getByText(text).first().waitFor();
  const box = (name: string) => page.getByRole('checkbox', { name });
  assert.equal(await box('Know that it is you').isDisabled(), true);
  await box('Read your email address new').waitFor();
  await box('Read the reports.').waitFor();
  await assertPageAccessible(page, 'consent', (scheme, { width }) =>
    photograph(page, `consent-${scheme}-${width}`),
  );
  const looks = await Promise.all(
    ['Allow', 'Deny'].map((name) =>
      page
        .getByRole('button', { name })
        .evaluate((button) => [button.className, button.clientWidth, button.clientHeight].join(' ')),
    ),
  );
  assert.equal(looks[0], looks[1]);
  await box('Keep this access').uncheck();
  await page.getByText(/The access lasts while you are signed in, until /).waitFor();
  const pages = await page.evaluate('history.length');
  await click(page, 'Allow');
  await page.waitForURL('**/docs/errors?code=1');
  const expected: ConsentBody = { decision: 'allow', scopes: ['openid', 'email', 'reports'] };
  assert.deepEqual(
    sent.map(({ name, body }) => ({ name, body })),
    [{ name: '/consent', body: expected }],
  );
  assert.ok(sent[0]?.csrf, 'the CSRF token is sent');
  // The page was replaced, so that "back" does not show a request that is finished.
  assert.equal(await page.evaluate('history.length'), pages);
});

test('consent with nothing taken away names no scopes, and a denial says only that', async (t) => {
  for (const [name, body] of [
    ['Allow', { decision: 'allow' }],
    ['Deny', { decision: 'deny' }],
  ] as const) {
    const { page, sent } = await open(t, interactionAt('consent', { consent }), '/consent');
    await click(page, name);
    await page.waitForURL('**/docs/errors?code=1');
    assert.deepEqual(sent[0]?.body, body);
  }
});

test('a program of the device is named as such, and the page that stays says so', async (t) => {
  const members = { consent, application: { ...application, host: null } };
  const { page, foreign, leave } = await nextVisit(browser);
  t.after(leave);
  await serve(page, interactionAt('consent', members), 'com.example.app:/callback?code=1');
  await page.goto(`/consent?interaction=${ID}`);
  await page.getByText('You are sent back to a program on this device.').waitFor();
  await click(page, 'Allow');
  await heading(page).getByText('Go on in the application').waitFor();
  assert.deepEqual(foreign, ['com.example.app:/callback?code=1']);
});

test('an account is chosen, or another one', async (t) => {
  for (const [name, decision] of [
    ['Continue as Ada Lovelace', 'continue'],
    ['Use another account', 'switch'],
  ] as const) {
    const { page, sent } = await open(t, interactionAt('select_account'));
    await page.getByText('to continue to Grafana', { exact: true }).waitFor();
    if (decision === 'switch') await assertPageAccessible(page, 'the choice of an account');
    await click(page, name);
    await page.waitForURL('**/docs/errors?code=1');
    assert.deepEqual(sent[0]?.body, { decision });
  }
});

test('people whom an application is not open to learn what they lack, and go back', async (t) => {
  const members = { required_permission: 'grafana.use' };
  const { page, sent } = await open(t, interactionAt('refused', members));
  await heading(page).getByText('You cannot use Grafana').waitFor();
  await page.getByText('grafana.use', { exact: true }).waitFor();
  await page.getByText('Ask your administrator for a role that has it.').waitFor();
  await assertPageAccessible(page, 'refused');
  await click(page, 'Back to Grafana');
  await page.waitForURL('**/docs/errors?code=1');
  assert.equal(sent[0]?.name, '/cancel');
});

test('a sign-out is asked for, and what is chosen is sent', async (t) => {
  for (const [name, decision] of [
    ['Sign out', 'sign_out'],
    ['Stay signed in', 'stay'],
  ] as const) {
    const { page, sent } = await open(t, interactionAt('sign_out'), '/sign-out');
    await page.evaluate('localStorage.setItem("castellan:" + location.origin + ":session", "x")');
    await heading(page).getByText('Do you want to sign out?').waitFor();
    if (decision === 'stay') await assertPageAccessible(page, 'sign-out');
    await click(page, name);
    await page.waitForURL('**/docs/errors?code=1');
    assert.deepEqual(sent[0], { name: '/sign-out', body: { decision }, csrf: sent[0]?.csrf });
    const note = await page.evaluate('localStorage.getItem("castellan:" + location.origin + ":session")');
    assert.equal(note === null, decision === 'sign_out');
  }
});

test('after a sign-out, the page says so and leads to sign-in', async (t) => {
  const page = await visit(t, browser);
  await page.goto('/sign-out');
  await heading(page).getByText('You are signed out').waitFor();
  await page.getByRole('link', { name: 'Go to sign-in' }).waitFor();
  await assertPageAccessible(page, 'signed out');
});

test('a device is connected by its code, which a link fills in and does not send', async (t) => {
  const device = { address: '203.0.113.0/24', user_agent: 'TV/1.0', asked_at: new Date().toISOString() };
  const page = await visit(t, browser, { expected: ['404'] });
  const sent = await serve(page, interactionAt('device', { device, consent }));
  const codes: unknown[] = [];
  await page.route('**/api/v1/oauth/device', (route) => {
    codes.push(route.request().postDataJSON());
    return codes.length === 1
      ? route.fulfill({ status: 404, json: refusal('user_code_unknown') })
      : route.fulfill({ json: { data: { interaction_id: ID }, message: '' } });
  });
  await page.goto('/device?user_code=BCDF-GHJK');
  await heading(page).getByText('Connect a device').waitFor();
  const field = page.getByLabel('Code', { exact: true });
  assert.equal(await field.inputValue(), 'BCDF-GHJK');
  await page.waitForLoadState('networkidle');
  assert.deepEqual(codes, []);
  await assertPageAccessible(page, 'the code of a device');
  await field.fill('bcd');
  await click(page, 'Continue');
  await status(page).getByText('The code has eight letters').waitFor();
  assert.deepEqual(codes, []);
  await field.fill('bcdf ghjk');
  await click(page, 'Continue');
  await status(page).getByText('This code is wrong or has expired.').waitFor();
  await click(page, 'Continue');
  await page.waitForURL(`**/device?interaction=${ID}`);
  assert.deepEqual(codes, [{ user_code: 'BCDF-GHJK' }, { user_code: 'BCDF-GHJK' }]);
  await page.getByText('Only go on if you started this on your own device just now.').waitFor();
  await page.getByText('203.0.113.0/24', { exact: true }).waitFor();
  await page.getByText('TV/1.0', { exact: true }).waitFor();
  await assertPageAccessible(page, 'a device', (scheme, { width }) =>
    photograph(page, `device-${scheme}-${width}`),
  );
  await click(page, 'Deny');
  await page.waitForURL('**/docs/errors?code=1');
  assert.deepEqual(sent[0]?.body, { decision: 'deny' });
});

test('a device is connected by people who sign in first, with the code kept', async (t) => {
  const page = await visit(t, browser, { expected: ['401'] });
  await page.route('**/api/v1/oauth/device', (route) =>
    route.fulfill({ status: 401, json: refusal('browser_session_required') }),
  );
  await page.goto('/device?user_code=bcdfghjk');
  await click(page, 'Continue');
  await page.waitForURL('**/login?next=*');
  const next = new URL(page.url()).searchParams.get('next');
  assert.equal(next, '/device?user_code=BCDF-GHJK');
});

/** Opens the page of a proof as a person who is signed in. */
async function openProof(
  t: Hooks,
  as: { email: string; password: string },
  members: Partial<Interaction> = {},
  step: 'reauthenticate' | 'step_up' = 'reauthenticate',
) {
  const { page } = await openAs(t, site, '/docs/errors', { as, expected: ['422', '400', '401'] });
  const account = { name: 'Ada', email: as.email };
  const sent = await serve(page, interactionAt(step, { account, ...members }));
  await page.goto(`/login?interaction=${ID}`);
  await heading(page).getByText('Confirm that it is you').waitFor();
  return { page, sent };
}

test('a proof is asked for again: by the password, for an account without a factor', async (t) => {
  const user = await createVerifiedUser(service);
  const { page, sent } = await openProof(t, user);
  await page.getByText('Grafana asks you to confirm it once more.').waitFor();
  await page.getByLabel('Password', { exact: true }).fill(user.password);
  await assertPageAccessible(page, 'a proof by password');
  await page.route(`**/interactions/${ID}/reauthenticate`, (route) =>
    route.fulfill({ status: 400, json: refusal('wrong_current_password') }),
  );
  await click(page, 'Confirm');
  await status(page).getByText('The service says wrong_current_password.').waitFor();
  await page.unroute(`**/interactions/${ID}/reauthenticate`);
  await click(page, 'Confirm');
  await page.waitForURL('**/docs/errors?code=1');
  assert.deepEqual(sent[0]?.body, { password: user.password });
});

test('a stronger proof is asked for: by the app, or by a recovery code', async (t) => {
  const user = await addAppUser(service);
  const { page, sent } = await openAppProof(t, user);
  await page.getByText('Grafana asks for a stronger proof.').waitFor();
  await assertPageAccessible(page, 'a proof by code');
  await page.getByRole('button', { name: 'Recovery code' }).click();
  await assertFocusIn(page, 'h1');
  await page.getByLabel('Recovery code').fill('ABCD-EFGH');
  await page.getByRole('button', { name: 'Authenticator app' }).click();
  await page.getByLabel('Code', { exact: true }).fill('12');
  await click(page, 'Confirm');
  await status(page).getByText('The code has six digits.').waitFor();
  await page.getByLabel('Code', { exact: true }).fill('123 456');
  await click(page, 'Confirm');
  await page.waitForURL('**/docs/errors?code=1');
  assert.deepEqual(sent[0]?.body, { totp: '123456' });
});

/** Such an account signs in with its code. */
async function openAppProof(t: Hooks, user: Awaited<ReturnType<typeof addAppUser>>) {
  const page = await visit(t, browser, { expected: ['422'] });
  const step = interactionAt('step_up', {
    account: { name: 'Ada', email: user.email },
    required_acr: 'aal2',
  });
  await page.goto('/login');
  await sendPassword(page, user.email);
  await page.getByLabel('Code', { exact: true }).fill(codeOf(user.secret));
  await page.keyboard.press('Enter');
  await page.waitForURL('**/account');
  const sent = await serve(page, step);
  await page.goto(`/login?interaction=${ID}`);
  await heading(page).getByText('Confirm that it is you').waitFor();
  return { page, sent };
}

test('an account without a password and a factor proves who it is at its provider', async (t) => {
  const user = await createVerifiedUser(service);
  const providers: Interaction['providers'] = [{ slug: 'acme', name: 'Acme', kind: 'oidc' }];
  const page = await visit(t, browser, { expected: ['400'] });
  await page.goto('/login');
  await sendPassword(page, user.email);
  await page.waitForURL('**/overview');
  await service.sql('update users set password_hash = null where email = $1', [user.email]);
  await serve(page, interactionAt('reauthenticate', { providers }));
  const started = page.waitForRequest('**/api/v1/auth/providers/acme/start');
  await page.route('**/api/v1/auth/providers/acme/start', (route) =>
    route.fulfill({ json: { data: { redirect_to: '/docs/errors?provider' }, message: '' } }),
  );
  await page.goto(`/login?interaction=${ID}`);
  await status(page).getByText('This account has no password').waitFor();
  await assertPageAccessible(page, 'proof at a provider');
  await click(page, 'Continue with Acme');
  assert.deepEqual((await started).postDataJSON(), { interaction_id: ID });
  await page.waitForURL('**/docs/errors?provider');
});

test('an account without the factor that is required learns where to set one up', async (t) => {
  const user = await createVerifiedUser(service);
  const page = await visit(t, browser, { expected: ['403', '401'] });
  await serve(page, interactionAt('step_up', { required_acr: 'aal2' }));
  await page.goto('/login');
  await sendPassword(page, user.email);
  await page.waitForURL('**/account');
  await answer(page, 'step-up/options', 403, refusal('second_factor_enrolment_required'));
  await page.goto(`/login?interaction=${ID}`);
  await status(page).getByText('You need a second factor.').waitFor();
  const link = page.getByRole('link', { name: 'Open your account' });
  assert.equal(await link.getAttribute('href'), '/account');
});

test('a password that must be changed is changed on the way', async (t) => {
  const user = await createVerifiedUser(service);
  const { page } = await openAs(t, site, '/docs/errors', { as: user });
  await catchAuthorize(page);
  await serve(page, interactionAt('change_password', { account: { name: 'Ada', email: user.email } }));
  await page.goto(`/login?interaction=${ID}`);
  await heading(page).getByText('Choose a new password').waitFor();
  await assertPageAccessible(page, 'a password that must be changed');
  await page.getByLabel('Current password').fill(user.password);
  await page.getByLabel('New password').fill('ReplacementPassword!42');
  await click(page, 'Change the password');
  await page.waitForURL(`**/api/v1/oauth/authorize?interaction=${ID}`);
});

test('a request whose session has ended asks anew what is to do', async (t) => {
  const { page } = await open(t, interactionAt('consent', { consent }), '/consent');
  await heading(page).getByText('Grafana asks for access').waitFor();
  await serve(page, interactionAt('sign_in'));
  await page.route(`**/interactions/${ID}/consent`, (route) =>
    route.fulfill({ status: 401, json: refusal('browser_session_required') }),
  );
  await click(page, 'Allow');
  await heading(page).getByText('Sign in').waitFor();
});

test('an answer that came too late says that the sign-in is finished', async (t) => {
  const { page } = await open(t, interactionAt('consent', { consent }), '/consent');
  await page.route(`**/interactions/${ID}/consent`, (route) =>
    route.fulfill({ status: 404, json: refusal('interaction_not_found') }),
  );
  await click(page, 'Allow');
  await heading(page).getByText('This sign-in is finished').waitFor();
});

const everyStep: readonly Interaction[] = [
  interactionAt('sign_in'),
  interactionAt('select_account'),
  interactionAt('refused', { required_permission: 'grafana.use' }),
  interactionAt('consent', { consent }),
  interactionAt('sign_out'),
  interactionAt('device', {
    consent,
    device: { address: '203.0.113.0/24', user_agent: 'TV/1.0', asked_at: new Date().toISOString() },
  }),
  interactionAt('change_password'),
];

test('every step has German texts, fits phones, and none of its texts is written out', async (t) => {
  const page = await visit(t, browser, { context: { viewport: { width: 390, height: 844 } } });
  await page.goto('/docs/errors');
  for (const language of ['de', 'en-XB']) {
    await page.evaluate(`localStorage.setItem('castellan.language', '${language}')`);
    for (const interaction of everyStep) {
      await page.unrouteAll();
      await serve(page, interaction);
      await page.goto(`/login?interaction=${ID}`);
      await heading(page).waitFor();
      await page.locator('form, .button').first().waitFor();
      const known = [JSON.stringify(interaction)];
      if (language === 'en-XB') assert.deepEqual(await untranslatedTexts(page, known), [], interaction.step);
      else {
        assert.deepEqual(await layoutFaults(page, known), [], interaction.step);
        await photograph(page, `step-${interaction.step}-390`);
        await page.setViewportSize({ width: 1_280, height: 800 });
        await page.emulateMedia({ colorScheme: 'dark' });
        await photograph(page, `step-${interaction.step}-1280-dark`);
        await page.emulateMedia({ colorScheme: null });
        await page.setViewportSize({ width: 390, height: 844 });
      }
    }
  }
});
