// Values of attributes: in the pane of a user, on the page My account, and as a filter of the list.
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

const valuesOf = async (id: string) => (await admin.get(`/api/v1/users/${id}/attributes`)).body.data;
const give = async (id: string, values: object): Promise<void> => {
  const answer = await admin.patch(`/api/v1/users/${id}/attributes`, values);
  assert.equal(answer.status, 200, answer.text);
};
const declare = async (name: string, label: string, fields: object = {}): Promise<void> => {
  const made = await admin.post('/api/v1/user-attributes', { name, label, type: 'string', ...fields });
  assert.equal(made.status, 201, made.text);
};

const nobody = await addPerson(service, { firstName: 'Plain', lastName: 'Person' });

test('without a declared attribute, the tab leads to the page where they are declared, and My account shows none', async (t) => {
  const { page } = await openAs(t, site, `/users?user=${nobody.id}&tab=attributes`);
  const pane = page.getByRole('complementary', { name: 'Plain Person' });
  await pane.getByRole('link', { name: 'Declare attributes' }).click();
  await page.getByRole('heading', { level: 1, name: 'Attributes' }).waitFor();
  await page.goto('/account');
  await page.getByRole('heading', { name: 'Your data' }).waitFor();
  assert.equal(await page.getByRole('heading', { name: 'Attributes' }).count(), 0);
});

test('each type has its control in the pane, and a save sends what was changed', async (t) => {
  await declare('team', 'Team', { searchable: true, description: 'As in the chart of the organisation.' });
  await declare('ratio', 'Ratio', { type: 'number' });
  await declare('floor', 'Floor', { type: 'integer', self: 'write' });
  await declare('remote', 'Works remotely', { type: 'boolean', self: 'write' });
  await declare('joined', 'Joined on', { type: 'date', self: 'read' });
  await declare('site', 'Home page', { type: 'url' });
  await declare('shirt', 'Shirt size', { type: 'enum', values: ['S', 'M'], searchable: true });
  await declare('prefs', 'Preferences', { type: 'json' });
  await declare('badge', 'Badge', { unique: true });
  const { id } = await addPerson(service, { firstName: 'Ada', lastName: 'Lovelace' });
  await give(id, { team: 'Red', prefs: { mail: { daily: true }, theme: 'dark' } });
  const { page } = await openAs(t, site, `/users?user=${id}&tab=attributes`);
  const pane = page.getByRole('complementary', { name: 'Ada Lovelace' });
  const fill = (label: string, text: string) => pane.getByLabel(label).fill(text);
  assert.equal(await pane.getByLabel('Team').inputValue(), 'Red');
  assert.equal(await pane.getByRole('button', { name: 'Save' }).isDisabled(), true);
  await fill('Team', '');
  await fill('Ratio', '-1.5');
  await fill('Floor', '3');
  await pane.getByLabel('Works remotely').selectOption({ label: 'No' });
  await fill('Joined on', '2024-02-29');
  await fill('Home page', 'https://example.com/ada');
  await pane.getByLabel('Shirt size').selectOption('M');
  await fill('Preferences', '{"mail": {"weekly": true}}');
  await assertAccessible(page, 'the tab');
  await pane.getByRole('button', { name: 'Save' }).click();
  await page.getByText('The attributes are saved.').waitFor();
  assert.deepEqual(await valuesOf(id), {
    ratio: -1.5,
    floor: 3,
    remote: false,
    joined: '2024-02-29',
    site: 'https://example.com/ada',
    shirt: 'M',
    prefs: { mail: { weekly: true } },
  });
  await page.reload();
  await pane.getByLabel('Works remotely').waitFor();
  assert.equal(await pane.getByLabel('Works remotely').inputValue(), 'false');
  assert.deepEqual(JSON.parse(await pane.getByLabel('Preferences').inputValue()), { mail: { weekly: true } });
  await assertPageAccessible(page, 'the pane', (scheme, { width }) =>
    photograph(page, `attributes-pane-${scheme}-${width}`),
  );
});

test('wrong and taken values are told at their fields, and what was typed stays', async (t) => {
  const [one, other] = [await addPerson(service), await addPerson(service, { firstName: 'Grace' })];
  await give(one.id, { badge: 'A-1' });
  const { page } = await openAs(t, site, `/users?user=${other.id}&tab=attributes`, {
    expected: ['422', '409'],
  });
  const pane = page.getByRole('complementary');
  const save = pane.getByRole('button', { name: 'Save' });
  await pane.getByLabel('Preferences').fill('{"theme": }');
  await save.click();
  await pane.getByText('This is no JSON.').waitFor();
  await pane.getByLabel('Preferences').fill('{"theme": null}');
  await pane.getByText('An object cannot hold null: leave the member out.').waitFor();
  await pane.getByLabel('Preferences').fill('');
  await pane.getByLabel('Ratio').fill('much');
  await pane.getByLabel('Home page').fill('example.com');
  await save.click();
  await pane.getByText('must be a number').waitFor();
  await pane.getByText('must be an http or https URL').waitFor();
  await pane.getByLabel('Ratio').and(page.locator('[aria-invalid="true"]')).waitFor();
  await assertAccessible(page, 'the refusal');
  await photograph(page, 'attributes-refused');
  await pane.getByLabel('Ratio').fill('');
  await pane.getByLabel('Home page').fill('');
  await pane.getByLabel('Badge').fill('a-1');
  await save.click();
  await pane.getByText('belongs to another user').waitFor();
  assert.equal(await pane.getByLabel('Badge').inputValue(), 'a-1');
  assert.deepEqual(await valuesOf(other.id), {});
  await pane.getByLabel('Badge').fill('A-2');
  await save.click();
  await page.getByText('The attributes are saved.').waitFor();
  assert.deepEqual(await valuesOf(other.id), { badge: 'A-2' });
});

test('what somebody else saved in the meantime is shown beside what was typed', async (t) => {
  const { id } = await addPerson(service);
  await give(id, { team: 'Red', floor: 1 });
  const { page } = await openAs(t, site, `/users?user=${id}&tab=attributes`, { expected: ['412'] });
  const pane = page.getByRole('complementary');
  await pane.getByLabel('Team').fill('Blue');
  await give(id, { team: 'Green', floor: 2 });
  await pane.getByRole('button', { name: 'Save' }).click();
  const dialog = page.getByRole('dialog', { name: 'This has changed' });
  await dialog.getByText('Stored now: Green').waitFor();
  await assertAccessible(page, 'the conflict');
  await dialog.getByRole('button', { name: 'Save this choice' }).click();
  await page.getByText('The attributes are saved.').waitFor();
  assert.deepEqual(await valuesOf(id), { team: 'Blue', floor: 2 });
  assert.equal(await pane.getByLabel('Floor').inputValue(), '2');
});

test('input that is not saved is asked about, and people who may only read cannot change anything', async (t) => {
  const { id } = await addPerson(service, { firstName: 'Ada', lastName: 'Reader' });
  await give(id, { shirt: 'S', remote: true });
  const { page } = await openAs(t, site, `/users?user=${id}&tab=attributes`);
  await page.getByLabel('Floor').fill('9');
  await page.getByRole('tab', { name: 'Access' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Stay' }).click();
  assert.equal(await page.getByLabel('Floor').inputValue(), '9');
  const reader = await addPerson(service, {
    roles: [await addRole(service, 'users.read', 'user_attribute.read')],
  });
  const read = await openAs(t, site, `/users?user=${id}&tab=attributes`, { as: reader });
  const pane = read.page.getByRole('complementary', { name: 'Ada Reader' });
  await pane.getByText('You need the permission users.update.').waitFor();
  assert.equal(await pane.getByLabel('Shirt size').inputValue(), 'S');
  assert.equal(await pane.getByLabel('Works remotely').inputValue(), 'Yes');
  assert.equal(await pane.getByLabel('Shirt size').getAttribute('readonly'), '');
  assert.equal(await pane.getByRole('button', { name: 'Save' }).count(), 0);
  const lister = await addPerson(service, { roles: [await addRole(service, 'user.read', 'users.read')] });
  const listed = await openAs(t, site, `/users?user=${id}&tab=attributes`, { as: lister });
  await listed.page.getByText('user_attribute.read').first().waitFor();
});

test('people see and change those of their own attributes that they may', async (t) => {
  const person = await addPerson(service, { roles: [await addRole(service, 'self.update_profile')] });
  await give(person.id, { team: 'Red', joined: '2020-01-31', floor: 4 });
  const { page } = await openAs(t, site, '/account', { as: person });
  const part = page.getByRole('region', { name: 'Attributes' });
  await part.getByText('2020-01-31').waitFor();
  assert.equal(await part.getByLabel('Joined on').count(), 0, 'what they only read has no control');
  assert.equal(await part.getByLabel('Team').count(), 0);
  await part.getByLabel('Floor').fill('5');
  await part.getByLabel('Works remotely').selectOption({ label: 'Yes' });
  await assertPageAccessible(page, 'My account', (scheme, { width }) =>
    photograph(page, `attributes-account-${scheme}-${width}`),
  );
  await part.getByRole('button', { name: 'Save' }).click();
  await page.getByText('The attributes are saved.').waitFor();
  assert.deepEqual(await valuesOf(person.id), {
    team: 'Red',
    joined: '2020-01-31',
    floor: 5,
    remote: true,
  });
  const silent = await addPerson(service, { roles: [await addRole(service, 'access.explain')] });
  const opened = await openAs(t, site, '/account', { as: silent });
  const own = opened.page.getByRole('region', { name: 'Attributes' });
  await own.getByText('Floor', { exact: true }).waitFor();
  assert.equal(await own.getByRole('textbox').count(), 0);
  assert.equal(await own.getByRole('button', { name: 'Save' }).count(), 0);
});

test('the list of users is filtered by a searchable attribute, which the address keeps', async (t) => {
  const [one, other] = [
    await addPerson(service, { firstName: 'Small', lastName: 'Shirt' }),
    await addPerson(service, { firstName: 'Medium', lastName: 'Shirt' }),
  ];
  await give(one.id, { shirt: 'S', team: 'a=b' });
  await give(other.id, { shirt: 'M' });
  const { page } = await openAs(t, site, '/users?q=shirt');
  await page.getByText('2 matches').waitFor();
  await page.getByRole('button', { name: 'Filter by attribute' }).click();
  await page.getByRole('combobox', { name: 'Attribute' }).selectOption({ label: 'Shirt size' });
  await page.getByRole('combobox', { name: 'Value' }).selectOption('S');
  await assertAccessible(page, 'the filter');
  await photograph(page, 'attributes-filter');
  await page.getByRole('button', { name: 'Filter', exact: true }).click();
  await page.getByText('1 match', { exact: true }).waitFor();
  await page.getByText('Small Shirt').first().waitFor();
  assert.equal(new URL(page.url()).searchParams.get('attribute'), 'shirt=S');
  await page.getByRole('button', { name: /^shirt = S/ }).click();
  await page.getByText('2 matches').waitFor();
  await page.goto('/users?attribute=team%3Da%3Db');
  await page.getByText('1 match', { exact: true }).waitFor();
});
