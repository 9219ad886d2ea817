// Signing in to an application and out of it, in a real browser against the real service, from the request of the application to the
// answer that arrives at it. What the pages complain about fails a test, violations of their policies included.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { after, test } from 'node:test';
import { nextVisit } from '@castellan/testing/e2e/browser';
import { ADMIN, eventually, type Hooks, signIn } from '@castellan/testing/harness';
import { startIssuer } from '@castellan/testing/openid/issuer';
import { addIdentity, addProvider } from '@castellan/testing/openid/providers';
import { addApplication, type TestApplication } from '@castellan/testing/openid/tokens';
import { addAppUser, codeOf } from '@castellan/testing/second-factors/app';
import { basicOf, postForm } from '@castellan/testing/service-accounts/token-services';
import { addPerson } from '@castellan/testing/users/people';
import type { Page } from 'playwright-core';
import { assertPageAccessible } from '../../accessibility.ts';
import { heading, startConsole } from '../../harness.ts';
import { photograph } from '../../pictures.ts';
import { sendPassword } from './visits.ts';

const site = await startConsole({ after }, { RATE_LIMIT_SECOND_FACTOR: 'off' });
const { service, browser } = site;
const admin = await signIn(service, ADMIN);

type Arrival = { method: string; path: string; fields: URLSearchParams };

/** What a browser has brought to the application, which listens on this machine. */
const arrivals: Arrival[] = [];
const listener = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://application');
  let body = '';
  request.setEncoding('utf8').on('data', (text: string) => {
    body += text;
  });
  request.on('end', () => {
    const fields = request.method === 'POST' ? new URLSearchParams(body) : searchParams;
    if (pathname !== '/favicon.ico') arrivals.push({ method: request.method ?? '', path: pathname, fields });
    response
      .setHeader('content-type', 'text/html')
      .end(
        '<!doctype html><html lang="en"><link rel="icon" href="data:,"><title>The application</title><h1>Here again</h1></html>',
      );
  });
});
await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
after(() => {
  listener.closeAllConnections();
  listener.close();
});
const bound = listener.address();
assert.ok(bound !== null && typeof bound === 'object');
const home = `http://127.0.0.1:${bound.port}`;

const verifier = randomBytes(32).toString('base64url');
const challenge = createHash('sha256').update(verifier).digest('base64url');

const connect = (fields: object = {}): Promise<TestApplication> =>
  addApplication(service, admin, {
    redirect_uris: [`${home}/callback`],
    post_logout_redirect_uris: [`${home}/signed-out`],
    ...fields,
  });

const requestOf = (application: TestApplication, more: Record<string, string> = {}): string =>
  `/api/v1/oauth/authorize?${new URLSearchParams({
    client_id: application.client_id,
    redirect_uri: `${home}/callback`,
    response_type: 'code',
    scope: 'openid profile email',
    state: 'the-state',
    code_challenge: challenge,
    code_challenge_method: 'S256',
    ...more,
  })}`;

/** Opens a window of a new visitor. Complaints with one of the texts in `expected` are those that the test provokes; it leads to `origins` alone. */
async function arrive(
  t: Hooks,
  expected: readonly string[] = [],
  origins: readonly string[] = [home],
): Promise<Page> {
  const { page, complaints, foreign, leave } = await nextVisit(browser);
  t.after(async () => {
    await leave();
    assert.deepEqual(
      {
        complaints: complaints.filter((one) => !expected.some((part) => one.includes(part))),
        foreign: foreign.filter((url) => !origins.some((one) => url.startsWith(one))),
      },
      { complaints: [], foreign: [] },
    );
  });
  arrivals.length = 0;
  return page;
}

/** Waits for the answer that the browser brings. There must be one only. */
async function answerAt(page: Page, path = '/callback'): Promise<Arrival> {
  await heading(page).getByText('Here again').waitFor();
  assert.equal(arrivals.length, 1, JSON.stringify(arrivals));
  const [arrival] = arrivals;
  assert.ok(arrival);
  assert.equal(arrival.path, path);
  arrivals.length = 0;
  return arrival;
}

const refusal = ({ fields }: Arrival): (string | null)[] => [
  fields.get('error'),
  fields.get('state'),
  fields.get('iss'),
  fields.get('code'),
];

/** Exchanges the code of an answer, and returns the tokens. */
async function tokensFor(application: TestApplication, { fields }: Arrival) {
  assert.deepEqual(
    [fields.get('state'), fields.get('iss'), fields.get('error')],
    ['the-state', issuer, null],
  );
  const answer = await postForm(
    service,
    'token',
    {
      grant_type: 'authorization_code',
      code: fields.get('code') ?? '',
      redirect_uri: `${home}/callback`,
      code_verifier: verifier,
    },
    basicOf(application.client_id, application.client_secret),
  );
  assert.equal(answer.status, 200, answer.text);
  return answer.body;
}

const claimsOf = (idToken: string): { sub: string; email: string; acr: string; auth_time: number } =>
  JSON.parse(Buffer.from(idToken.split('.')[1] ?? '', 'base64url').toString());

const issuer = 'http://castellan.test';
const click = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();

test('people sign in to our own application, and the second time no page asks them anything', async (t) => {
  const application = await connect({ name: 'Grafana' });
  const person = await addPerson(service);
  const page = await arrive(t);
  await page.goto(requestOf(application));
  await page.getByText('to continue to Grafana', { exact: true }).waitFor();
  await assertPageAccessible(page, 'sign-in to an application', async (scheme, { width }) => {
    // The page follows the system while it is open.
    await page.locator(`html[data-mantine-color-scheme="${scheme}"]`).waitFor({ state: 'attached' });
    await photograph(page, `real-sign-in-${scheme}-${width}`);
  });
  await sendPassword(page, person.email);
  const first = await answerAt(page);
  assert.equal(first.method, 'GET');
  const claims = claimsOf((await tokensFor(application, first)).id_token);
  assert.deepEqual([claims.sub, claims.email], [person.id, person.email]);
  await page.goto(requestOf(application));
  await tokensFor(application, await answerAt(page));
});

test('an application of others is allowed by the person once, with what they let it have', async (t) => {
  const application = await connect({ name: 'Their Wiki', first_party: false });
  const person = await addPerson(service);
  const page = await arrive(t);
  await page.goto(requestOf(application));
  await sendPassword(page, person.email);
  await heading(page).getByText('Their Wiki asks for access').waitFor();
  await page.getByText(`127.0.0.1:${bound.port}`).waitFor();
  await page.getByText(`Ada Lovelace (${person.email})`).waitFor();
  await assertPageAccessible(page, 'consent of the service', (scheme, { width }) =>
    photograph(page, `real-consent-${scheme}-${width}`),
  );
  await page.getByRole('checkbox', { name: 'Read your name', exact: true }).uncheck();
  await click(page, 'Allow');
  const { scope } = await tokensFor(application, await answerAt(page));
  assert.equal(scope, 'openid email');
  await page.goto(requestOf(application, { scope: 'openid email' }));
  await tokensFor(application, await answerAt(page));
  // What it asks for beyond that is asked of the person, and stands out.
  await page.goto(requestOf(application));
  await page.getByRole('checkbox', { name: 'Read your name new' }).waitFor();
  await page.getByRole('checkbox', { name: 'Read your email address', exact: true }).waitFor();
});

test('a denial brings the application no code, and nothing is remembered', async (t) => {
  const application = await connect({ first_party: false });
  const person = await addPerson(service);
  const page = await arrive(t);
  await page.goto(requestOf(application));
  await sendPassword(page, person.email);
  await click(page, 'Deny');
  assert.deepEqual(refusal(await answerAt(page)), ['access_denied', 'the-state', issuer, null]);
  await page.goto(requestOf(application));
  await page.getByRole('button', { name: 'Allow' }).waitFor();
  assert.deepEqual(await service.sql('select 1 from consents where user_id = $1', [person.id]), []);
});

test('people whom the rule of an application keeps out learn why, and go back without a code', async (t) => {
  const [permission] = await service.sql<{ id: string }>(
    "select id from permissions where name = 'role.read'",
  );
  const application = await connect({ name: 'Payroll', required_permission_id: permission?.id });
  const person = await addPerson(service);
  const page = await arrive(t);
  await page.goto(requestOf(application));
  await sendPassword(page, person.email);
  await heading(page).getByText('You cannot use Payroll').waitFor();
  await page.getByText('role.read', { exact: true }).waitFor();
  await assertPageAccessible(page, 'refusal of the service', (scheme, { width }) =>
    photograph(page, `real-refused-${scheme}-${width}`),
  );
  await click(page, 'Back to Payroll');
  assert.deepEqual(refusal(await answerAt(page)), ['access_denied', 'the-state', issuer, null]);
});

test('people choose their account, or sign in with another one', async (t) => {
  const application = await connect({ name: 'Mail' });
  const [ada, bob] = [
    await addPerson(service),
    await addPerson(service, { firstName: 'Bob', lastName: 'Writer' }),
  ];
  const page = await arrive(t);
  await page.goto(requestOf(application));
  await sendPassword(page, ada.email);
  await answerAt(page);
  const choosing = requestOf(application, { prompt: 'select_account' });
  await page.goto(choosing);
  await page.getByText(ada.email).waitFor();
  await photograph(page, 'real-choose-light');
  await click(page, 'Continue as Ada Lovelace');
  assert.equal(claimsOf((await tokensFor(application, await answerAt(page))).id_token).sub, ada.id);
  await page.goto(choosing);
  await click(page, 'Use another account');
  await page.getByText('to continue to Mail', { exact: true }).waitFor();
  await sendPassword(page, bob.email);
  assert.equal(claimsOf((await tokensFor(application, await answerAt(page))).id_token).sub, bob.id);
  assert.deepEqual(
    await service.sql('select 1 from sessions where user_id = $1 and revoked_at is null', [ada.id]),
    [],
    'the session of the account that was left has ended',
  );
});

test('a request with prompt=login is answered after the password, with a newer time of it', async (t) => {
  const application = await connect();
  const person = await addPerson(service);
  const page = await arrive(t, ['400']);
  await page.goto(requestOf(application));
  await sendPassword(page, person.email);
  await answerAt(page);
  await service.sql(
    "update session_tokens set auth_time = auth_time - interval '1 hour' where user_id = $1",
    [person.id],
  );
  await page.goto(requestOf(application, { prompt: 'login' }));
  await heading(page).getByText('Confirm that it is you').waitFor();
  const field = page.getByLabel('Password', { exact: true });
  await field.fill('WrongPassword!1');
  await click(page, 'Confirm');
  await page
    .locator('[role="status"]')
    .getByText(/password/i)
    .waitFor();
  await field.fill(person.password);
  const before = Math.floor(Date.now() / 1_000);
  await click(page, 'Confirm');
  const { auth_time } = claimsOf((await tokensFor(application, await answerAt(page))).id_token);
  assert.ok(auth_time >= before - 60, `proved at ${auth_time}, asked at ${before}`);
});

test('a password that must be changed is changed on the way to the application', async (t) => {
  const application = await connect();
  const person = await addPerson(service);
  await service.sql('update users set must_change_password = true where id = $1', [person.id]);
  const page = await arrive(t);
  await page.goto(requestOf(application));
  await sendPassword(page, person.email);
  await heading(page).getByText('Choose a new password').waitFor();
  await photograph(page, 'real-new-password-light');
  await page.getByLabel('Current password').fill(person.password);
  await page.getByLabel('New password').fill('ReplacementPassword!42');
  await click(page, 'Change the password');
  const { sub } = claimsOf((await tokensFor(application, await answerAt(page))).id_token);
  assert.equal(sub, person.id);
});

test('a second factor is asked for on the way, and the application learns of it', async (t) => {
  const application = await connect();
  const user = await addAppUser(service);
  // The answer to the right password says that a second step is due.
  const page = await arrive(t, ['422']);
  await page.goto(requestOf(application));
  await sendPassword(page, user.email);
  await page.getByLabel('Code', { exact: true }).fill(codeOf(user.secret));
  await page.keyboard.press('Enter');
  const { sub, acr } = claimsOf((await tokensFor(application, await answerAt(page))).id_token);
  assert.deepEqual([sub, acr], [user.id, 'aal2']);
});

test('an answer by form_post arrives as a form, without a click', async (t) => {
  const application = await connect();
  const person = await addPerson(service);
  const page = await arrive(t);
  await page.goto(requestOf(application, { response_mode: 'form_post' }));
  await sendPassword(page, person.email);
  const arrival = await answerAt(page);
  assert.equal(arrival.method, 'POST');
  await tokensFor(application, arrival);
});

const signOutOf = (application: TestApplication, more: Record<string, string> = {}): string =>
  `/api/v1/oauth/logout?${new URLSearchParams({ client_id: application.client_id, ...more })}`;

const liveSessions = (id: string): Promise<unknown[]> =>
  service.sql('select 1 from sessions where user_id = $1 and revoked_at is null', [id]);

test('a sign-out that an application asks for is confirmed, and leads back to it', async (t) => {
  const application = await connect({ name: 'Tracker' });
  const person = await addPerson(service);
  const page = await arrive(t);
  await page.goto(requestOf(application));
  await sendPassword(page, person.email);
  await answerAt(page);
  const back = { post_logout_redirect_uri: `${home}/signed-out`, state: 'after' };
  await page.goto(signOutOf(application, back));
  await heading(page).getByText('Do you want to sign out?').waitFor();
  await assertPageAccessible(page, 'sign-out of the service', (scheme, { width }) =>
    photograph(page, `real-sign-out-${scheme}-${width}`),
  );
  await click(page, 'Stay signed in');
  await answerAt(page, '/signed-out');
  assert.equal((await liveSessions(person.id)).length, 1);
  await page.goto(signOutOf(application, back));
  await click(page, 'Sign out');
  const { fields } = await answerAt(page, '/signed-out');
  assert.deepEqual([...fields], [['state', 'after']]);
  await eventually(async () => ((await liveSessions(person.id)).length === 0 ? true : undefined), 'the end');
  // Nobody is signed in now.
  await page.goto(requestOf(application));
  await page.getByText('to continue to Tracker', { exact: true }).waitFor();
});

test('a sign-out without an address to go back to ends on a page that says so', async (t) => {
  const application = await connect();
  const person = await addPerson(service);
  const page = await arrive(t);
  await page.goto(requestOf(application));
  await sendPassword(page, person.email);
  await answerAt(page);
  await page.goto(signOutOf(application));
  await click(page, 'Sign out');
  await heading(page).getByText('You are signed out').waitFor();
  assert.deepEqual(await liveSessions(person.id), []);
  assert.deepEqual(arrivals, []);
});

test('a request that cannot be answered stays on our own page, which says why', async (t) => {
  const application = await connect({ name: 'Registry' });
  const page = await arrive(t, ['400']);
  for (const [name, address, text] of [
    [
      'unknown',
      requestOf({ ...application, client_id: 'nobody' }),
      'No active application has this client_id.',
    ],
    [
      'redirect',
      requestOf(application, { redirect_uri: `${home}/callback/` }),
      'Only the slash at the end differs.',
    ],
    [
      'sign-out',
      signOutOf(application, { post_logout_redirect_uri: `${home}/elsewhere` }),
      /post_logout_redirect_uri/,
    ],
  ] as const) {
    await page.goto(address);
    await page.getByText(text).first().waitFor();
    await assertPageAccessible(page, `the page of ${name}`, (scheme, { width }) =>
      photograph(page, `real-error-${name}-${scheme}-${width}`),
    );
  }
  assert.deepEqual(arrivals, []);
});

test('people who come by a provider, with a second factor or without, are back in the application with a code', async (t) => {
  const application = await connect({ name: 'Wiki by provider' });
  const upstream = await startIssuer(t);
  const provider = await addProvider(service, { name: 'Acme', issuer: upstream.issuer });
  const withApp = await addAppUser(service);
  for (const person of [await addPerson(service), withApp]) {
    const isWithApp = person === withApp;
    const { subject } = await addIdentity(service, provider, person.id);
    upstream.person = { sub: subject };
    const page = await arrive(t, [], [home, upstream.url]);
    await page.route(`${upstream.url}/**`, (route) => {
      const { redirectUri, parameters } = upstream.approve(route.request().url());
      return route.fulfill({ status: 303, headers: { location: `${redirectUri}?${parameters}` } });
    });
    await page.goto(requestOf(application));
    await page.getByText('to continue to Wiki by provider', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Continue with Acme' }).waitFor();
    await assertPageAccessible(page, 'sign-in to an application, with a provider', (scheme, { width }) =>
      photograph(page, `provider-application-${scheme}-${width}`),
    );
    await click(page, 'Continue with Acme');
    if (isWithApp) {
      await heading(page).getByText('Confirm that it is you').waitFor();
      await page.getByLabel('Code', { exact: true }).fill(codeOf(withApp.secret));
      await page.keyboard.press('Enter');
    }
    const { acr, ...claims } = claimsOf((await tokensFor(application, await answerAt(page))).id_token);
    assert.deepEqual([claims.sub, claims.email, acr], [person.id, person.email, isWithApp ? 'aal2' : 'aal1']);
  }
});
