// The page Attributes: declare, change, a conflict, what values in use refuse, and a deletion that loses values.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ADMIN, signIn } from '@castellan/testing/harness';
import { addPerson, addRole } from '@castellan/testing/users/people';
import { assertAccessible, assertPageAccessible } from '../../accessibility.ts';
import { openAs, startConsole } from '../../harness.ts';
import { photograph } from '../../pictures.ts';

// Each test signs in as the administrator.
const site = await startConsole({ after }, { CONCURRENT_SESSION_LIMIT: '100' });
const { service } = site;
const admin = await signIn(service, ADMIN);
const catalogue = '/api/v1/user-attributes';

const declare = async (name: string, fields: object = {}): Promise<string> => {
  const made = await admin.post(catalogue, { name, label: name, type: 'string', ...fields });
  assert.equal(made.status, 201, made.text);
  return made.body.data.id;
};
const stored = async (name: string) =>
  (await admin.get(catalogue)).body.data.find((one: { name: string }) => one.name === name);
const give = async (values: object): Promise<void> => {
  const { id } = await addPerson(service);
  const answer = await admin.patch(`/api/v1/users/${id}/attributes`, values);
  assert.equal(answer.status, 200, answer.text);
};

test('the first attribute is offered, and each type has the fields that belong to it', async (t) => {
  const { page } = await openAs(t, site, '/user-attributes');
  await page.getByRole('heading', { name: 'No attributes yet' }).waitFor();
  await page.getByRole('button', { name: 'New attribute' }).first().click();
  const dialog = page.getByRole('dialog', { name: 'New attribute' });
  await dialog.getByRole('textbox', { name: 'Label' }).fill('Shirt size');
  await dialog.getByRole('textbox', { name: 'Name' }).fill('shirt_size');
  await dialog.getByLabel('Longest text').waitFor();
  await dialog.getByLabel('Type').selectOption('json');
  assert.equal(await dialog.getByLabel('Longest text').count(), 0);
  assert.equal(await dialog.getByLabel('Unique').isDisabled(), true);
  await dialog.getByLabel('Type').selectOption('enum');
  await dialog.getByLabel('Allowed values').fill('S\n M \n\nL\n');
  await dialog.getByLabel('Users themselves').selectOption({ label: 'See and change their value' });
  await dialog.getByRole('switch', { name: 'Searchable' }).click();
  await assertAccessible(page, 'the form');
  await photograph(page, 'attributes-form');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await page.getByText('Shirt size is saved.').waitFor();
  const {
    id: _id,
    created_at: _created,
    updated_at: _updated,
    created_by_id: _by,
    ...rest
  } = await stored('shirt_size');
  assert.deepEqual(rest, {
    name: 'shirt_size',
    label: 'Shirt size',
    description: '',
    type: 'enum',
    values: ['S', 'M', 'L'],
    max_length: null,
    unique: false,
    searchable: true,
    self: 'write',
    required: false,
    claims: false,
    sensitive: false,
  });
  await declare('cost_center', { label: 'Cost center', required: true, unique: true, claims: true });
  await page.reload();
  await page.getByRole('table', { name: 'Attributes' }).getByText('Told to applications').waitFor();
  await assertPageAccessible(page, 'the list', (scheme, { width }) =>
    photograph(page, `attributes-list-${scheme}-${width}`),
  );
  assert.equal((await admin.delete(`${catalogue}/${(await stored('cost_center')).id}`)).status, 200);
});

test('the search finds by name and by label, and says when nothing matches', async (t) => {
  await declare('site_key', { label: 'Office' });
  await declare('badge', { label: 'Badge number' });
  const { page } = await openAs(t, site, '/user-attributes?q=site');
  await page.getByText('Office', { exact: true }).waitFor();
  assert.equal(await page.getByText('Badge number').count(), 0);
  await page.getByRole('searchbox', { name: 'Search by name or label' }).fill('BADGE NUM');
  await page.getByText('Badge number').waitFor();
  await page.getByRole('searchbox', { name: 'Search by name or label' }).fill('nothing');
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await page.getByText('Office', { exact: true }).waitFor();
});

test('what the service refuses is told at its field', async (t) => {
  const { page } = await openAs(t, site, '/user-attributes', { expected: ['422', '409'] });
  await page.getByRole('button', { name: 'New attribute' }).first().click();
  const dialog = page.getByRole('dialog');
  const create = dialog.getByRole('button', { name: 'Create' });
  await dialog.getByRole('textbox', { name: 'Label' }).fill('Mail');
  await dialog.getByRole('textbox', { name: 'Name' }).fill('email');
  await dialog.getByLabel('Longest text').fill('long');
  await create.click();
  await dialog.getByText('Write a whole number.').waitFor();
  await dialog.getByLabel('Longest text').fill('20');
  await create.click();
  await dialog
    .getByRole('textbox', { name: 'Name' })
    .and(page.locator('[aria-invalid="true"]:focus'))
    .waitFor();
  await declare('mail_alias');
  await dialog.getByRole('textbox', { name: 'Name' }).fill('mail_alias');
  await create.click();
  await dialog.getByText('is already taken by another attribute').waitFor();
  await dialog.getByRole('textbox', { name: 'Name' }).fill('mail_kind');
  await dialog.getByLabel('Type').selectOption('enum');
  await dialog.getByLabel('Allowed values').fill('one\none');
  await create.click();
  await dialog.getByLabel('Allowed values').and(page.locator('[aria-invalid="true"]:focus')).waitFor();
});

test('a change that somebody else has made since is shown beside what was typed', async (t) => {
  const id = await declare('team', { label: 'Team' });
  const { page } = await openAs(t, site, '/user-attributes?q=team', { expected: ['412'] });
  await page.getByRole('button', { name: 'Actions for Team' }).click();
  await page.getByRole('menuitem', { name: 'Edit' }).click();
  const dialog = page.getByRole('dialog');
  assert.equal(await dialog.getByRole('textbox', { name: 'Name' }).getAttribute('readonly'), '');
  await dialog.getByLabel('Description').fill('mine');
  await admin.put(`${catalogue}/${id}`, { description: 'theirs', self: 'read', sensitive: true });
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.getByText('Stored now: See their value').waitFor();
  await dialog.getByLabel('Yours: mine').check();
  await dialog.getByRole('button', { name: 'Save this choice' }).click();
  await page.getByText('Team is saved.').waitFor();
  const { description, self, sensitive } = await stored('team');
  assert.deepEqual([description, self, sensitive], ['mine', 'read', true]);
});

test('values in use refuse a change with their number, and are lost with the attribute only after a second look', async (t) => {
  const id = await declare('motto', { label: 'Motto' });
  await give({ motto: 'Per aspera' });
  await give({ motto: 'per aspera' });
  const { page } = await openAs(t, site, '/user-attributes?q=motto', { expected: ['409'] });
  await page.getByRole('button', { name: 'Actions for Motto' }).click();
  await page.getByRole('menuitem', { name: 'Edit' }).click();
  const form = page.getByRole('dialog', { name: 'Edit' });
  await form.getByLabel('Longest text').fill('5');
  await form.getByRole('button', { name: 'Save' }).click();
  await form.getByText('2 users have values that stand in the way.').waitFor();
  await form.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Actions for Motto' }).click();
  await page.getByRole('menuitem', { name: 'Delete' }).click();
  const dialog = page.getByRole('dialog', { name: 'Delete Motto?' });
  await dialog.getByRole('button', { name: 'Delete', exact: true }).click();
  await dialog.getByText('2 users have a value of this attribute. All of them are lost for good.').waitFor();
  assert.equal((await admin.get(`${catalogue}/${id}`)).status, 200);
  await assertAccessible(page, 'the second look');
  await photograph(page, 'attributes-delete');
  await dialog.getByRole('button', { name: 'Delete with 2 values' }).click();
  await page.getByText('Motto is deleted.').waitFor();
  assert.equal((await admin.get(`${catalogue}/${id}`)).status, 404);
});

test('people who only read see why they cannot change anything', async (t) => {
  await declare('fixed', { label: 'Fixed' });
  const reader = await addPerson(service, { roles: [await addRole(service, 'user_attribute.read')] });
  const { page } = await openAs(t, site, '/user-attributes?q=fixed', { as: reader });
  await page.getByRole('button', { name: 'Actions for Fixed' }).click();
  await page.getByRole('menuitem', { name: /^Edit.*user_attribute\.update\.$/ }).waitFor();
  await page.getByRole('menuitem', { name: /^Delete.*user_attribute\.delete\.$/ }).waitFor();
});
