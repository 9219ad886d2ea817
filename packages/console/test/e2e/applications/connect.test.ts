// Connecting an application by a recipe: what is registered, the secret that shows once, the configuration, the list.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ADMIN, signIn } from '@castellan/testing/harness';
import { filled } from '../../../src/app/pages/applications/recipes/recipe.ts';
import { recipes } from '../../../src/app/pages/applications/recipes/recipes.ts';
import { assertAccessible, assertPageAccessible } from '../../accessibility.ts';
import { openAs, startConsole } from '../../harness.ts';
import { photograph } from '../../pictures.ts';

// Each test signs in as the administrator.
const site = await startConsole({ after }, { CONCURRENT_SESSION_LIMIT: '100' });
const { service } = site;
const admin = await signIn(service, ADMIN);

test('the first application is offered, and Grafana is connected with what it needs', async (t) => {
  const { page } = await openAs(t, site, '/applications');
  await page.getByRole('heading', { name: 'Connect your first application' }).waitFor();
  await page.getByRole('button', { name: 'Connect an application' }).first().click();
  await page.getByRole('link', { name: 'Grafana' }).click();
  await page.waitForURL('**/applications/new?recipe=grafana');
  await page.getByLabel('Address of the application').fill('https://Grafana.example.com/');
  await page.getByText('https://grafana.example.com/login/generic_oauth').waitFor();
  await page.getByRole('button', { name: 'Connect' }).click();
  await page.getByRole('heading', { name: 'Grafana is registered' }).waitFor();
  const secret = (await page.getByTestId('secret').textContent()) ?? '';
  assert.match(secret, /^cas_cs_\w{43}_\w{6}$/);
  const configuration = (await page.locator('pre').textContent()) ?? '';
  const { body: metadata } = await admin.get('/.well-known/oauth-authorization-server');
  for (const line of [
    'client_id = grafana',
    `client_secret = ${secret}`,
    'use_pkce = true',
    'role_attribute_path = grafana_role',
    `auth_url = ${metadata.issuer}/api/v1/oauth/authorize`,
  ])
    assert.ok(configuration.includes(line), line);
  const done = page.getByRole('button', { name: 'Open the application' });
  assert.equal(await done.isDisabled(), true);
  await assertPageAccessible(page, 'the secret and the configuration', (scheme, { width }) =>
    photograph(page, `connected-${scheme}-${width}`),
  );
  await page.getByLabel('I have stored the secret').check();
  await done.click();
  await page.getByRole('heading', { name: 'Grafana', level: 1 }).waitFor();
  await page.waitForURL('**/applications/*-*');
  assert.ok(!(await page.content()).includes(secret), 'the secret is nowhere on the page');
  const { body } = await admin.get('/api/v1/applications?search=grafana');
  const [application] = body.data;
  assert.deepEqual(application.redirect_uris, ['https://grafana.example.com/login/generic_oauth']);
  assert.deepEqual(application.post_logout_redirect_uris, ['https://grafana.example.com/login']);
  assert.equal(application.require_pkce, true);
  assert.equal(application.claims[0].name, 'grafana_role');
});

test('the service takes what every recipe makes', async () => {
  for (const [key, recipe] of recipes) {
    const { application, type } = filled(recipe, {
      address: recipe.example,
      issuer: 'https://id.example.com',
      client_id: '',
      client_secret: '',
      random: '',
    });
    const { status, body } = await admin.post('/api/v1/applications', {
      ...application,
      type,
      client_id: `by-recipe-${key}`,
      name: `By recipe ${key}`,
    });
    assert.equal(status, 201, `${key}: ${JSON.stringify(body)}`);
    assert.equal('client_secret' in body.data, type === 'web', key);
  }
});

test('leaving without the secret asks first', async (t) => {
  const { page } = await openAs(t, site, '/applications/new?recipe=web');
  await page.getByLabel('Redirect address').fill('https://left.example.com/callback');
  await page.getByLabel('Client ID').fill('left');
  await page.getByLabel('Name').fill('Left');
  await page.getByRole('button', { name: 'Connect' }).click();
  await page.getByRole('heading', { name: 'Left is registered' }).waitFor();
  await page.getByRole('link', { name: 'Choose another' }).click();
  const dialog = page.getByRole('dialog', { name: 'Leave without the secret?' });
  await assertAccessible(page, 'the question');
  await dialog.getByRole('button', { name: 'Stay' }).click();
  await page.getByTestId('secret').waitFor();
});

test('an address that is none, and one that the service refuses, are told at the field', async (t) => {
  const { page } = await openAs(t, site, '/applications/new?recipe=gitlab', { expected: ['422'] });
  const address = page.getByLabel('Address of the application');
  await address.fill('gitlab.example.com');
  await page.getByRole('button', { name: 'Connect' }).click();
  await page.getByText('Write a whole address, such as https://gitlab.example.com.').waitFor();
  await page.goto('/applications/new?recipe=web');
  const redirect = page.getByLabel('Redirect address');
  await redirect.fill('https://app.example.com/callback#here');
  await page.getByRole('button', { name: 'Connect' }).click();
  await redirect.and(page.locator('[aria-invalid="true"]:focus')).waitFor();
  assert.equal(await redirect.inputValue(), 'https://app.example.com/callback#here');
  assert.equal(await page.locator('.error-alert').count(), 0, 'it is said once');
});

test('a client id that is taken is told at its field', async (t) => {
  await admin.post('/api/v1/applications', { client_id: 'taken', name: 'Taken', type: 'device' });
  const { page } = await openAs(t, site, '/applications/new?recipe=device', { expected: ['409'] });
  await page.getByLabel('Client ID').fill('taken');
  await page.getByRole('button', { name: 'Connect' }).click();
  await page.getByLabel('Client ID').and(page.locator('[aria-invalid="true"]:focus')).waitFor();
});

test('the list is filtered by type and state, and the address keeps it', async (t) => {
  const { page } = await openAs(t, site, '/applications');
  const table = page.getByRole('table', { name: 'Applications' });
  await table.getByText('by-recipe-kubectl').waitFor();
  await page.getByLabel('Type').selectOption('device');
  await table.getByText('by-recipe-kubectl').waitFor({ state: 'detached' });
  await table.getByText('by-recipe-device').waitFor();
  assert.equal(new URL(page.url()).search, '?type=device');
  await page.getByLabel('State').selectOption('false');
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await table.getByText('by-recipe-kubectl').waitFor();
  await page.getByRole('searchbox').fill('kubectl');
  await table.getByText('by-recipe-web').waitFor({ state: 'detached' });
});

test('every recipe is offered, also on a phone', async (t) => {
  const { page } = await openAs(t, site, '/applications/new');
  await page.getByRole('heading', { name: 'What do you connect?' }).waitFor();
  assert.equal(await page.locator('a.recipe').count(), recipes.size);
  await page.goto('/applications/new?recipe=apache');
  await page.getByLabel('Address of the application').fill('https://intranet.example.com');
  await assertPageAccessible(page, 'a recipe', (scheme, { width }) =>
    photograph(page, `recipe-${scheme}-${width}`),
  );
});
