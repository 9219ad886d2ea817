// Signing in with a provider, from the button to the account: made, connected, disconnected, refused, and with a provider that is away.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { eventually, PASSWORD } from '@castellan/testing/harness';
import { startIssuer } from '@castellan/testing/openid/issuer';
import { addPerson } from '@castellan/testing/users/people';
import { assertAccessible } from '../../accessibility.ts';
import { heading } from '../../harness.ts';
import { continueWith, startWithIssuer, trusting } from './issuer-visits.ts';
import { sendPassword } from './visits.ts';

const { service, admin, issuer, addProvider, somebody, visit } = await startWithIssuer({ after });
await addProvider('Acme', trusting);
await addProvider('Bravo');

test('an account is made, and its owner connects a second provider and disconnects the first', async (t) => {
  const page = await visit(t, ['409']);
  const email = somebody();
  await page.goto('/login?next=/account');
  await page.getByRole('heading', { name: 'Or sign in another way' }).waitFor();
  await assertAccessible(page, 'the sign-in page with providers');
  await continueWith(page, 'Acme');
  await page.waitForURL('**/account');
  const own = page.getByRole('region', { name: 'Connected sign-ins' });
  await own.getByRole('listitem', { name: 'Acme' }).getByText(email).waitFor();
  await page.getByText('Your account has no password: you sign in with an account elsewhere.').waitFor();
  await assertAccessible(page, 'the account without a password');
  await own.getByRole('button', { name: 'Disconnect Acme' }).click();
  const dialog = page.getByRole('dialog', { name: 'Disconnect Acme?' });
  await dialog.getByRole('button', { name: 'Disconnect' }).click();
  await dialog.getByText(/^This is your only way to sign in/).waitFor();
  await page.keyboard.press('Escape');
  await own.getByRole('button', { name: 'Connect Bravo' }).click();
  await own.getByRole('listitem', { name: 'Bravo' }).waitFor();
  assert.equal(new URL(page.url()).pathname, '/account');
  // The session began with the one that stays.
  await page.getByRole('button', { name: 'Sign out', exact: true }).first().click();
  await page.waitForURL('**/login**');
  await page.goto('/login?next=/account');
  await continueWith(page, 'Bravo');
  await own.getByRole('button', { name: 'Disconnect Acme' }).click();
  await dialog.getByRole('button', { name: 'Disconnect' }).click();
  await page.getByText('Acme is disconnected.').waitFor();
  await own.getByRole('listitem', { name: 'Acme' }).waitFor({ state: 'detached' });
});

test('who has an account signs in to it once more, and confirms', async (t) => {
  const page = await visit(t);
  const person = await addPerson(service, { email: somebody() });
  await page.goto('/login?next=/account');
  await continueWith(page, 'Acme');
  await heading(page).getByText('Connect Acme with your account').waitFor();
  await page.getByText('An account with this address exists.').waitFor();
  await assertAccessible(page, 'the page of an identity whose address has an account');
  await page.getByRole('link', { name: 'Sign in' }).click();
  await sendPassword(page, person.email, PASSWORD);
  await page.getByRole('button', { name: 'Connect', exact: true }).click();
  await page.waitForURL('**/account');
  await page
    .getByRole('region', { name: 'Connected sign-ins' })
    .getByRole('listitem', { name: 'Acme' })
    .waitFor();
});

test('an address that the provider does not vouch for is asked for', async (t) => {
  const page = await visit(t, ['422']);
  const email = somebody({ email_verified: false });
  await page.goto('/login');
  await continueWith(page, 'Acme');
  await heading(page).getByText('Confirm your email address').waitFor();
  assert.equal(await page.getByLabel('Email address').inputValue(), email);
  await page.getByRole('button', { name: 'Send the code' }).click();
  await page.getByText('If this address can be used here, a mail with a code is on its way.').waitFor();
  await assertAccessible(page, 'the page of the code');
  await page.getByLabel('Code from the mail').fill('0000 0000');
  await page.getByRole('button', { name: 'Confirm' }).click();
  await page.locator('[name="code"][aria-invalid="true"]').waitFor();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.waitForURL('**/login');
});

test('what went wrong at the provider is told, and a provider that is away stops nobody else', async (t) => {
  const page = await visit(t, ['503', '404']);
  somebody();
  await page.unroute(`${issuer.url}/**`);
  await page.route(`${issuer.url}/**`, (route) => {
    const { redirectUri, parameters } = issuer.refuse(route.request().url());
    return route.fulfill({ status: 303, headers: { location: `${redirectUri}?${parameters}` } });
  });
  await page.goto('/login?next=/account');
  await continueWith(page, 'Acme');
  await page.getByText('The sign-in was cancelled at the provider.').waitFor();
  await page.getByText('Provider Acme', { exact: true }).waitFor();
  await assertAccessible(page, 'the page of a failure');
  await page.getByRole('link', { name: 'Begin again' }).click();
  await page.waitForURL('**/login?next=%2Faccount');
  await page.goto('/provider?result=pending');
  await heading(page).getByText('This sign-in has expired').waitFor();
  const away = await startIssuer(t);
  await addProvider('Away', { issuer: away.issuer });
  away.misbehaviour.trouble = { discovery: 'error' };
  await page.goto('/login');
  await continueWith(page, 'Away');
  await page
    .getByText('Away cannot be reached right now. Try again in a moment, or sign in another way.')
    .waitFor();
  await page.getByRole('button', { name: 'Continue with Acme' }).waitFor();
});

test('an address whose people must use a provider leads to that one alone', async (t) => {
  const page = await visit(t, ['422']);
  await addProvider('Cargo', { domains: ['cargo.example'], required_for_domains: true });
  await page.goto('/login?next=/account');
  await page.getByRole('button', { name: 'Continue with Cargo' }).waitFor();
  // Every instance knows it within two seconds.
  await eventually(async () => {
    const answer = await admin.post('/api/v1/auth/password-reset/request', { email: 'ada@cargo.example' });
    return answer.status === 422 ? answer : undefined;
  }, 'the provider to be required');
  await sendPassword(page, 'ada@cargo.example', PASSWORD);
  await page.getByText('People with this email address sign in with their identity provider.').waitFor();
  await page.locator('main > .ways').waitFor();
  assert.equal(await page.getByRole('button', { name: /^Continue with/ }).count(), 1);
});
