// Signing in with passkeys and security keys: authenticator, browser and service as they are, under the service's own policies.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { PASSKEY_ORIGIN } from '@castellan/testing/e2e/browser';
import { eventsOf } from '@castellan/testing/sessions/audit-events';
import type { Page } from 'playwright-core';
import { heading, startConsole } from '../../harness.ts';
import { button } from '../../own-factors.ts';
import { sendPassword, status } from '../sign-in/visits.ts';
import { arriveWithPasskey, type Person, signOut, type Visitor } from './people.ts';

const site = await startConsole({ after }, { PUBLIC_URL: PASSKEY_ORIGIN });
const { service } = site;

const passkey = (page: Page) => button(page, 'Sign in with a passkey');

/** The authenticator takes whatever the email field suggests, at once. This browser suggests nothing. */
const suggestNothing = ({ page }: Visitor): Promise<unknown> =>
  page.addInitScript('PublicKeyCredential.isConditionalMediationAvailable = async () => false;');

async function openLogin(visitor: Visitor): Promise<void> {
  await suggestNothing(visitor);
  await visitor.page.goto('/login?next=%2Faccount');
  await passkey(visitor.page).waitFor();
}

async function assertSignedIn(page: Page, { email }: Person): Promise<void> {
  await page.waitForURL('**/account');
  await page.getByText(email).first().waitFor();
}

/** Returns how the person has proved who they are, at each sign-in with more than a password. */
async function methodsOf(person: Person): Promise<unknown[]> {
  const events = await eventsOf(service, 'login_succeeded', person);
  return events.map(({ details }) => details.methods).filter((methods) => methods !== undefined);
}

test('a suggestion of the email field signs in, without an address or a password', async (t) => {
  const { page, person } = await arriveWithPasskey(t, site);
  await page.goto('/login?next=%2Faccount');
  await assertSignedIn(page, person);
  assert.deepEqual(await methodsOf(person), [['passkey']]);
});

test('the button signs in, also while the email field offers the passkey', async (t) => {
  const { page, person, authenticator } = await arriveWithPasskey(t, site);
  await authenticator.touch(false);
  const offered = page.waitForResponse('**/login/passkey/options');
  await page.goto('/login?next=%2Faccount');
  await offered;
  await passkey(page).waitFor();
  await authenticator.touch(true);
  await passkey(page).click();
  await assertSignedIn(page, person);
  assert.deepEqual(await methodsOf(person), [['passkey']]);
});

test('a security key confirms a sign-in after the password', async (t) => {
  const visitor = await arriveWithPasskey(t, site, { kind: 'key', expected: ['422'] });
  const { page, person } = visitor;
  await openLogin(visitor);
  await sendPassword(page, person.email, person.password);
  await heading(page).getByText('Confirm that it is you').waitFor();
  await button(page, 'Use passkey').click();
  await assertSignedIn(page, person);
  assert.deepEqual(await methodsOf(person), [['password', 'passkey']]);
});

test('anyone who cancels on the page is told nothing, and can use the password', async (t) => {
  const visitor = await arriveWithPasskey(t, site, { expected: ['422'] });
  const { page, person } = visitor;
  await visitor.authenticator.touch(false);
  await openLogin(visitor);
  await passkey(page).click();
  await button(page, 'Cancel').click();
  await passkey(page).waitFor();
  assert.equal(await status(page).textContent(), '');
  await sendPassword(page, person.email, person.password);
  await heading(page).getByText('Confirm that it is you').waitFor();
});

test('anyone who declines in the browser learns that nothing happened, and can try again', async (t) => {
  const visitor = await arriveWithPasskey(t, site);
  const { page, person, authenticator } = visitor;
  await openLogin(visitor);
  await authenticator.recognize(false);
  await passkey(page).click();
  await status(page).getByText('Nothing happened. Try again, or use your password.').waitFor();
  assert.deepEqual(await methodsOf(person), []);
  await authenticator.recognize(true);
  await passkey(page).click();
  await assertSignedIn(page, person);
});

test('a passkey that was removed here signs in nobody, and the browser drops it', async (t) => {
  const visitor = await arriveWithPasskey(t, site, { expected: ['422'] });
  const { page, person, authenticator } = visitor;
  await service.sql('delete from passkeys where user_id = $1', [person.id]);
  await openLogin(visitor);
  await passkey(page).click();
  await status(page).getByText('This passkey no longer works here. Use your password.').waitFor();
  assert.deepEqual(await authenticator.credentials(), []);
  await sendPassword(page, person.email, person.password);
  await assertSignedIn(page, person);
});

test('a suggestion of a passkey that was removed here comes once', async (t) => {
  const { page, person, authenticator } = await arriveWithPasskey(t, site, { expected: ['422'] });
  await service.sql('delete from passkeys where user_id = $1', [person.id]);
  await page.goto('/login');
  await status(page).getByText('This passkey no longer works here. Use your password.').waitFor();
  assert.deepEqual(await authenticator.credentials(), []);
});

test('a copy of a passkey is refused and recorded, and the passkey goes on', async (t) => {
  const visitor = await arriveWithPasskey(t, site, { expected: ['422'] });
  const { page, person, authenticator } = visitor;
  await authenticator.count(40);
  await openLogin(visitor);
  await passkey(page).click();
  await assertSignedIn(page, person);
  await signOut(visitor);
  await authenticator.count(7);
  await openLogin(visitor);
  await passkey(page).click();
  await status(page)
    .getByText('The passkey could not be verified. Try again, or sign in another way.')
    .waitFor();
  const noticed = await eventsOf(service, 'passkey_counter_regressed', person);
  assert.deepEqual(
    noticed.map(({ details }) => details.accepted),
    [false],
  );
  await authenticator.count(41);
  await passkey(page).click();
  await assertSignedIn(page, person);
});
