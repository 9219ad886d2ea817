// Who has access to an application: the list, the ends of one and of all, what a deletion says before, and the same of one user.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ADMIN, PASSWORD, signIn } from '@castellan/testing/harness';
import { addApplication, applicationTokens } from '@castellan/testing/openid/tokens';
import { addPerson, addRole } from '@castellan/testing/users/people';
import type { Page } from 'playwright-core';
import { assertAccessible, assertPageAccessible } from '../../accessibility.ts';
import { openAs, startConsole } from '../../harness.ts';
import { photograph } from '../../pictures.ts';

// Each test signs in as the administrator.
const site = await startConsole({ after }, { CONCURRENT_SESSION_LIMIT: '100' });
const { service } = site;
const admin = await signIn(service, ADMIN);

const ada = await addPerson(service, { firstName: 'Ada', lastName: 'Lovelace' });
const bob = await addPerson(service, { firstName: 'Bob', lastName: 'Writer' });
for (const { email } of [ada, bob]) await signIn(service, { email, password: PASSWORD });

/** Returns an application to which each of the people has signed in. */
async function usedApplication(name: string, people: readonly { id: string }[] = [ada, bob]) {
  const application = await addApplication(service, admin, { name });
  for (const { id } of people) await applicationTokens(service, application, id);
  return application;
}

const grantsOf = async (id: string): Promise<{ user: { name: string } }[]> =>
  (await admin.get(`/api/v1/applications/${id}/grants`)).body.data;
const item = (page: Page, name: string) => page.getByRole('listitem', { name });

test('people with access are listed, and the access of one ends', async (t) => {
  const { id } = await usedApplication('Grafana');
  await service.sql('update access_grants set offline = true where application_id = $1 and user_id = $2', [
    id,
    ada.id,
  ]);
  const { page } = await openAs(t, site, `/applications/${id}`);
  await page.getByRole('tab', { name: 'People with access' }).click();
  const entry = item(page, 'Ada Lovelace');
  for (const text of [ada.email, 'openid profile', 'Outlives sign-out'])
    await entry.getByText(text).waitFor();
  await entry.getByText(/^Since .+ · last used .+ · ends on .+ at the latest$/).waitFor();
  assert.equal(await item(page, 'Bob Writer').getByText('Outlives sign-out').count(), 0);
  await assertPageAccessible(page, 'people with access', (scheme, { width }) =>
    photograph(page, `application-people-${scheme}-${width}`),
  );
  await entry.getByRole('button', { name: 'End access' }).click();
  const dialog = page.getByRole('dialog', { name: 'End this access of Ada Lovelace?' });
  await assertAccessible(page, 'the end of one access');
  await dialog.getByRole('button', { name: 'End access' }).click();
  await page.getByText('The access of 1 sign-in has ended.').waitFor();
  await entry.waitFor({ state: 'detached' });
  assert.deepEqual(
    (await grantsOf(id)).map(({ user }) => user.name),
    ['Bob Writer'],
  );
});

test('all access ends after a question that says how many sign-ins that are', async (t) => {
  const { id } = await usedApplication('Wiki');
  const { page } = await openAs(t, site, `/applications/${id}?tab=people`);
  await page.getByRole('button', { name: 'End all access' }).click();
  const dialog = page.getByRole('dialog', { name: 'End all access to Wiki?' });
  await dialog.getByText(/It ends 2 sign-ins\.$/).waitFor();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  assert.equal((await grantsOf(id)).length, 2, 'nothing has ended yet');
  await page.getByRole('button', { name: 'End all access' }).click();
  await dialog.getByRole('button', { name: 'End all access' }).click();
  await page.getByText('The access of 2 sign-ins has ended.').waitFor();
  await page.getByRole('heading', { name: 'Nobody has access now' }).waitFor();
  assert.equal(await page.getByRole('button', { name: 'End all access' }).count(), 0);
  assert.deepEqual(await grantsOf(id), []);
});

test('the access of one person is found, and stays in the address', async (t) => {
  const { id } = await usedApplication('Chat');
  const { page } = await openAs(t, site, `/applications/${id}?tab=people`);
  await page.getByLabel('Person').first().fill('Lovelace');
  await page.getByRole('option', { name: /Ada Lovelace/ }).click();
  await item(page, 'Bob Writer').waitFor({ state: 'detached' });
  await item(page, 'Ada Lovelace').waitFor();
  await page.waitForURL(`**/applications/${id}?tab=people&person=${ada.id}`);
  // The number of all is not that of this person.
  await page.getByRole('button', { name: 'End all access' }).click();
  const dialog = page.getByRole('dialog', { name: 'End all access to Chat?' });
  await dialog.getByText(/People can sign in again\./).waitFor();
  assert.equal(await dialog.getByText(/It ends/).count(), 0);
});

test('a page shows fifty sign-ins, and more on request', async (t) => {
  const { id } = await usedApplication('Busy', [ada]);
  await service.sql(
    `insert into access_grants
     select (jsonb_populate_record(g, jsonb_build_object('id', gen_random_uuid(), 'code_hash', null))).*
     from access_grants g, generate_series(1, 50) where g.application_id = $1`,
    [id],
  );
  const { page } = await openAs(t, site, `/applications/${id}?tab=people`);
  const items = page.getByRole('list', { name: 'People with access' }).getByRole('listitem');
  await items.nth(49).waitFor();
  assert.equal(await items.count(), 50);
  await page.getByRole('button', { name: 'Show more' }).click();
  await items.nth(50).waitFor();
  assert.equal(await page.getByRole('button', { name: 'Show more' }).count(), 0);
});

test('who may not see users, or not end access, learns what is missing', async (t) => {
  const { id } = await usedApplication('Closed');
  const open = async (...permissions: string[]): Promise<Page> => {
    const { email } = await addPerson(service, { roles: [await addRole(service, ...permissions)] });
    return (await openAs(t, site, `/applications/${id}?tab=people`, { as: { email, password: PASSWORD } }))
      .page;
  };
  const blind = await open('application.read');
  await blind
    .getByText(/users\.read/)
    .first()
    .waitFor();
  const reader = await open('application.read', 'users.read');
  const end = item(reader, 'Ada Lovelace').getByRole('button', { name: /^End access/ });
  assert.equal(await end.getAttribute('aria-disabled'), 'true');
  assert.equal(await end.getAttribute('aria-description'), 'You need the permission application.update.');
});

test('the pane of a user lists their applications, and ends what one of them has', async (t) => {
  const person = await addPerson(service, { firstName: 'Eve', lastName: 'Example' });
  await signIn(service, { email: person.email, password: PASSWORD });
  const { id } = await usedApplication('Calendar', [person, person, ada]);
  const { page } = await openAs(t, site, `/users?user=${person.id}`);
  await page.getByRole('tab', { name: 'Applications' }).click();
  const entry = item(page, 'Calendar');
  for (const text of ['2 sign-ins', 'openid profile']) await entry.getByText(text).waitFor();
  const link = entry.getByRole('link', { name: 'Calendar' });
  assert.equal(await link.getAttribute('href'), `/applications/${id}?tab=people&person=${person.id}`);
  await assertPageAccessible(page, 'the applications of a user', (scheme, { width }) =>
    photograph(page, `user-applications-${scheme}-${width}`),
  );
  await entry.getByRole('button', { name: 'End access' }).click();
  const name = 'End the access of Calendar to the account of Eve Example?';
  const dialog = page.getByRole('dialog', { name });
  await dialog.getByText(/It ends 2 sign-ins\.$/).waitFor();
  await dialog.getByRole('button', { name: 'End access' }).click();
  await page.getByText('Calendar no longer has access.').waitFor();
  await page.getByText('No application has access to this account now.').waitFor();
  assert.deepEqual(
    (await grantsOf(id)).map(({ user }) => user.name),
    ['Ada Lovelace'],
  );
});

test('the pane of a user says what is missing to see their applications, and to end access', async (t) => {
  await usedApplication('Forum', [ada]);
  const open = async (...permissions: string[]): Promise<Page> => {
    const { email } = await addPerson(service, { roles: [await addRole(service, ...permissions)] });
    const as = { email, password: PASSWORD };
    return (await openAs(t, site, `/users?user=${ada.id}&tab=applications`, { as })).page;
  };
  const blind = await open('user.read', 'users.read');
  await blind
    .getByText(/application\.read/)
    .first()
    .waitFor();
  const reader = await open('user.read', 'users.read', 'application.read');
  const end = item(reader, 'Forum').getByRole('button', { name: /^End access/ });
  await end.getByText('(You need the permission session.revoke.)').waitFor({ state: 'attached' });
  assert.equal(await end.getAttribute('aria-disabled'), 'true');
});

test('a deletion, a switch-off and a rule say how many people lose access', async (t) => {
  const { id } = await usedApplication('Leaving');
  const { page } = await openAs(t, site, `/applications/${id}`);
  const told = '2 people lose access to it.';
  await page.getByLabel('Active').uncheck();
  await page.getByRole('tabpanel').getByText(told).waitFor();
  await page.getByLabel('Active').check();
  await page.getByText(told).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByText(told).waitFor();
  const { page: other } = await openAs(t, site, `/applications/${id}?tab=access`);
  await other.getByRole('button', { name: 'Change the rule' }).click();
  const dialog = other.getByRole('dialog');
  await dialog.getByText('Holders of a permission').click();
  await dialog.getByLabel('Permission', { exact: true }).fill('role.delete');
  await other.getByRole('option', { name: 'role.delete' }).click();
  await dialog.getByText(told).waitFor();
});
