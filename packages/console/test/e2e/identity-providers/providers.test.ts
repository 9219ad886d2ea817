// The pages about sign-in providers: create one, test it, order them, end one.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ADMIN, signIn } from '@castellan/testing/harness';
import { startIssuer } from '@castellan/testing/openid/issuer';
import { addIdentity, addProvider } from '@castellan/testing/openid/providers';
import { addPerson, signedInWith } from '@castellan/testing/users/people';
import type { Page } from 'playwright-core';
import { assertAccessible } from '../../accessibility.ts';
import { heading, openAs, startConsole } from '../../harness.ts';
import { photograph } from '../../pictures.ts';

const site = await startConsole({ after });
const { service } = site;
const admin = await signIn(service, ADMIN);
const issuer = await startIssuer({ after });

const path = '/api/v1/identity-providers';
const providers = async () => (await admin.get(path)).body.data;
const clear = () => service.sql('truncate identity_providers cascade');
const names = (page: Page) => page.getByRole('list', { name: 'Sign-in providers' }).locator('.row-name');

test('a provider is created with what its kind has, its addresses are there to copy, and it is tested', async (t) => {
  await clear();
  const { page } = await openAs(t, site, '/identity-providers');
  await page.getByRole('heading', { name: /^Let people sign in/ }).waitFor();
  await page.getByRole('main').getByRole('button', { name: 'New sign-in provider' }).last().click();
  await page.getByRole('link', { name: /^Apple/ }).click();
  await page.getByRole('textbox', { name: 'Team ID' }).waitFor();
  assert.equal(
    (await page.getByRole('textbox', { name: 'Issuer' }).count()) +
      (await page.getByLabel('Client secret').count()),
    0,
  );
  // Apple says nothing about second factors, and has no sign-out: no group is empty.
  for (const group of await page.locator('form fieldset').all())
    assert.ok((await group.getByRole('textbox').or(group.getByRole('combobox')).count()) > 0);
  await page.getByRole('link', { name: 'Choose another' }).click();
  await page.getByRole('link', { name: /^OpenID Connect/ }).click();
  await page.getByRole('textbox', { name: 'Short name' }).fill('acme');
  await page.getByText('/api/v1/auth/providers/acme/callback').waitFor();
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Acme');
  await page.getByRole('textbox', { name: 'Issuer' }).fill(issuer.issuer);
  await page.getByRole('textbox', { name: 'Client ID' }).fill(issuer.client.id);
  await page.getByLabel('Client secret').fill(issuer.client.secret ?? '');
  const facts = page.getByRole('region', { name: 'What happens to whom' });
  await facts.getByText('No account has the address: they are told to ask you for one.').waitFor();
  await page.getByRole('textbox', { name: 'Domains' }).fill('acme.example');
  await page.getByLabel('Who gets an account').selectOption('everyone');
  await facts.getByText('No account has the address: they get one, without a password.').waitFor();
  await page.getByText(/^Everybody in the world/).waitFor();
  await assertAccessible(page, 'the form of a new provider');
  await page.getByRole('button', { name: 'Create' }).click();
  await heading(page).getByText('Acme').waitFor();
  const [made] = await providers();
  assert.deepEqual(
    { slug: made.slug, sign_up: made.sign_up, domains: made.domains, has_secret: made.has_secret },
    { slug: 'acme', sign_up: 'everyone', domains: ['acme.example'], has_secret: true },
  );
  await page.getByText(made.redirect_uri, { exact: true }).waitFor();
  assert.equal(await page.getByLabel('Client secret').inputValue(), '');
  await page.getByRole('button', { name: 'Test' }).click();
  const dialog = page.getByRole('dialog', { name: 'Test of Acme' });
  await dialog.getByText(/^The provider answers as it must/).waitFor();
  assert.equal(await dialog.locator('[data-ok="false"]').count(), 0);
  await assertAccessible(page, 'the test of a provider');
  issuer.misbehaviour.metadata = { code_challenge_methods_supported: ['plain'] };
  t.after(() => {
    issuer.misbehaviour.metadata = {};
  });
  await dialog.getByRole('button', { name: 'Try again' }).click();
  await dialog.getByText('People cannot sign in with it like this.').waitFor();
  await photograph(page, 'provider-test');
});

test('what is not right stands at its field, and what was typed stays', async (t) => {
  await clear();
  const { page } = await openAs(t, site, '/identity-providers/new?kind=google', { expected: ['422'] });
  await page.getByRole('textbox', { name: 'Client ID' }).fill('castellan');
  await page.getByLabel('Client secret').fill('secret');
  await page.getByRole('textbox', { name: 'Domains' }).fill('acme.example\nnot a domain');
  await page.getByRole('textbox', { name: 'Further parameters' }).fill('hd');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByText('Write name=value in each line.').waitFor();
  await page.getByRole('textbox', { name: 'Further parameters' }).fill('hd=acme.example');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByText(/^Line 2: /).waitFor();
  assert.equal(await page.getByLabel('Client secret').inputValue(), 'secret');
});

test('the order is changed by buttons, keys and the pointer', async (t) => {
  await clear();
  for (const name of ['Acme', 'Bravo', 'Cargo']) await addProvider(service, { name });
  const { page } = await openAs(t, site, '/identity-providers');
  const list = names(page);
  /** The page reads the list again once all is stored. */
  const assertMoved = async (move: () => Promise<void>, order: string[]): Promise<void> => {
    const read = page.waitForResponse(
      (response) => response.request().method() === 'GET' && response.url().includes(`${path}?`),
    );
    await move();
    await read;
    assert.deepEqual(await list.allTextContents(), order);
    assert.deepEqual(
      (await providers()).map(({ name }: { name: string }) => name),
      order,
    );
  };
  await list.first().waitFor();
  await assertMoved(
    () => page.getByRole('button', { name: 'Move Cargo up' }).click(),
    ['Acme', 'Cargo', 'Bravo'],
  );
  await page.getByRole('link', { name: /^Acme/ }).focus();
  await assertMoved(() => page.keyboard.press('Alt+ArrowDown'), ['Cargo', 'Acme', 'Bravo']);
  await assertMoved(
    () => list.getByText('Bravo').dragTo(list.getByText('Cargo')),
    ['Bravo', 'Cargo', 'Acme'],
  );
});

test('ending a provider says before whom it concerns', async (t) => {
  await clear();
  const provider = await addProvider(service, { name: 'Acme' });
  const { id: userId } = await addPerson(service);
  await addIdentity(service, provider, userId);
  const { page } = await openAs(t, site, `/identity-providers/${provider.id}`);
  await page.getByRole('button', { name: 'Deactivate' }).click();
  const deactivate = page.getByRole('dialog', { name: 'Deactivate Acme?' });
  await deactivate.getByText('1 account is connected.').waitFor();
  await deactivate.getByLabel('End the sessions that began with it').check();
  await assertAccessible(page, 'the question before a provider is deactivated');
  await deactivate.getByRole('button', { name: 'Deactivate' }).click();
  await page.getByText('Acme is inactive.').waitFor();
  await page.getByRole('button', { name: 'Activate' }).click();
  await page.getByText('Acme is active.').waitFor();
  await page.getByRole('button', { name: 'Delete' }).click();
  const remove = page.getByRole('dialog', { name: 'Delete Acme?' });
  await remove.getByText('1 account is connected.').waitFor();
  assert.equal(await remove.getByRole('button', { name: 'Delete' }).isDisabled(), true);
  await remove.getByLabel(/^Disconnect 1 account/).check();
  await remove.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('Acme is deleted.').waitFor();
  assert.deepEqual(await providers(), []);
  assert.deepEqual(await service.sql('select 1 from identities'), []);
});

test('who is no superuser sees everything, and changes nothing', async (t) => {
  await clear();
  const provider = await addProvider(service, { name: 'Acme' });
  const { person: as } = await signedInWith(service, 'identity_provider.read');
  const { page } = await openAs(t, site, '/identity-providers', { as });
  await page.getByText('You can see everything here. Only superusers can change it.').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Move Acme up' }).count(), 0);
  await page.getByRole('link', { name: /^Acme/ }).click();
  await heading(page).getByText('Acme').waitFor();
  assert.equal(await page.getByRole('textbox', { name: 'Issuer' }).getAttribute('readonly'), '');
  for (const name of ['Test', 'Deactivate', 'Delete', 'Save']) {
    const button = page.getByRole('button', { name, exact: true });
    assert.ok((await button.getAttribute('data-disabled')) !== null || (await button.isDisabled()), name);
  }
  assert.equal(new URL(page.url()).pathname, `/identity-providers/${provider.id}`);
});
