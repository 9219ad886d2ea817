// Every page fits: at 320 px in both directions of writing with long names, and in German at the widths of phones and desks.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ADMIN, type Hooks, signIn } from '@castellan/testing/harness';
import { addProvider } from '@castellan/testing/openid/providers';
import type { Page } from 'playwright-core';
import { appPaths, authPaths } from '../../../src/common/paths.ts';
import { exampleRecords, fillWithPeople, heading, openAs, startConsole } from '../../harness.ts';
import { layoutFaults } from '../../layout-faults.ts';

const site = await startConsole({ after });
await fillWithPeople(site, 40);

/** Returns a name without a place to break, as long as the service takes it. */
const long = (start: string, length: number): string => start.padEnd(length, 'wmlangername');

/** Makes one record of each kind with the longest names, and returns the pages that show one. */
async function addLongNames(): Promise<string[]> {
  const admin = await signIn(site.service, ADMIN);
  const made = async (path: string, body: object): Promise<{ id: string }> => {
    const answer = await admin.post(`/api/v1/${path}`, body);
    assert.equal(answer.status, 201, answer.text);
    return answer.body.data;
  };
  const roleGroup = await made('role-groups', { name: long('Aa', 250) });
  const nested = await made('role-groups', { name: long('Ab', 250), parent_id: roleGroup.id });
  const group = await made('permission-groups', { name: long('aa', 60) });
  const permission = await made('permissions', { name: long('b', 39), group_id: group.id });
  const role = await made('roles', {
    name: long('Aa', 250),
    description: long('d', 1_000),
    role_group_id: nested.id,
    permission_ids: [permission.id],
  });
  const user = await made('users', {
    email: `${'a'.repeat(60)}@${'b'.repeat(60)}.example.com`,
    password: 'Vexing#Quartz82Lime',
    first_name: long('Aa', 100),
    last_name: long('Aa', 100),
    role_id: [role.id],
  });
  await made('user-attributes', {
    name: long('aa', 50),
    label: long('Aa', 100),
    description: long('d', 1_000),
    type: 'enum',
    values: [long('Aa', 100)],
    self: 'read',
    unique: true,
    searchable: true,
  });
  await site.service.sql(
    `insert into passkeys (id, user_id, credential_id, public_key, kind, name, rp_id, sign_count, backup_eligible, backed_up)
     values (gen_random_uuid(), $1, uuid_send(gen_random_uuid()), '', 'passkey', $2, 'old.example.com', 0, true, true)`,
    [user.id, long('aa', 100)],
  );
  const account = await made('service-accounts', { name: long('aa', 100), role_ids: [role.id] });
  const application = await made('applications', {
    client_id: long('aa', 100),
    name: long('Aa', 250),
    required_permission_id: permission.id,
    redirect_uris: [`https://app.example.com/${'a'.repeat(400)}`],
  });
  const webhook = await made('webhooks', {
    name: long('Aa', 100),
    url: `https://hooks.example.com/${'a'.repeat(400)}`,
    events: ['database_restored', 'audit_key_rotated', 'user_attribute_*'],
    personal: true,
  });
  // "My account" has a button that connects it.
  const provider = await addProvider(site.service, { name: long('Aa', 60) });
  return [
    `/identity-providers/${provider.id}`,
    ...['deliveries', 'settings', 'secrets', 'activity'].map((tab) => `/webhooks/${webhook.id}?tab=${tab}`),
    ...['settings', 'access', 'tokens', 'secrets', 'people', 'notices', 'claims', 'activity'].map(
      (tab) => `/applications/${application.id}?tab=${tab}`,
    ),
    `/roles/${role.id}`,
    `/roles/${role.id}?tab=users`,
    `/roles/${role.id}?tab=activity`,
    `/role-groups?g=${nested.id}`,
    `/permissions?group=${group.id}`,
    `/permissions?permission=${permission.id}`,
    ...['profile', 'attributes', 'access', 'security', 'sessions', 'activity'].map(
      (tab) => `/users?user=${user.id}&tab=${tab}`,
    ),
    ...['keys', 'access', 'activity'].map((tab) => `/service-accounts?account=${account.id}&tab=${tab}`),
    `/access?user=${user.id}`,
    `/access?user=${user.id}&view=compare`,
    `/audit?target=${user.id}`,
  ];
}
const records = await addLongNames();
const addressOf = await exampleRecords(site);
const pages = [...appPaths.map(addressOf), ...authPaths.filter((path) => path !== '/')];

/** Opens a page of an administrator in this language. Returns it with a list of what the service says to it. */
async function openIn(t: Hooks, language: string): Promise<{ page: Page; known: string[] }> {
  const { page } = await openAs(t, site, '/account', { context: { viewport: { width: 320, height: 844 } } });
  await page.evaluate(`localStorage.setItem('castellan.language', '${language}')`);
  const known: string[] = [];
  page.on('response', async (response) => {
    if (response.url().includes('/api/')) known.push(await response.text().catch(() => ''));
  });
  return { page, known };
}

async function settle(page: Page, path: string): Promise<void> {
  await page.goto(path);
  await heading(page).first().waitFor();
  await page.waitForLoadState('networkidle');
}

/** The menu comes and goes with the width of the window, a moment after the style sheets have changed. */
const rendered = (page: Page): Promise<unknown> =>
  page.evaluate(
    'new Promise((done) => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done))))',
  );

const isSideways = (fault: string): boolean => fault.startsWith('the page');

test('in German no word is cut at 1,280 and 390 px, icons keep their size, and at 320 px no page scrolls sideways', async (t) => {
  const { page, known } = await openIn(t, 'de');
  for (const path of [...pages, ...records]) {
    await settle(page, path);
    assert.equal(await page.locator('html').getAttribute('lang'), 'de');
    assert.deepEqual((await layoutFaults(page)).filter(isSideways), [], `${path} at 320 px`);
    for (const width of [1_280, 390]) {
      await page.setViewportSize({ width, height: 844 });
      await rendered(page);
      const faults = await layoutFaults(page, known);
      assert.deepEqual(
        faults.filter((one) => !one.startsWith('a box')),
        [],
        `${path} at ${width} px`,
      );
    }
  }
  await settle(page, '/account');
  await page.getByRole('button', { name: 'Menü öffnen' }).click();
  await page.getByRole('link', { name: 'Berechtigungsmatrix' }).waitFor();
  assert.deepEqual(await layoutFaults(page, known), [], 'the menu');
});

test('from right to left, no page scrolls sideways at 320 px', async (t) => {
  const { page } = await openIn(t, 'en-XB');
  for (const path of [...pages, ...records]) {
    await settle(page, path);
    assert.equal(await page.locator('html').getAttribute('dir'), 'rtl');
    assert.deepEqual((await layoutFaults(page)).filter(isSideways), [], path);
  }
});
