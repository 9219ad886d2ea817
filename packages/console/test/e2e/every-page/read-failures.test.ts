// Reads that fail: each page says so where it happened, and "Try again" asks again and shows what was missing.
// It must not test what a failed change leaves: the tests of the pages do.
import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { ADMIN, signIn } from '@castellan/testing/harness';
import { addPerson, addRole } from '@castellan/testing/users/people';
import type { Locator, Page } from 'playwright-core';
import { assertAccessible } from '../../accessibility.ts';
import { openAs, startConsole } from '../../harness.ts';

// Each test signs in as the administrator.
const site = await startConsole({ after }, { CONCURRENT_SESSION_LIMIT: '100' });
const { service } = site;
const client = await signIn(service, ADMIN);
const created = async (path: string, body: object): Promise<string> => {
  const { status, body: answer } = await client.post(path, body);
  assert.equal(status, 201, JSON.stringify(answer));
  return answer.data.id;
};

const editor = await addRole(service, 'role.read', 'permission.read');
await service.sql('update roles set name = $2 where id = $1', [editor, 'Editor']);
const auditor = await addRole(service, 'audit_log.read');
const ada = await addPerson(service, { firstName: 'Ada', lastName: 'Reader', roles: [editor] });
const bob = await addPerson(service, { firstName: 'Bob', lastName: 'Writer' });
const sales = await created('/api/v1/role-groups', { name: 'Sales' });
const portal = await created('/api/v1/applications', {
  client_id: 'portal',
  name: 'Portal',
  redirect_uris: ['https://portal.example.com/callback'],
});
await created('/api/v1/api-resources', { identifier: 'https://orders.example.com', name: 'Orders' });
await created('/api/v1/user-attributes', { name: 'desk', label: 'Desk', type: 'string', self: 'read' });
const webhook = await created('/api/v1/webhooks', {
  name: 'Billing',
  url: 'https://billing.example.com/events',
  events: ['database_restored'],
});
// The newest entry of the audit log is about it.
const robot = await created('/api/v1/service-accounts', { name: 'robot' });
const { body: permissions } = await client.get('/api/v1/permissions?size=1');
const [permission] = permissions.data;
const { body: log } = await client.get('/api/v1/audit-logs?size=1');
const [entry] = log.data;

/** What the shell reads before there is a page. */
const needed = /\/(?:auth\/(?!password-policy|sessions)|users\/me$)/;

const QUIET_MS = 300;

type Service = { mend: () => void; asked: () => number };

/** Opens a page on which every read, or each that matches, is answered with an error until it is mended. */
async function openBroken(
  t: TestContext,
  path: string,
  isBroken: (operation: string) => boolean = (operation) => !needed.test(operation),
): Promise<Service & { page: Page }> {
  const { page } = await openAs(t, site, '/docs/errors', { expected: ['500'] });
  const service = await breakReads(page, isBroken);
  await page.goto(path);
  return { page, ...service };
}

async function breakReads(page: Page, isBroken: (operation: string) => boolean): Promise<Service> {
  let isMended = false;
  let asked = 0;
  await page.route('**/api/v1/**', (route) => {
    const { pathname } = new URL(route.request().url());
    const operation = `${route.request().method()} ${pathname}`;
    if (!/^GET|explain$/.test(operation) || !isBroken(operation)) return route.fallback();
    asked += 1;
    return isMended
      ? route.fallback()
      : route.fulfill({
          status: 500,
          json: { detail: 'Broken.', code: 'internal_error' },
        });
  });
  return {
    mend: () => {
      isMended = true;
    },
    asked: () => asked,
  };
}

const failures = (page: Page) => page.locator('.error-alert');
/** Also those that are hidden for a moment while a file loads. */
const retries = (page: Page) => failures(page).locator('button', { hasText: 'Try again' });

/** Each part that failed has its own way to try again. What it brings may show parts that failed, too. */
async function retryAll(page: Page): Promise<void> {
  assert.equal(await retries(page).count(), await failures(page).count(), 'every failure can be tried again');
  for (;;) {
    const [button] = await retries(page).elementHandles();
    if (!button) return;
    // Not by the pointer: a part that shows the same read may be gone, and this one with it, before the pointer is there.
    await button.evaluate((element) => element instanceof HTMLElement && element.click());
    await button.waitForElementState('hidden');
  }
}

/** Waits until nothing more is asked. Says whether nothing shows a failure. */
async function isSettled(page: Page, asked: () => number): Promise<boolean> {
  let last: number;
  do {
    last = asked();
    await page.waitForTimeout(QUIET_MS);
  } while (asked() !== last);
  return (await failures(page).count()) === 0;
}

/** Each page, and each view of one, with what it shows once it is read. */
const views: readonly { path: string; shows: string | RegExp; parts?: number }[] = [
  { path: '/overview', shows: 'Roles' },
  { path: '/users', shows: 'Bob Writer' },
  { path: `/users?user=${ada.id}`, shows: ada.email, parts: 2 },
  { path: `/users?user=${ada.id}&tab=attributes`, shows: 'Desk', parts: 2 },
  { path: `/users?user=${ada.id}&tab=access`, shows: 'permission.read', parts: 2 },
  { path: `/users?user=${ada.id}&tab=security`, shows: 'The password alone signs in.', parts: 2 },
  { path: `/users?user=${ada.id}&tab=sessions`, shows: 'Not signed in anywhere.', parts: 2 },
  { path: `/users?user=${ada.id}&tab=applications`, shows: 'No application has access', parts: 2 },
  { path: `/users?user=${ada.id}&tab=activity`, shows: ada.email, parts: 2 },
  { path: `/users?role=${editor}`, shows: 'Ada Reader', parts: 2 },
  { path: '/user-attributes', shows: 'Desk' },
  { path: '/roles', shows: 'Editor' },
  { path: `/roles?compare=${editor},${auditor}`, shows: 'permission.read' },
  { path: `/roles/${editor}`, shows: 'role.read' },
  { path: '/matrix', shows: 'Editor' },
  { path: '/role-groups', shows: 'Sales' },
  { path: `/role-groups?g=${sales}&tab=activity`, shows: 'Sales' },
  { path: '/permissions', shows: permission.name, parts: 2 },
  { path: `/permissions?permission=${permission.id}`, shows: permission.name, parts: 2 },
  { path: '/access', shows: 'Permission', parts: 2 },
  { path: `/access?user=${ada.id}`, shows: 'permission.read', parts: 3 },
  { path: `/access?user=${ada.id}&permission=role.read`, shows: 'Yes, Ada Reader has role.read', parts: 3 },
  { path: '/access?view=holders&permission=role.read', shows: '2 holders of role.read' },
  { path: `/access?view=compare&user=${ada.id}&other=${bob.id}`, shows: 'Only Ada Reader', parts: 3 },
  { path: '/sessions', shows: 'This session' },
  { path: '/audit', shows: 'No older entries', parts: 2 },
  { path: `/audit?actor=${ada.id}&entry=${entry.id}`, shows: 'service_account_created', parts: 3 },
  { path: '/service-accounts', shows: 'robot' },
  { path: `/service-accounts?account=${robot}`, shows: 'No API keys yet', parts: 2 },
  { path: `/service-accounts?account=${robot}&tab=access`, shows: 'robot', parts: 2 },
  { path: '/applications', shows: 'Portal' },
  { path: `/applications/${portal}`, shows: 'Redirect addresses' },
  { path: `/applications/${portal}?tab=access`, shows: 'Every active account may sign in.' },
  { path: `/applications/${portal}?tab=tokens`, shows: 'No tokens for APIs' },
  { path: `/applications/${portal}?tab=secrets`, shows: 'cas_cs_' },
  { path: `/applications/${portal}?tab=people`, shows: 'Nobody has access now' },
  { path: `/applications/${portal}?tab=notices`, shows: 'No sign-out notices' },
  { path: `/applications/${portal}?tab=activity`, shows: 'No older entries' },
  { path: '/api-resources', shows: 'Orders' },
  { path: '/webhooks', shows: 'Billing' },
  { path: '/webhooks/new', shows: 'login_*' },
  { path: `/webhooks/${webhook}`, shows: 'Nothing was sent yet' },
  { path: `/webhooks/${webhook}?tab=settings`, shows: 'login_*' },
  { path: `/webhooks/${webhook}?tab=secrets`, shows: 'It does not end by itself.' },
  { path: `/webhooks/${webhook}?tab=activity`, shows: 'No older entries' },
  { path: '/settings', shows: 'PUBLIC_URL' },
  { path: '/account', shows: 'admin@example.com', parts: 5 },
];

for (const { path, shows, parts = 1 } of views)
  test(`${path.replaceAll(/[\w-]{36}/g, ':id')} says what failed, and tries again`, async (t) => {
    const { page, mend, asked } = await openBroken(t, path);
    await failures(page)
      .nth(parts - 1)
      .waitFor();
    await page.waitForLoadState('networkidle');
    const before = asked();
    mend();
    // A read that was answered before may show its failure after the others are mended.
    do await retryAll(page);
    while (!(await isSettled(page, asked)));
    await page.getByText(shows).first().waitFor();
    assert.ok(asked() > before, 'nothing was asked again');
    assert.deepEqual(await failures(page).allTextContents(), []);
  });

/** Breaks these reads, acts, and waits for the failure in the place; then tries again there. */
async function failsAndRecovers(
  page: Page,
  place: Locator,
  { reads, act, recovered }: { reads: RegExp; act: () => Promise<void>; recovered: () => Promise<unknown> },
): Promise<void> {
  const { mend, asked } = await breakReads(page, (operation) => reads.test(operation));
  await act();
  const failure = place.locator('.error-alert');
  await failure.waitFor();
  // The menu that opened the dialog fades away.
  await page.getByRole('menu').waitFor({ state: 'detached' });
  await assertAccessible(page);
  const before = asked();
  mend();
  await failure.getByRole('button', { name: 'Try again' }).click();
  await recovered();
  await failure.waitFor({ state: 'detached' });
  assert.ok(asked() > before, 'nothing was asked again');
}

const openForm = async (t: TestContext, expected = ['500']): Promise<{ page: Page; form: Locator }> => {
  const { page } = await openAs(t, site, '/users/new', { expected });
  return { page, form: page.locator('form') };
};

test('the roles to choose from fail below their field, and what a role permits fails beside the form', async (t) => {
  const { page, form } = await openForm(t);
  const field = page.getByLabel('Roles').first();
  const option = page.getByRole('option', { name: /^Editor/ });
  await failsAndRecovers(page, form, {
    reads: /roles\/summaries$/,
    act: async () => {
      await field.fill('edi');
      await failures(page).waitFor();
      await page.keyboard.press('Escape');
    },
    recovered: () => field.click().then(() => option.waitFor()),
  });
  await failsAndRecovers(page, page.getByRole('complementary', { name: 'Resulting permissions' }), {
    reads: /roles\/[\w-]{36}$/,
    act: () => option.click(),
    recovered: () => page.getByRole('heading', { name: '2 resulting permissions' }).waitFor(),
  });
});

test('the account that has the email fails below it', async (t) => {
  const { page, form } = await openForm(t, ['500', '409']);
  await form.getByLabel('Email').fill(bob.email);
  await form.getByLabel('First name').fill('Other');
  await failsAndRecovers(page, form, {
    reads: /GET .*\/users$/,
    act: () => page.getByRole('button', { name: 'Create user' }).click(),
    recovered: () => page.getByRole('link', { name: 'Open Bob Writer' }).waitFor(),
  });
  assert.equal(await form.getByLabel('First name').inputValue(), 'Other');
});

test('the rules of passwords fail where they would stand', async (t) => {
  const { page } = await openAs(t, site, '/docs/errors', { expected: ['500'] });
  await failsAndRecovers(page, page.locator('.password-fields'), {
    reads: /password-policy$/,
    act: async () => {
      await page.goto('/users/new');
      await page.getByText('Type', { exact: true }).click();
    },
    recovered: () => page.getByRole('list', { name: 'The password' }).waitFor(),
  });
});

const dialogs: readonly {
  what: string;
  path: string;
  reads: RegExp;
  /** What is clicked, one after the other. */
  open: readonly { role: 'button' | 'menuitem'; name: string | RegExp }[];
  confirm: string;
}[] = [
  {
    what: 'deactivates a user',
    path: `/users?user=${ada.id}`,
    reads: /users\/[\w-]{36}$/,
    open: [{ role: 'button', name: 'Deactivate' }],
    confirm: 'Deactivate',
  },
  {
    what: 'deletes a role',
    path: `/roles/${auditor}`,
    reads: /roles\/[\w-]{36}$/,
    open: [{ role: 'button', name: 'Delete' }],
    confirm: 'Unassign and delete',
  },
  {
    what: 'edits a role group',
    path: `/role-groups?g=${sales}`,
    reads: /role-groups\/[\w-]{36}$/,
    open: [
      { role: 'button', name: /^Actions/ },
      { role: 'menuitem', name: 'Edit details' },
    ],
    confirm: 'Save',
  },
  {
    what: 'deactivates a service account',
    path: `/service-accounts?account=${robot}`,
    reads: /service-accounts\/[\w-]{36}$/,
    open: [{ role: 'button', name: 'Deactivate' }],
    confirm: 'Deactivate',
  },
];

for (const { what, path, reads, open, confirm } of dialogs)
  test(`the dialog that ${what} says that the record could not be read, and confirms nothing until it is`, async (t) => {
    const { page } = await openAs(t, site, path, { expected: ['500'] });
    const [first] = open;
    if (first) await page.getByRole(first.role, { name: first.name }).first().waitFor();
    const dialog = page.getByRole('dialog');
    const button = dialog.getByRole('button', { name: confirm, exact: true });
    await failsAndRecovers(page, dialog, {
      reads,
      act: async () => {
        for (const { role, name } of open) await page.getByRole(role, { name }).first().click();
        await dialog.locator('.error-alert').waitFor();
        assert.equal(
          await dialog.getByRole('button', { name: confirm, exact: true, disabled: false }).count(),
          0,
        );
      },
      recovered: () => button.and(page.locator(':enabled')).waitFor(),
    });
  });
