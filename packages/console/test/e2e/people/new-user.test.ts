// The page New user.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { addPerson, addRole } from '@castellan/testing/users/people';
import { assertAccessible } from '../../accessibility.ts';
import { openAs, startConsole } from '../../harness.ts';

const site = await startConsole({ after });
const { service } = site;

before(async () => {
  const editor = await addRole(service, 'role.read', 'permission.read');
  await service.sql('update roles set name = $2 where id = $1', [editor, 'Editor']);
});

test('a user is created with roles and a generated password that works and must be changed', async (t) => {
  const { page } = await openAs(t, site, '/users/new');
  await page.getByLabel('Email').fill('new@example.com');
  await page.getByLabel('First name').fill('Neo');
  await page.getByLabel('Roles').first().fill('edi');
  await page.getByRole('option', { name: /^Editor/ }).click();
  await page.getByRole('heading', { name: '2 resulting permissions' }).waitFor();
  await page.getByText('by Editor').first().waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Create user' }).click();
  await page.getByRole('heading', { name: 'Neo was created' }).waitFor();
  const password = await page.getByLabel('Password').inputValue();
  const signedIn = await service.client().login({ email: 'new@example.com', password });
  assert.equal(signedIn.status, 200);
  const [stored] = await service.sql(
    `select must_change_password, (select count(*)::int from user_roles where user_id = u.id) as roles
     from users u where email = 'new@example.com'`,
  );
  assert.deepEqual(stored, { must_change_password: true, roles: 1 });
  await page.getByRole('link', { name: 'Open the user' }).click();
  await page.getByRole('complementary', { name: 'Neo' }).waitFor();
});

test('a taken email leads to the user who has it, and what was typed stays', async (t) => {
  const taken = await addPerson(service, { firstName: 'Grace', lastName: 'Hopper' });
  const { page } = await openAs(t, site, '/users/new', { expected: ['409'] });
  await page.getByLabel('Email').fill(taken.email);
  await page.getByLabel('First name').fill('Other');
  await page.getByRole('button', { name: 'Create user' }).click();
  await page.getByText('An account with this email already exists.').waitFor();
  assert.equal(await page.getByLabel('First name').inputValue(), 'Other');
  await page.getByRole('link', { name: 'Open Grace Hopper' }).click();
  // The form has input, so leaving it is asked first.
  await page.getByRole('dialog').getByRole('button', { name: 'Leave' }).click();
  await page.getByRole('complementary', { name: 'Grace Hopper' }).waitFor();
});

test('a typed password is checked by the policy while it is typed, and a refusal marks its rule', async (t) => {
  const { page } = await openAs(t, site, '/users/new', { expected: ['400'] });
  await page.getByLabel('Email').fill('weak@example.com');
  await page.getByLabel('First name').fill('Weak');
  await page.getByText('Type', { exact: true }).click();
  const field = page.getByRole('textbox', { name: 'Password' });
  const rules = page.getByRole('list', { name: 'The password' });
  await field.fill('a');
  await rules.locator('[data-state="open"]').first().waitFor();
  await field.fill('Password123!');
  await page.getByRole('button', { name: 'Create user' }).click();
  await rules.locator('[data-state="broken"]').first().waitFor();
  assert.equal(await field.inputValue(), 'Password123!');
  assert.equal(await page.getByLabel('Email').inputValue(), 'weak@example.com');
  assert.deepEqual(await service.sql(`select id from users where email = 'weak@example.com'`), []);
  await assertAccessible(page, 'the form with a refusal');
});

test('leaving the form with input is asked first', async (t) => {
  const { page } = await openAs(t, site, '/users/new');
  await page.getByLabel('First name').fill('Half');
  await page.getByRole('link', { name: 'Users', exact: true }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Stay' }).click();
  assert.equal(await page.getByLabel('First name').inputValue(), 'Half');
  assert.equal(new URL(page.url()).pathname, '/users/new');
});
