// What people see where a permission is missing: its name, which roles have it or whom to ask, and a request to copy.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { addPerson, addRole } from '@castellan/testing/users/people';
import type { Page } from 'playwright-core';
import { appPaths } from '../../../src/common/paths.ts';
import { exampleRecords, heading, openAs, startConsole } from '../../harness.ts';

// Each test signs in again.
const site = await startConsole({ after }, { CONCURRENT_SESSION_LIMIT: '100' });
const { service } = site;

const copyButton = (page: Page) =>
  page.getByRole('button', { name: 'Copy a request for your administrator' });

/** Browsers give pages of plain http no clipboard. */
const giveClipboard = (page: Page) =>
  page.evaluate(() => {
    const writeText = async (text: string) => {
      document.body.dataset.copied = text;
    };
    Object.defineProperty(navigator, 'clipboard', { value: { writeText } });
  });

const copied = async (page: Page): Promise<string> => {
  await giveClipboard(page);
  await copyButton(page).click();
  await page.getByRole('button', { name: 'Copied' }).waitFor();
  return page.evaluate(() => document.body.dataset.copied ?? '');
};

test('a person who may know no role learns whom to ask, and copies a request that leads to the answer', async (t) => {
  const nobody = await addPerson(service, { firstName: 'Grace', lastName: 'Hopper' });
  const { page } = await openAs(t, site, '/sessions', { as: nobody });
  await page.getByText('session.read').waitFor();
  await page.getByText('Ask an administrator of Castellan for a role that has it.').waitFor();
  const [sentence, link = ''] = (await copied(page)).split('\n');
  assert.equal(
    sentence,
    `Grace Hopper (${nobody.email}) asks for the permission session.read, to open Sessions.`,
  );
  const admin = await openAs(t, site, link);
  await admin.page.getByRole('heading', { level: 2, name: /^No/ }).waitFor();
  await admin.page.getByText('Grace Hopper').first().waitFor();
});

for (const permission of ['role.read', 'access.explain'])
  test(`a person with ${permission} sees which roles have the missing one`, async (t) => {
    const person = await addPerson(service, { roles: [await addRole(service, permission)] });
    const { page } = await openAs(t, site, '/sessions', { as: person });
    await page.getByText(/These roles have it: .*Admin/).waitFor();
    await copyButton(page).waitFor();
  });

test('a permission that is taken away on an open page is named where it is refused', async (t) => {
  const role = await addRole(service, 'user.read', 'users.create');
  const person = await addPerson(service, { roles: [role] });
  const { page } = await openAs(t, site, '/users/new', { as: person, expected: ['403'] });
  await page.getByLabel('First name').fill('Ada');
  await page.getByLabel('Email').first().fill('ada@example.com');
  await service.sql(
    "delete from role_permissions where role_id = $1 and permission_id = (select id from permissions where name = 'users.create')",
    [role],
  );
  await page.getByRole('button', { name: 'Create user' }).click();
  const alert = page.getByRole('alert').filter({ hasText: 'users.create' });
  await alert.getByText('Ask an administrator').waitFor();
  assert.match(await copied(page), /asks for the permission users\.create\.\nhttp/);
  assert.equal(await page.getByLabel('First name').inputValue(), 'Ada');
});

/** The permission that opens each page; null for pages of everybody. */
const permissionOf: Readonly<Record<string, string | null>> = {
  '/overview': null,
  '/account': null,
  '/users': 'user.read',
  '/users/new': 'users.create',
  '/user-attributes': 'user_attribute.read',
  '/roles': 'role.read',
  '/roles/:id': 'role.read',
  '/matrix': 'role.read',
  '/role-groups': 'role_group.read',
  '/permissions': 'permission.read',
  '/access': null,
  '/sessions': 'session.read',
  '/audit': 'audit_log.read',
  '/service-accounts': 'service_account.read',
  '/applications': 'application.read',
  '/applications/new': 'application.create',
  '/applications/:id': 'application.read',
  '/api-resources': 'api_resource.read',
  '/identity-providers': 'identity_provider.read',
  '/identity-providers/new': 'identity_provider.read',
  '/identity-providers/:id': 'identity_provider.read',
  '/webhooks': 'webhook.read',
  '/webhooks/new': 'webhook.create',
  '/webhooks/:id': 'webhook.read',
  '/settings': 'settings.read',
  '/reference': null,
};

test('the table has every page', () => {
  assert.deepEqual(Object.keys(permissionOf).sort(), [...appPaths].sort());
});

const nobody = await addPerson(service);
const addressOf = await exampleRecords(site);

for (const [path, permission] of Object.entries(permissionOf)) {
  if (permission === null) continue;
  const address = addressOf(path);
  test(`${path} names ${permission}, and opens for a person who has nothing else`, async (t) => {
    const { page } = await openAs(t, site, address, { as: nobody });
    await page.getByText(`It needs the permission ${permission}, which none of your roles has.`).waitFor();
    assert.equal(await heading(page).count(), 1);
    const entitled = await addPerson(service, { roles: [await addRole(service, permission)] });
    // A refusal on the way would be a complaint of the page.
    const opened = await openAs(t, site, address, { as: entitled });
    await heading(opened.page).waitFor();
    await opened.page.waitForLoadState('networkidle');
    assert.equal(await opened.page.getByText('You cannot open this page').count(), 0);
    assert.equal(await heading(opened.page).count(), 1);
  });
}

test('a tab that the person may not see leaves the heading, the focus and the title to the page', async (t) => {
  const person = await addPerson(service, { roles: [await addRole(service, 'users.read', 'user.read')] });
  const { page } = await openAs(t, site, `/users?user=${person.id}`, { as: person });
  await page.getByRole('tab', { name: 'Activity' }).click();
  await page.getByText('audit_log.read').waitFor();
  assert.equal(await page.getByRole('heading', { level: 1 }).count(), 1);
  assert.match(await page.title(), /^Users/);
  await page.locator('[role="tab"]:focus').waitFor();
});
