// API resources: create, change, a conflict, and a deletion that an application stands in the way of.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ADMIN, signIn } from '@castellan/testing/harness';
import { assertAccessible, assertPageAccessible } from '../../accessibility.ts';
import { openAs, startConsole } from '../../harness.ts';
import { photograph } from '../../pictures.ts';

// Each test signs in as the administrator.
const site = await startConsole({ after }, { CONCURRENT_SESSION_LIMIT: '100' });
const { service } = site;
const admin = await signIn(service, ADMIN);
const { body: group } = await admin.post('/api/v1/permission-groups', { name: 'orders' });

const stored = async (name: string) => (await admin.get(`/api/v1/api-resources?search=${name}`)).body.data[0];

test('the first API resource is offered, and its scopes are those of the chosen groups', async (t) => {
  const { page } = await openAs(t, site, '/api-resources');
  await page.getByRole('heading', { name: 'No API resources yet' }).waitFor();
  await page.getByRole('button', { name: 'New API resource' }).first().click();
  const dialog = page.getByRole('dialog', { name: 'New API resource' });
  await dialog.getByLabel('Name').fill('Orders');
  await dialog.getByLabel('Identifier').fill('https://orders.example.com');
  await dialog.getByLabel('Permission groups', { exact: true }).first().click();
  assert.equal(
    await page.getByRole('option', { name: 'user', exact: true }).count(),
    0,
    'built-in ones are left out',
  );
  await page.getByRole('option', { name: 'orders', exact: true }).click();
  await dialog.getByRole('heading').click();
  await dialog.getByLabel('Signature').selectOption('ES256');
  await assertAccessible(page, 'the form');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await page.getByText('Orders is saved.').waitFor();
  await page.getByRole('table', { name: 'API resources' }).getByText('1 permission group').waitFor();
  const { permission_group_ids, signing_alg, access_token_seconds } = await stored('Orders');
  assert.deepEqual(permission_group_ids, [group.data.id]);
  assert.deepEqual([signing_alg, access_token_seconds], ['ES256', 300]);
  await assertPageAccessible(page, 'the list', (scheme, { width }) =>
    photograph(page, `api-resources-list-${scheme}-${width}`),
  );
});

test('what the service refuses is told at its field', async (t) => {
  const { page } = await openAs(t, site, '/api-resources', { expected: ['422'] });
  await page.getByRole('button', { name: 'New API resource' }).first().click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('Wrong');
  await dialog.getByLabel('Identifier').fill('orders#1');
  await dialog.getByLabel('Access tokens live').fill('soon');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await dialog.getByText('Write a whole number.').waitFor();
  await dialog.getByLabel('Access tokens live').fill('300');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await dialog.getByLabel('Identifier').and(page.locator('[aria-invalid="true"]:focus')).waitFor();
});

test('a change that somebody else has made since is shown beside what was typed', async (t) => {
  const { body } = await admin.post('/api/v1/api-resources', {
    identifier: 'https://stock.example.com',
    name: 'Stock',
  });
  const { page } = await openAs(t, site, '/api-resources', { expected: ['412'] });
  await page.getByRole('button', { name: 'Actions for Stock' }).click();
  await page.getByRole('menuitem', { name: 'Edit' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Description').fill('mine');
  await admin.put(`/api/v1/api-resources/${body.data.id}`, {
    description: 'theirs',
    access_token_seconds: 60,
  });
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.getByLabel('Yours: mine').check();
  await dialog.getByRole('button', { name: 'Save this choice' }).click();
  await page.getByText('Stock is saved.').waitFor();
  const now = await stored('Stock');
  assert.equal(now.description, 'mine');
  assert.equal(now.access_token_seconds, 60, 'what was not touched stays as it is stored');
});

test('an API resource that an application names stays, and others are deleted', async (t) => {
  const { body } = await admin.post('/api/v1/api-resources', {
    identifier: 'https://used.example.com',
    name: 'Used',
  });
  const { body: application } = await admin.post('/api/v1/applications', {
    client_id: 'user-of-it',
    name: 'User of it',
    resources: [{ resource_id: body.data.id, permission_ids: null }],
  });
  const { page } = await openAs(t, site, '/api-resources?q=Used', { expected: ['409'] });
  await page.getByRole('button', { name: 'Actions for Used' }).click();
  await page.getByRole('menuitem', { name: 'Delete' }).click();
  const dialog = page.getByRole('dialog', { name: 'Delete Used?' });
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await dialog.locator('.error-alert').waitFor();
  await assertAccessible(page, 'the refusal');
  assert.equal(
    (await admin.put(`/api/v1/applications/${application.data.id}`, { resources: [] })).status,
    200,
  );
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('Used is deleted.').waitFor();
  assert.equal((await admin.get(`/api/v1/api-resources/${body.data.id}`)).status, 404);
});
