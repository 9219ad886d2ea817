// What is left to do after a provider: prove an address, the second step, sign out there too. And what people are told who are
// refused, or whose provider is away: each page names what they can do next.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { PASSWORD, signIn } from '@castellan/testing/harness';
import { codeOf, enrol, forgetStep } from '@castellan/testing/second-factors/app';
import { addPerson } from '@castellan/testing/users/people';
import type { Page } from 'playwright-core';
import { assertPageAccessible } from '../../accessibility.ts';
import { assertFocusIn, heading } from '../../harness.ts';
import { photograph } from '../../pictures.ts';
import { continueWith, startWithIssuer, trusting } from './issuer-visits.ts';
import { sendPassword, status } from './visits.ts';

const { service, issuer, addProvider, somebody, visit } = await startWithIssuer(
  { after },
  { RATE_LIMIT_SECOND_FACTOR: 'off' },
);
await addProvider('Acme', trusting);
await addProvider('Everyone', { sign_up: 'everyone' });
await addProvider('Upstream', { ...trusting, logout: 'upstream' });

const assertShows = (page: Page, what: string): Promise<void> =>
  assertPageAccessible(page, what, (scheme, { width }) => photograph(page, `${what}-${scheme}-${width}`));

async function codeTo(email: string): Promise<string> {
  const { kind, text } = await service.mailTo(email);
  assert.equal(kind, 'provider_code');
  const code = /^(\d{8})$/m.exec(text)?.[1];
  assert.ok(code, text);
  return code;
}

test('after a wrong code, the right one from the mail makes the account and leads on', async (t) => {
  const page = await visit(t, ['422']);
  const email = somebody({ email_verified: false });
  await page.goto('/login?next=/account');
  await continueWith(page, 'Everyone');
  await heading(page).getByText('Confirm your email address').waitFor();
  await assertShows(page, 'provider-email');
  await page.getByRole('button', { name: 'Send the code' }).click();
  const field = page.getByLabel('Code from the mail');
  await field.waitFor();
  await assertFocusIn(page, '.notice');
  const code = await codeTo(email);
  const wrong = String((Number(code) + 1) % 10 ** 8).padStart(8, '0');
  await field.fill(wrong);
  await page.keyboard.press('Enter');
  await status(page).getByText('This code is wrong').waitFor();
  await assertFocusIn(page, '[name="code"]');
  assert.equal(await page.evaluate('getSelection().toString()'), wrong);
  await assertShows(page, 'provider-wrong-code');
  await field.fill(`${code.slice(0, 4)} ${code.slice(4)}`);
  await page.keyboard.press('Enter');
  await page.waitForURL('**/account');
  await page.getByText(email).first().waitFor();
});

test('a code that was wrong too often ends the sign-in, and the page says how to begin again', async (t) => {
  const page = await visit(t, ['404', '422']);
  const email = somebody({ email_verified: false });
  await page.goto('/login');
  await continueWith(page, 'Everyone');
  await page.getByRole('button', { name: 'Send the code' }).click();
  const code = await codeTo(email);
  await page.getByLabel('Code from the mail').fill(String((Number(code) + 1) % 10 ** 8).padStart(8, '0'));
  for (let tries = 0; tries < 5; tries += 1) {
    const answered = page.waitForResponse('**/pending-identity/confirm');
    await page.getByRole('button', { name: 'Confirm' }).click();
    await answered;
  }
  await page.getByLabel('Code from the mail').fill(code);
  await page.getByRole('button', { name: 'Confirm' }).click();
  await page
    .locator('[role="status"] .error, h1')
    .getByText(/wrong|expired/)
    .first()
    .waitFor();
  await assertShows(page, 'provider-code-spent');
});

test('an account with an app is asked for its code after the provider', async (t) => {
  const page = await visit(t, ['422']);
  const person = await addPerson(service, { email: somebody() });
  await page.goto('/login?next=/account');
  await continueWith(page, 'Acme');
  await page.getByRole('link', { name: 'Sign in' }).click();
  await sendPassword(page, person.email, PASSWORD);
  await page.getByRole('button', { name: 'Connect', exact: true }).click();
  await page.waitForURL('**/account');
  await page
    .getByRole('region', { name: 'Connected sign-ins' })
    .getByRole('listitem', { name: 'Acme' })
    .waitFor();
  const { secret } = await enrol(await signIn(service, person));
  await forgetStep(service, person);
  await page.context().clearCookies();
  await page.goto('/docs/errors');
  await page.evaluate('localStorage.clear()');
  await page.goto('/login?next=/account');
  await continueWith(page, 'Acme');
  await page.waitForURL('**/login?next=**');
  await heading(page).getByText('Confirm that it is you').waitFor();
  await page.getByText(person.email, { exact: true }).waitFor();
  await assertShows(page, 'provider-second-step');
  await page.getByLabel('Code', { exact: true }).fill(codeOf(secret));
  await page.keyboard.press('Enter');
  await page.waitForURL('**/account');
  await page.getByText(person.email).first().waitFor();
});

test('a sign-out goes on to the provider, and comes back to a page that says so', async (t) => {
  const page = await visit(t);
  somebody();
  await page.goto('/login?next=/account');
  await continueWith(page, 'Upstream');
  await page.waitForURL('**/account');
  const visited: string[] = [];
  await page.route(`${issuer.url}/logout**`, (route) => {
    const { searchParams } = new URL(route.request().url());
    visited.push(searchParams.get('post_logout_redirect_uri') ?? '');
    assert.ok(searchParams.get('id_token_hint'));
    const back = `${visited[0]}?state=${searchParams.get('state')}`;
    return route.fulfill({ status: 303, headers: { location: back } });
  });
  await page.getByRole('button', { name: 'Sign out', exact: true }).first().click();
  await page.waitForURL('**/sign-out');
  assert.deepEqual(visited, ['http://castellan.test/api/v1/auth/providers/upstream/signed-out']);
  await heading(page).getByText('You are signed out').waitFor();
  await assertShows(page, 'provider-signed-out');
  await page.goto('/account');
  await page.waitForURL('**/login**');
});

test('who is refused learns why, and what to do', async (t) => {
  const page = await visit(t, ['422', '503']);
  somebody({ email: 'ada@other.example' });
  await page.goto('/login');
  await continueWith(page, 'Acme');
  // Nobody vouches for the address, so that it is asked for; and no account is made for a foreign domain.
  await page.getByRole('button', { name: 'Send the code' }).click();
  await page.getByLabel('Code from the mail').fill(await codeTo('ada@other.example'));
  await page.getByRole('button', { name: 'Confirm' }).click();
  await heading(page).getByText('You have no account here yet').waitFor();
  await page.getByText('Ask your administrator for an account. Then sign in again.').waitFor();
  await assertShows(page, 'provider-no-account');
  const inactive = await addPerson(service, { email: somebody(), active: false });
  await page.goto('/login');
  await continueWith(page, 'Acme');
  await status(page).getByText('ask your administrator').waitFor();
  await page.getByRole('link', { name: 'Begin again' }).waitFor();
  assert.equal(await page.getByText(inactive.email).count(), 0);
  await assertShows(page, 'provider-refused');
});

test('while the provider does not answer, the pages say so and name the other ways', async (t) => {
  t.after(() => {
    issuer.misbehaviour = {};
  });
  const page = await visit(t, ['503']);
  somebody();
  issuer.misbehaviour = { trouble: { token: 'error' } };
  await page.goto('/login');
  await continueWith(page, 'Acme');
  await status(page).getByText('The provider does not answer.').waitFor();
  await assertShows(page, 'provider-no-answer');
  issuer.misbehaviour = { trouble: { discovery: 'error' } };
  await addProvider('Away');
  await page.getByRole('link', { name: 'Begin again' }).click();
  await continueWith(page, 'Away');
  await status(page)
    .getByText('Away cannot be reached right now. Try again in a moment, or sign in another way.')
    .waitFor();
  await page.getByLabel('Password', { exact: true }).waitFor();
  await assertShows(page, 'provider-away');
});
