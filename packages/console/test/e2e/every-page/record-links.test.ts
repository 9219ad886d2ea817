// The ways out of a page: from each record to its entries of the audit log, from each page to its part of the API reference.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ADMIN } from '@castellan/testing/harness';
import { addPerson, addRole, type Person } from '@castellan/testing/users/people';
import type { Page } from 'playwright-core';
import { appPaths } from '../../../src/common/paths.ts';
import { openAs, startConsole } from '../../harness.ts';

const site = await startConsole({ after });
const { service } = site;

const ids: Record<string, string> = {};
let grace: Person;

before(async () => {
  grace = await addPerson(service, { firstName: 'Grace', lastName: 'Hopper' });
  const client = service.client();
  await client.login(ADMIN);
  const create = async (path: string, body: object): Promise<string> => {
    const answer = await client.post(`/api/v1/${path}`, body);
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    return answer.body.data.id;
  };
  ids.user = grace.id;
  ids.role = await create('roles', { name: 'Clerk' });
  ids.roleGroup = await create('role-groups', { name: 'Office' });
  ids.permissionGroup = await create('permission-groups', { name: 'orders' });
  ids.permission = await create('permissions', { name: 'read', group_id: ids.permissionGroup });
  ids.serviceAccount = await create('service-accounts', { name: 'billing' });
  ids.application = await create('applications', { client_id: 'portal', name: 'Portal' });
  ids.provider = await create('identity-providers', {
    slug: 'acme',
    name: 'Acme',
    kind: 'oidc',
    issuer: 'https://id.example.com',
    client_id: 'castellan',
    client_auth: 'none',
  });
  ids.webhook = await create('webhooks', {
    name: 'Billing',
    url: 'https://billing.example.com/events',
    events: ['database_restored'],
  });
});

/** The record that the path of a page names, by the beginning of the path. */
const idIn = (path: string): string => {
  if (path.startsWith('/roles/')) return ids.role ?? '';
  if (path.startsWith('/webhooks/')) return ids.webhook ?? '';
  return (path.startsWith('/identity-providers/') ? ids.provider : ids.application) ?? '';
};

/** Where each record shows its activity. */
const records: Readonly<Record<string, (id: string) => string>> = {
  user: (id) => `/users?user=${id}&tab=activity`,
  role: (id) => `/roles/${id}?tab=activity`,
  roleGroup: (id) => `/role-groups?g=${id}&tab=activity`,
  permission: (id) => `/permissions?permission=${id}&tab=activity`,
  serviceAccount: (id) => `/service-accounts?account=${id}&tab=activity`,
  application: (id) => `/applications/${id}?tab=activity`,
  webhook: (id) => `/webhooks/${id}?tab=activity`,
};

const log = (page: Page) => page.getByRole('link', { name: 'Open in the audit log' });

async function inPalette(page: Page, text: string): Promise<string[]> {
  await page.keyboard.press('Control+k');
  const palette = page.getByRole('dialog');
  await palette.getByRole('combobox').fill(text);
  await palette.getByRole('option').or(palette.getByText('Nothing matches')).first().waitFor();
  return palette.getByRole('option').allTextContents();
}

for (const [kind, pathOf] of Object.entries(records))
  test(`the activity of a ${kind} opens in the audit log`, async (t) => {
    const id = ids[kind] ?? '';
    const { page } = await openAs(t, site, pathOf(id));
    await log(page).click();
    await page.waitForURL((url) => url.pathname === '/audit' && url.searchParams.get('target') === id);
    // Also from the palette, whatever tab shows.
    await page.goto(pathOf(id).replace(/[?&]tab=activity/, ''));
    await page.getByRole('tab').first().waitFor();
    assert.equal((await inPalette(page, 'Open in the audit log')).length, 1);
    await page.keyboard.press('Enter');
    await page.waitForURL((url) => url.pathname === '/audit' && url.searchParams.get('target') === id);
  });

test('the activity of a permission group opens in the audit log', async (t) => {
  const { page } = await openAs(t, site, `/permissions?group=${ids.permissionGroup}`);
  await page.getByRole('button', { name: /^Actions for orders/ }).click();
  await page.getByRole('menuitem', { name: 'Activity' }).click();
  await log(page).click();
  await page.waitForURL(
    (url) => url.pathname === '/audit' && url.searchParams.get('target') === ids.permissionGroup,
  );
});

test('what a user or a service account did opens in the audit log, too', async (t) => {
  const { page } = await openAs(t, site, records.user?.(grace.id) ?? '');
  await page.getByRole('link', { name: 'What this account did' }).click();
  await page.waitForURL((url) => url.pathname === '/audit' && url.searchParams.get('actor') === grace.id);
});

test('a session leads to what its user did from its address', async (t) => {
  const { page } = await openAs(t, site, '/sessions');
  await page
    .getByRole('link', { name: /^Audit log of this user from this address: .*, 127\.0\.0\.1$/ })
    .first()
    .click();
  await page.waitForURL(
    (url) => url.searchParams.has('actor') && url.searchParams.get('address') === '127.0.0.1',
  );
  await page.locator('.entry').first().waitFor();
});

test('without audit_log.read, nothing leads to the audit log', async (t) => {
  const role = await addRole(
    service,
    'user.read',
    'users.read',
    'users.update',
    'role.read',
    'role_group.read',
    'permission.read',
    'service_account.read',
    'application.read',
    'webhook.read',
    'session.read',
  );
  const as = await addPerson(service, { roles: [role] });
  const { page } = await openAs(t, site, '/sessions', { as });
  await page.locator('.session-list li').first().waitFor();
  assert.equal(
    await page
      .getByRole('main')
      .getByRole('link', { name: /audit log/i })
      .count(),
    0,
  );
  for (const [kind, pathOf] of Object.entries(records)) {
    await page.goto(pathOf(ids[kind] ?? ''));
    await page.getByRole('tab').first().waitFor();
    await page.waitForLoadState('networkidle');
    assert.equal(await log(page).count(), 0, kind);
    assert.deepEqual(
      (await inPalette(page, 'audit log')).filter((text) => text.includes('Open in')),
      [],
      kind,
    );
    await page.keyboard.press('Escape');
  }
});

test('each page leads to a part of the API reference that exists', async (t) => {
  const { page } = await openAs(t, site, '/overview');
  const targets = new Set<string>();
  for (const path of appPaths.filter((one) => one !== '/reference')) {
    await page.goto(path.replace(':id', idIn(path)));
    const link = page.getByRole('link', { name: 'This page in the API reference (new tab)' });
    await link.waitFor();
    assert.equal(await link.getAttribute('target'), '_blank');
    targets.add((await link.getAttribute('href')) ?? '');
  }
  assert.ok(targets.size >= 10, [...targets].join());
  const document = await (await fetch(`${service.url}/docs/openapi.json`)).json();
  const tags: string[] = document.tags.map(({ name }: { name: string }) =>
    name.toLowerCase().replaceAll(' ', '-'),
  );
  for (const target of targets) {
    const [path, tag = ''] = target.split('#tag/');
    assert.equal(path, '/docs');
    assert.ok(tags.includes(tag), `the API reference has no tag ${tag}`);
  }
});

test('the reference shows the part that a page leads to', async (t) => {
  const { page } = await openAs(t, site, '/audit');
  const link = page.getByRole('link', { name: 'This page in the API reference (new tab)' });
  await page.goto((await link.getAttribute('href')) ?? '');
  // The viewer draws parts when they are reached.
  await page.locator('[id$="tag/audit-logs/GET/api/v1/audit-logs"]').first().waitFor();
});
