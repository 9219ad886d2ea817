// Personal access tokens in the console: their owner makes and ends them, an administrator ends them.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ADMIN } from '@castellan/testing/harness';
import { addPerson, addRole } from '@castellan/testing/users/people';
import { assertAccessible } from '../../accessibility.ts';
import { openAs, startConsole } from '../../harness.ts';

const site = await startConsole({ after });
const { service } = site;

test('a token is made with some permissions, shown once, and ended', async (t) => {
  const as = await addPerson(service, { roles: [await addRole(service, 'role.read', 'users.read')] });
  const { page } = await openAs(t, site, '/account', { as });
  const section = page.getByRole('region', { name: 'Personal access tokens' });
  await section.getByText('No program acts as you.').waitFor();
  await section.getByRole('button', { name: 'New token' }).click();
  const dialog = page.getByRole('dialog', { name: 'New token' });
  await dialog.getByLabel('Name').fill('Deployment');
  await dialog.getByLabel('Only these').check();
  await dialog.getByLabel('role.read').check();
  await assertAccessible(page);
  await dialog.getByRole('button', { name: 'Create' }).click();
  const shown = page.getByRole('dialog', { name: 'Your new token' });
  const token = await shown.getByTestId('secret').innerText();
  const program = service.client();
  program.accessToken = token;
  assert.deepEqual((await program.get('/api/v1/users/me')).body.data.permissions, ['role.read']);
  await shown.getByLabel('I have stored it').check();
  await shown.getByRole('button', { name: 'Done' }).click();
  const item = section.getByRole('listitem', { name: 'Token Deployment' });
  await item.getByText('only 1 permission').waitFor();
  await assertAccessible(page);
  await item.getByRole('button', { name: 'End Deployment' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'End' }).click();
  await page.getByText('The token Deployment has ended.').waitFor();
  await section.getByText('No program acts as you.').waitFor();
  assert.equal((await program.get('/api/v1/users/me')).status, 401);
});

test('an administrator sees and ends the tokens of a user beside their sessions', async (t) => {
  const person = await addPerson(service);
  const client = service.client();
  await client.login(person);
  const made = await client.post('/api/v1/users/me/tokens', {
    name: 'Robot',
    expires_at: new Date(Date.now() + 86_400_000).toISOString(),
  });
  assert.equal(made.status, 201, made.text);
  const { page } = await openAs(t, site, `/users?user=${person.id}&tab=sessions`, { as: ADMIN });
  const item = page.getByRole('listitem', { name: 'Token Robot' });
  await item.getByRole('button', { name: 'End' }).click();
  await page
    .getByRole('dialog', { name: 'End the token Robot?' })
    .getByRole('button', { name: 'End' })
    .click();
  await page.getByText('The token Robot has ended.').waitFor();
  await page.getByText('No program acts as this person.').waitFor();
});
