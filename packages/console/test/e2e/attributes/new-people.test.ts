// Required attributes in the forms that make users: New user, the invitation and the import.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ADMIN, newEmail, signIn } from '@castellan/testing/harness';
import { addPerson, addRole } from '@castellan/testing/users/people';
import type { Page } from 'playwright-core';
import { assertAccessible } from '../../accessibility.ts';
import { openAs, startConsole } from '../../harness.ts';
import { photograph } from '../../pictures.ts';

// Each test signs in as the administrator.
const site = await startConsole({ after }, { CONCURRENT_SESSION_LIMIT: '100' });
const { service } = site;
const admin = await signIn(service, ADMIN);

for (const attribute of [
  { name: 'cost_center', label: 'Cost center', type: 'string', max_length: 6, required: true },
  { name: 'staff_no', label: 'Staff number', type: 'integer', unique: true, required: true },
  { name: 'shirt', label: 'Shirt size', type: 'enum', values: ['S', 'M'] },
  { name: 'prefs', label: 'Preferences', type: 'json' },
]) {
  const made = await admin.post('/api/v1/user-attributes', attribute);
  assert.equal(made.status, 201, made.text);
}

const storedOf = async (email: string) => {
  const { body } = await admin.get(`/api/v1/users?include=attributes&email=${encodeURIComponent(email)}`);
  const [user] = body.data.items;
  return user && { external_id: user.external_id, attributes: user.attributes };
};

test('the form of a new user asks for required attributes, and takes optional ones and an external id', async (t) => {
  const { page } = await openAs(t, site, '/users/new', { expected: ['422'] });
  const create = page.getByRole('button', { name: 'Create user' });
  await page.getByLabel('Email').fill('new@example.com');
  await page.getByLabel('First name').fill('Neo');
  await page.getByLabel('External id').fill('C-100');
  await page.getByLabel('Cost center').waitFor();
  assert.equal(await create.isDisabled(), true, 'a required attribute has no value');
  await page.getByLabel('Cost center').fill('4711-too-long');
  await page.getByLabel('Staff number').fill('7');
  await page.getByText('Optional attributes').click();
  await page.getByLabel('Shirt size').selectOption('M');
  await page.getByLabel('Preferences').fill('{');
  await assertAccessible(page, 'the form');
  await photograph(page, 'attributes-new-user');
  await create.click();
  await page.getByText('This is no JSON.').waitFor();
  await page.getByLabel('Preferences').fill('{"theme": "dark"}');
  await create.click();
  await page.getByLabel('Cost center').and(page.locator('[aria-invalid="true"]:focus')).waitFor();
  assert.equal(await page.locator('.error-alert').count(), 0, 'the refusal is at its field alone');
  await page.getByLabel('Cost center').fill('4711');
  await create.click();
  await page.getByRole('heading', { name: 'Neo was created' }).waitFor();
  assert.deepEqual(await storedOf('new@example.com'), {
    external_id: 'C-100',
    attributes: { cost_center: '4711', staff_no: 7, shirt: 'M', prefs: { theme: 'dark' } },
  });
});

test('people who may not read attributes are told what they lack when one is missing', async (t) => {
  const creator = await addPerson(service, { roles: [await addRole(service, 'users.create')] });
  const { page } = await openAs(t, site, '/users/new', { as: creator, expected: ['422'] });
  await page.getByLabel('Email').fill('lacking@example.com');
  await page.getByLabel('First name').fill('Lacking');
  await page.getByRole('button', { name: 'Create user' }).click();
  await page
    .getByText('You cannot fill in attributes here: reading them needs the permission user_attribute.read.')
    .waitFor();
  await page.locator('.error-alert').waitFor();
});

test('an invitation of one asks for each required attribute once', async (t) => {
  const email = newEmail('single');
  const { page } = await openAs(t, site, '/users');
  await page.getByRole('button', { name: 'Invite', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'Invite users' });
  await dialog.getByLabel('Email addresses').fill(email);
  const submit = dialog.getByRole('button', { name: 'Invite 1 person' });
  await dialog.getByLabel('Cost center').fill('12');
  assert.equal(await submit.isDisabled(), true, 'the staff number is missing');
  assert.equal(await dialog.getByLabel('Shirt size').count(), 0, 'optional ones are left out');
  await dialog.getByLabel('Staff number').fill('50');
  await submit.click();
  await dialog.getByText('1 person is invited.').waitFor();
  assert.deepEqual((await storedOf(email)).attributes, { cost_center: '12', staff_no: 50 });
});

test('an invitation of many takes unique values line by line, and refused rows keep theirs', async (t) => {
  const [first, second, third] = [newEmail('many'), newEmail('many'), newEmail('many')];
  const { page } = await openAs(t, site, '/users');
  await page.getByRole('button', { name: 'Invite', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'Invite users' });
  await dialog.getByLabel('Email addresses').fill([first, second, third].join('\n'));
  await dialog.getByLabel('Cost center').fill('77');
  const numbers = dialog.getByLabel('Staff number');
  await numbers.fill('60\n61');
  await dialog.getByText('2 values for 3 people.').waitFor();
  const submit = dialog.getByRole('button', { name: 'Invite 3 people' });
  assert.equal(await submit.isDisabled(), true);
  await numbers.fill('60\nsixty\n60');
  await assertAccessible(page, 'the dialog');
  await photograph(page, 'attributes-invite');
  await submit.click();
  await dialog.getByText('1 person is invited. 2 rows were refused.').waitFor();
  await dialog.getByText('Staff number: must be an integer').waitFor();
  await dialog.getByText('Staff number: belongs to another user').waitFor();
  await dialog.getByRole('button', { name: 'Correct the refused rows' }).click();
  assert.equal(await numbers.inputValue(), 'sixty\n60');
  await numbers.fill('61\n62');
  await dialog.getByRole('button', { name: 'Invite 2 people' }).click();
  await dialog.getByText('2 people are invited.').waitFor();
  assert.deepEqual((await storedOf(first)).attributes, { cost_center: '77', staff_no: 60 });
  assert.deepEqual((await storedOf(third)).attributes, { cost_center: '77', staff_no: 62 });
});

async function openImport(page: Page) {
  await page.getByRole('button', { name: 'Import, export' }).click();
  await page.getByRole('menuitem', { name: 'Import CSV' }).click();
  return page.getByRole('dialog', { name: 'Import users' });
}

test('an import takes attributes by column or as JSON, and says which rows lack a required one', async (t) => {
  const { page } = await openAs(t, site, '/users', { expected: ['409'] });
  const dialog = await openImport(page);
  await dialog
    .getByText('Each new user needs a value in: attributes.cost_center, attributes.staff_no.')
    .waitFor();
  const saved = page.waitForEvent('download');
  await dialog.getByRole('button', { name: 'Download a template' }).click();
  const template = await (await saved).createReadStream();
  const [head] = Buffer.concat(await template.toArray())
    .toString()
    .split('\r\n');
  assert.equal(
    head?.replace('\uFEFF', ''),
    'email,first_name,last_name,roles,external_id,attributes.cost_center,attributes.staff_no,attributes.prefs,attributes.shirt',
  );
  const rows = [
    'email,first_name,external_id,attributes.cost_center,attributes.staff_no,attributes',
    'columns@example.com,Cora,C-200,900,80,',
    'json@example.com,Jo,,,,"{""cost_center"": ""901"", ""staff_no"": 81, ""prefs"": {""a"": 1}}"',
    'lacking@example.com,Lea,,902,,',
    'unknown@example.com,Uri,,903,82,"{""unheard"": 1}"',
    'broken@example.com,Bo,,904,83,{',
    'taken@example.com,Ty,,905,80,',
  ].join('\n');
  await dialog
    .getByLabel('CSV file')
    .setInputFiles({ name: 'people.csv', mimeType: 'text/csv', buffer: Buffer.from(rows) });
  await dialog.getByText('Without a value of: Staff number.').waitFor();
  await dialog.getByText('Unknown attribute: unheard.').waitFor();
  await dialog.getByText('The column attributes is no JSON.').waitFor();
  await assertAccessible(page, 'the review');
  await photograph(page, 'attributes-import');
  await dialog.getByRole('button', { name: 'Import 3 rows' }).click();
  await dialog.getByText('2 rows imported. 1 failed.').waitFor();
  assert.deepEqual(await storedOf('columns@example.com'), {
    external_id: 'C-200',
    attributes: { cost_center: '900', staff_no: 80 },
  });
  assert.deepEqual((await storedOf('json@example.com')).attributes, {
    cost_center: '901',
    staff_no: 81,
    prefs: { a: 1 },
  });
  const left = page.waitForEvent('download');
  await dialog.getByRole('button', { name: 'Download the rows that are left' }).click();
  const file = Buffer.concat(await (await (await left).createReadStream()).toArray()).toString();
  assert.match(file, /^\uFEFFemail,first_name,last_name,roles,external_id,attributes\.cost_center,/);
  assert.match(file, /taken@example\.com,Ty,,,,905,80,/);
});
