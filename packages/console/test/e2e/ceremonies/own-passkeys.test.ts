// Adding and removing one's own passkeys and security keys: authenticator, browser and service as they are.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { PASSKEY_ORIGIN } from '@castellan/testing/e2e/browser';
import { age } from '@castellan/testing/passkeys/own';
import { eventsOf } from '@castellan/testing/sessions/audit-events';
import type { Locator, Page } from 'playwright-core';
import { assertAccessible } from '../../accessibility.ts';
import { startConsole } from '../../harness.ts';
import { button, keepCodes, proofDialog } from '../../own-factors.ts';
import { arrive, type Visitor } from './people.ts';

const site = await startConsole({ after }, { PUBLIC_URL: PASSKEY_ORIGIN });
const { service } = site;

const passkeys = (page: Page): Locator => page.getByRole('region', { name: 'Passkeys' });
const keys = (page: Page): Locator => page.getByRole('region', { name: 'Security keys' });

/** Opens the dialog that adds a passkey, and goes on to what the browser asks for. */
async function add(page: Page, { title = 'Add a passkey', name = '' } = {}): Promise<Locator> {
  await button(page, title).click();
  const adding = page.getByRole('dialog', { name: title });
  await adding.getByLabel('Name').fill(name);
  await button(adding, 'Continue').click();
  return adding;
}

/** Asks to remove the only factor, whose proof is too old by then. Returns the dialog that asks for a new one. */
async function beginRemoval({ page, person }: Visitor, name: string): Promise<Locator> {
  await age(service, person);
  await button(page, `Remove ${name}`).click();
  await button(page.getByRole('dialog', { name: `Remove ${name}?` }), 'Remove').click();
  const proof = proofDialog(page);
  await proof.getByText('You are about to remove a passkey or security key.').waitFor();
  return proof;
}

const hasFactor = async ({ person }: Visitor): Promise<boolean> =>
  (await service.client().login(person)).body.code === 'second_factor_required';

test('a passkey is added with recovery codes, and no second one by the same device', async (t) => {
  const { page, person, authenticator } = await arrive(t, site, '/account');
  const other = service.client();
  await other.login(person);
  await passkeys(page).getByText('A passkey signs you in with your fingerprint').waitFor();
  await add(page, { name: 'My laptop' });
  assert.equal((await keepCodes(page)).length, 10);
  await passkeys(page).getByText('My laptop').waitFor();
  await passkeys(page).getByText('This device only').waitFor();
  assert.equal((await other.get('/api/v1/users/me')).status, 401, 'the other session has ended');
  const again = await add(page);
  await again.getByRole('alert').getByText('This device or key is registered already.').waitFor();
  await assertAccessible(page, 'a device that has a passkey already');
  await button(again, 'Cancel').click();
  const made = await authenticator.credentials();
  assert.deepEqual(
    made.map(({ rpId }) => rpId),
    ['accounts.localhost'],
  );
  const events = await eventsOf(service, 'passkey_added', person);
  assert.deepEqual(
    events.map(({ details }) => details.name),
    ['My laptop'],
  );
});

test('anyone who declines in the browser learns that nothing happened, and can try again', async (t) => {
  const visitor = await arrive(t, site, '/account');
  const { page, authenticator } = visitor;
  await authenticator.recognize(false);
  const adding = await add(page);
  await adding.getByRole('alert').getByText('Nothing happened. Try again.').waitFor();
  assert.equal(await hasFactor(visitor), false);
  await authenticator.recognize(true);
  await button(adding, 'Continue').click();
  await keepCodes(page);
  await passkeys(page).getByText('Chrome on Linux').waitFor();
});

test('closing the dialog ends what the browser asks for', async (t) => {
  const visitor = await arrive(t, site, '/account');
  const { page, authenticator } = visitor;
  await authenticator.touch(false);
  const adding = await add(page);
  await adding.getByRole('status').getByText('Follow your browser…').waitFor();
  await button(adding, 'Cancel').click();
  await adding.waitFor({ state: 'detached' });
  assert.equal(await page.getByRole('alert').count(), 0);
  await authenticator.touch(true);
  await add(page);
  await keepCodes(page);
  assert.equal((await authenticator.credentials()).length, 1);
});

test('a dialog that was closed while the service was asked opens none of the browser', async (t) => {
  const visitor = await arrive(t, site, '/account');
  const { page, authenticator } = visitor;
  const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
  await page.route('**/auth/factors/passkeys/options', async (route) => {
    await held;
    await route.continue();
  });
  const adding = await add(page);
  await adding.getByRole('status').getByText('Follow your browser…').waitFor();
  await button(adding, 'Cancel').click();
  await adding.waitFor({ state: 'detached' });
  const answered = page.waitForResponse('**/auth/factors/passkeys/options');
  letGo();
  await (await answered).finished();
  // The next one is asked for after whatever the first one would have begun.
  await add(page, { name: 'Wanted' });
  await keepCodes(page);
  assert.equal((await authenticator.credentials()).length, 1);
  assert.equal(
    await passkeys(page)
      .getByRole('button', { name: /^Remove / })
      .count(),
    1,
  );
});

test('a security key is added, and cannot be a passkey', async (t) => {
  const visitor = await arrive(t, site, '/account', { kind: 'key', expected: ['403'] });
  const { page } = visitor;
  const adding = await add(page);
  await adding.getByRole('alert').getByText('Nothing happened. Try again.').waitFor();
  await button(adding, 'Cancel').click();
  await add(page, { title: 'Add a security key', name: 'Blue key' });
  await keepCodes(page);
  await keys(page).getByText('Blue key').waitFor();
  assert.equal(await passkeys(page).getByText('Blue key').count(), 0);
  const proof = await beginRemoval(visitor, 'Blue key');
  await button(proof, 'Use passkey or security key').click();
  await page.getByText('It is removed.').waitFor();
  assert.equal(await hasFactor(visitor), false);
});

test('a removal asks for the passkey first, and nothing is removed without it', async (t) => {
  const visitor = await arrive(t, site, '/account', { expected: ['403'] });
  const { page, person, authenticator } = visitor;
  await add(page, { name: 'My laptop' });
  await keepCodes(page);
  const proof = await beginRemoval(visitor, 'My laptop');
  await authenticator.recognize(false);
  const use = button(proof, 'Use passkey or security key');
  await use.click();
  await proof.getByRole('alert').getByText('Nothing happened. Try again, or choose another way.').waitFor();
  await assertAccessible(page, 'a proof by passkey that was declined');
  assert.equal(await hasFactor(visitor), true);
  await authenticator.recognize(true);
  await use.click();
  await page.getByText('It is removed.').waitFor();
  assert.equal(await hasFactor(visitor), false);
  assert.equal((await eventsOf(service, 'step_up_succeeded', person)).length, 1);
});
