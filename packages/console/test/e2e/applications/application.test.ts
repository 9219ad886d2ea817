// The page of one application: settings, the rule of who may sign in, permissions of tokens, secrets, claims, deletion.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ADMIN, PASSWORD, signIn } from '@castellan/testing/harness';
import { addPerson, addRole } from '@castellan/testing/users/people';
import { assertAccessible, assertPageAccessible } from '../../accessibility.ts';
import { openAs, startConsole } from '../../harness.ts';
import { photograph } from '../../pictures.ts';

// Each test signs in as the administrator.
const site = await startConsole({ after }, { CONCURRENT_SESSION_LIMIT: '100' });
const { service } = site;
const admin = await signIn(service, ADMIN);

async function created(path: string, body: object): Promise<{ id: string; name: string }> {
  const answer = await admin.post(`/api/v1/${path}`, body);
  assert.equal(answer.status, 201, answer.text);
  return answer.body.data;
}

let made = 0;
function newApplication(more: object = {}) {
  made += 1;
  return created('applications', {
    client_id: `app-${made}`,
    name: `App ${made}`,
    redirect_uris: ['https://app.example.com/callback'],
    ...more,
  });
}
const stored = async (id: string) => (await admin.get(`/api/v1/applications/${id}`)).body.data;

const group = await created('permission-groups', { name: 'orders' });
const permission = await created('permissions', { name: 'read', group_id: group.id });
const role = await addRole(service, permission.name);
await service.sql('update roles set name = $2 where id = $1', [role, 'Clerk']);
const ada = await addPerson(service, { firstName: 'Ada', lastName: 'Lovelace', roles: [role] });

test('settings are changed field by field, and only those that differ are sent', async (t) => {
  const { id } = await newApplication();
  const { page } = await openAs(t, site, `/applications/${id}`);
  const redirects = page.getByLabel('Redirect addresses');
  assert.equal(await redirects.inputValue(), 'https://app.example.com/callback');
  const save = page.getByRole('button', { name: 'Save' });
  assert.equal(await save.isDisabled(), true);
  await redirects.fill('https://app.example.com/callback\nhttps://app.example.com/other');
  await page.getByLabel('ID tokens live').fill('600');
  await page.getByLabel('offline_access').check();
  await page.getByLabel('Claims in the ID token').selectOption('minimal');
  await page
    .getByLabel('Claims of its own')
    .fill('[{"name":"level","from":"role","as":"first","in":["userinfo"]}]');
  const sent = page.waitForRequest((request) => request.method() === 'PUT');
  await save.click();
  await page.getByText(/^App \d+ is saved\.$/).waitFor();
  assert.deepEqual(Object.keys((await sent).postDataJSON()).sort(), [
    'claims',
    'id_token_claims',
    'id_token_seconds',
    'redirect_uris',
    'scopes',
  ]);
  const now = await stored(id);
  assert.deepEqual(now.redirect_uris, ['https://app.example.com/callback', 'https://app.example.com/other']);
  assert.equal(now.id_token_seconds, 600);
  assert.ok(now.scopes.includes('offline_access'));
  assert.equal(now.claims[0].name, 'level');
  assert.equal(await save.isDisabled(), true, 'nothing is left to save');
});

test('what the service refuses is told at the field, with the line', async (t) => {
  const { id } = await newApplication();
  const { page } = await openAs(t, site, `/applications/${id}`, { expected: ['422'] });
  await page
    .getByLabel('Redirect addresses')
    .fill('https://app.example.com/callback\nhttps://app.example.com/*');
  await page.getByLabel('Claims of its own').fill('[');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('This is not JSON.').waitFor();
  await page.getByLabel('Claims of its own').fill('');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText(/^Line 2: .*\*/).waitFor();
  await page.getByLabel('Redirect addresses').and(page.locator('[aria-invalid="true"]:focus')).waitFor();
  assert.equal(await page.locator('.error-alert').count(), 0, 'it is said once');
  // It asks before what was typed is lost.
  await page.getByRole('link', { name: 'Applications' }).first().click();
  await page.getByRole('dialog').getByRole('button', { name: 'Stay' }).click();
});

test('a change that somebody else has made since is shown beside what was typed', async (t) => {
  const { id } = await newApplication();
  const { page } = await openAs(t, site, `/applications/${id}`, { expected: ['412'] });
  await page.getByLabel('Description').fill('mine');
  await admin.put(`/api/v1/applications/${id}`, { description: 'theirs', grant_days: 10 });
  const save = page.getByRole('button', { name: 'Save' });
  await save.click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  assert.equal(await page.getByLabel('Description').inputValue(), 'mine', 'what was typed stays');
  await save.click();
  await dialog.getByLabel('Yours: mine').check();
  await dialog.getByRole('button', { name: 'Save this choice' }).click();
  await page.getByText(/^App \d+ is saved\.$/).waitFor();
  const now = await stored(id);
  assert.equal(now.description, 'mine');
  assert.equal(now.grant_days, 10, 'what was not touched stays as it is stored');
});

test('the rule of who may sign in is set with a count before, and shows its holders', async (t) => {
  const { id, name } = await newApplication();
  const { page } = await openAs(t, site, `/applications/${id}?tab=access`);
  await page.getByText('Every active account may sign in.').waitFor();
  await page.getByRole('button', { name: 'Change the rule' }).click();
  const dialog = page.getByRole('dialog', { name: `Who may sign in to ${name}?` });
  await dialog.getByText('Holders of a permission').click();
  await dialog.getByLabel('Permission', { exact: true }).fill('orders.read');
  await page.getByRole('option', { name: 'orders.read' }).click();
  await dialog.getByText('This lets 2 holders in.').waitFor();
  await assertAccessible(page, 'the rule');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByText('The rule is saved.').waitFor();
  assert.equal((await stored(id)).required_permission_id, permission.id);
  const holders = page.getByRole('table');
  await holders.getByText('Ada Lovelace').waitFor();
  await holders.getByText('Clerk').waitFor();
});

test('tokens carry the permissions of an API resource that are chosen', async (t) => {
  const { id } = await newApplication();
  await created('api-resources', {
    identifier: 'https://orders.example.com',
    name: 'Orders',
    permission_group_ids: [group.id],
  });
  const { page } = await openAs(t, site, `/applications/${id}?tab=tokens`);
  await page.getByRole('button', { name: 'Add an API resource' }).click();
  const dialog = page.getByRole('dialog', { name: 'Add an API resource' });
  await dialog.getByLabel('orders.read').check();
  await dialog.getByRole('button', { name: 'Save' }).click();
  const item = page.getByRole('listitem').filter({ hasText: 'https://orders.example.com' });
  await item.getByText('orders.read').waitFor();
  const { resources } = await stored(id);
  assert.deepEqual(resources[0].permission_ids, [permission.id]);
  await item.getByRole('button', { name: 'Edit' }).click();
  await page.getByRole('button', { name: 'No tokens for this API' }).click();
  await page.getByRole('heading', { name: 'No tokens for APIs' }).waitFor();
  assert.deepEqual((await stored(id)).resources, []);
});

test('a secret is created, shown once, and revoked', async (t) => {
  const { id } = await newApplication();
  const { page } = await openAs(t, site, `/applications/${id}?tab=secrets`);
  await page.getByRole('button', { name: 'New secret' }).click();
  const dialog = page.getByRole('dialog', { name: 'New secret' });
  await dialog.getByLabel('Name').fill('2027');
  await dialog.getByRole('button', { name: 'Create' }).click();
  const shown = page.getByRole('dialog', { name: 'Your new secret' });
  const secret = (await shown.getByTestId('secret').textContent()) ?? '';
  assert.match(secret, /^cas_cs_\w{43}_\w{6}$/);
  await assertAccessible(page, 'the secret');
  assert.equal(await shown.getByRole('button', { name: 'Done' }).isDisabled(), true);
  await shown.getByLabel('I have stored it').check();
  await shown.getByRole('button', { name: 'Done' }).click();
  await shown.waitFor({ state: 'detached' });
  assert.ok(!(await page.content()).includes(secret), 'the secret is nowhere on the page');
  const item = page.getByRole('listitem', { name: '2027' });
  await item.getByRole('button', { name: 'Revoke' }).click();
  await page
    .getByRole('dialog', { name: 'Revoke the secret 2027?' })
    .getByRole('button', { name: 'Revoke' })
    .click();
  await item.waitFor({ state: 'detached' });
  const { body } = await admin.get(`/api/v1/applications/${id}/secrets`);
  assert.deepEqual(
    body.data.map(({ name }: { name: string }) => name),
    ['Secret'],
  );
});

test('what a token would say about a person is shown, and whether they may sign in', async (t) => {
  const { id } = await newApplication({ required_permission_id: permission.id });
  const { page } = await openAs(t, site, `/applications/${id}?tab=claims`);
  await page.getByLabel('Person').first().fill('Lovelace');
  await page.getByRole('option', { name: /Ada Lovelace/ }).click();
  await page.getByText('May sign in', { exact: true }).waitFor();
  const userinfo = (await page.locator('pre').last().textContent()) ?? '';
  const claims: { sub: string; roles: string[] } = JSON.parse(userinfo);
  assert.equal(claims.sub, ada.id);
  assert.deepEqual(claims.roles, ['Clerk']);
});

test('a deletion says what ends, and leads to the list', async (t) => {
  const { id, name } = await newApplication();
  const { page } = await openAs(t, site, `/applications/${id}`);
  await page.getByRole('button', { name: 'Delete' }).click();
  const dialog = page.getByRole('dialog', { name: `Delete ${name}?` });
  await assertAccessible(page, 'the deletion');
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await page.getByText(`${name} is deleted.`).waitFor();
  await page.waitForURL('**/applications');
  assert.equal((await admin.get(`/api/v1/applications/${id}`)).status, 404);
});

test('an application that is gone has a page that says so', async (t) => {
  const { page } = await openAs(t, site, '/applications/019a0000-0000-7000-8000-000000000000', {
    expected: ['404'],
  });
  await page.getByRole('heading', { name: 'No such application' }).waitFor();
});

test('who may only read finds the fields closed, with the reason', async (t) => {
  const { id } = await newApplication();
  const reader = await addPerson(service, { roles: [await addRole(service, 'application.read')] });
  const as = { email: reader.email, password: PASSWORD };
  const { page } = await openAs(t, site, `/applications/${id}`, { as });
  await page.getByText('You need the permission application.update.').waitFor();
  assert.equal(await page.getByLabel('Redirect addresses').getAttribute('readonly'), '');
  assert.equal(await page.getByRole('button', { name: 'Save' }).isDisabled(), true);
  for (const [tab, missing] of [
    ['tokens', 'api_resource.read'],
    ['claims', 'users.read'],
  ] as const) {
    await page.goto(`/applications/${id}?tab=${tab}`);
    await page.getByText(`You need the permission ${missing}.`).first().waitFor();
  }
});

test('every tab is accessible', async (t) => {
  const { id } = await newApplication({
    name: 'Grafana',
    required_permission_id: permission.id,
    home_url: 'https://app.example.com/',
  });
  const { page } = await openAs(t, site, '/account');
  for (const tab of ['settings', 'access', 'tokens', 'secrets', 'people', 'claims', 'activity']) {
    await page.goto(`/applications/${id}?tab=${tab}`);
    await page.getByRole('tabpanel').waitFor();
    await page.waitForLoadState('networkidle');
    await assertPageAccessible(page, tab, (scheme, { width }) =>
      photograph(page, `application-${tab}-${scheme}-${width}`),
    );
  }
});
