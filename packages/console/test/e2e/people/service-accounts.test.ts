// Service accounts: create, keys that are shown once, roles with a preview, deactivation, conflicts, permissions.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ADMIN, createVerifiedUser, PASSWORD, signIn } from '@castellan/testing/harness';
import { addApiKey } from '@castellan/testing/service-accounts/accounts';
import { addRole } from '@castellan/testing/users/people';
import { assertAccessible } from '../../accessibility.ts';
import { heading, openAs, startConsole } from '../../harness.ts';

// Each test signs in as the administrator.
const site = await startConsole({ after }, { CONCURRENT_SESSION_LIMIT: '100' });
const { service } = site;
const admin = await signIn(service, ADMIN);

let made = 0;
async function newAccount(more: { description?: string } = {}): Promise<{ id: string; name: string }> {
  made += 1;
  const [role] = await service.sql<{ id: string }>("select id from roles where name = 'Service'");
  const { body } = await admin.post('/api/v1/service-accounts', {
    name: `account-${made}`,
    role_ids: [role?.id],
    ...more,
  });
  return body.data;
}

test('the first account is offered, and its first key is shown once', async (t) => {
  const { page } = await openAs(t, site, '/service-accounts');
  await page.getByRole('heading', { name: 'No service accounts yet' }).waitFor();
  await page.getByRole('button', { name: 'New service account' }).first().click();
  const dialog = page.getByRole('dialog', { name: 'New service account' });
  await dialog.getByLabel('Name').fill('orders-api');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await page.waitForURL('**/service-accounts?account=*');
  const pane = page.getByRole('complementary', { name: 'orders-api' });
  await pane.getByRole('heading', { name: 'No API keys yet' }).waitFor();
  await pane.getByRole('button', { name: 'New API key' }).click();
  const keyDialog = page.getByRole('dialog', { name: 'New API key' });
  await keyDialog.getByLabel('Name').fill('production');
  await keyDialog.getByRole('button', { name: 'Create' }).click();
  const secretDialog = page.getByRole('dialog', { name: 'Your new API key' });
  const secret = (await secretDialog.getByTestId('secret').textContent()) ?? '';
  assert.match(secret, /^castellan_\w{12}_\w{43}_\w{6}$/);
  const done = secretDialog.getByRole('button', { name: 'Done' });
  assert.equal(await done.isDisabled(), true);
  await page.keyboard.press('Escape');
  await secretDialog.waitFor();
  await assertAccessible(page, 'the key');
  await secretDialog.getByLabel('I have stored it').check();
  await done.click();
  await secretDialog.waitFor({ state: 'detached' });
  assert.ok(!(await page.content()).includes(secret), 'the key is nowhere on the page');
  const answer = await service
    .client()
    .request('GET', '/api/v1/health', { headers: { authorization: `Bearer ${secret}` } });
  assert.notEqual(answer.status, 401);
});

test('the expiry of a key is typed in the zone in which times show', async (t) => {
  const account = await newAccount();
  const { page } = await openAs(t, site, `/service-accounts?account=${account.id}`, {
    context: { timezoneId: 'Asia/Tokyo' },
  });
  await page.evaluate("localStorage.setItem('castellan.zone', 'utc')");
  await page.reload();
  await page.getByRole('button', { name: 'New API key' }).click();
  const dialog = page.getByRole('dialog', { name: 'New API key' });
  await dialog.getByLabel('Name').fill('until summer');
  await dialog.getByLabel(/\(UTC\)$/).fill('2031-06-01T08:00');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('dialog', { name: 'Your new API key' }).waitFor();
  const [key] = await service.sql<{ expires_at: Date }>(
    'select expires_at from api_keys where service_account_id = $1',
    [account.id],
  );
  assert.equal(key?.expires_at.toISOString(), '2031-06-01T08:00:00.000Z');
});

test('the access of an account says how many streams of the change feed may be open', async (t) => {
  const account = await newAccount();
  const address = `/service-accounts?account=${account.id}&tab=access`;
  const { page } = await openAs(t, site, address);
  const feed = page.getByRole('region', { name: 'Change feed' });
  await feed.getByText('This account has not read the change feed.').waitFor();
  const opened = (minutesAgo: number, stream: boolean) =>
    service.sql(
      `insert into audit_logs (id, actor_id, actor_type, action, resource_type, resource_id, details, "timestamp")
       values (gen_random_uuid(), $1::uuid, 'service_account', 'feed_opened', 'service_account', $1::text, $2,
         now() - make_interval(mins => $3::int))`,
      [account.id, JSON.stringify({ stream, resumed: false }), minutesAgo],
    );
  await opened(30, true);
  await page.reload();
  await feed.getByText('No stream is open.').waitFor();
  for (const minutesAgo of [2, 14]) await opened(minutesAgo, true);
  await opened(1, false);
  await page.reload();
  await feed.getByText('At most 2 streams are open.').waitFor();
  await feed.getByText('So many were opened in the last 16 minutes').waitFor();
  await assertAccessible(page);
});

test('a key is narrowed, replaced with an overlap and revoked', async (t) => {
  const account = await newAccount();
  const { page } = await openAs(t, site, `/service-accounts?account=${account.id}`);
  await page.getByRole('button', { name: 'New API key' }).click();
  const dialog = page.getByRole('dialog', { name: 'New API key' });
  await dialog.getByLabel('Name').fill('staging');
  await dialog.getByLabel('Only these').check();
  assert.equal(await dialog.getByRole('button', { name: 'Create' }).isDisabled(), true);
  await dialog.getByLabel('access.check').check();
  await dialog.getByRole('button', { name: 'Create' }).click();
  await page.getByLabel('I have stored it').check();
  await page.getByRole('button', { name: 'Done' }).click();
  const item = page.getByRole('listitem', { name: 'Key staging' });
  await item.getByText('only 1 permission').waitFor();
  await item.getByRole('button', { name: 'Replace' }).click();
  const replace = page.getByRole('dialog', { name: 'Replace the key staging?' });
  await replace.getByLabel('None: the old key ends now').check();
  await replace.getByRole('button', { name: 'Replace' }).click();
  await page.getByLabel('I have stored it').check();
  await page.getByRole('button', { name: 'Done' }).click();
  await page.getByRole('button', { name: 'Show 1 ended key' }).waitFor();
  await item.getByRole('button', { name: 'Revoke' }).click();
  await page
    .getByRole('dialog', { name: 'Revoke the key staging?' })
    .getByRole('button', { name: 'Revoke' })
    .click();
  await page.getByRole('button', { name: 'Show 2 ended keys' }).waitFor();
});

test('revoking a key tells of the keys that were made with it, and revokes them on request', async (t) => {
  const account = await newAccount();
  const key = await addApiKey(service, account.id);
  const made = await addApiKey(service, account.id, { narrowedTo: ['access.check'] });
  await service.sql(
    `update api_keys set name = $2, is_narrowed_by_maker = true, made_with_key_ids = $3 where id = $1`,
    [made.keyId, 'made', [key.keyId]],
  );
  await service.sql("update api_keys set name = 'maker' where id = $1", [key.keyId]);
  const { page } = await openAs(t, site, `/service-accounts?account=${account.id}`);
  await page.getByRole('listitem', { name: 'Key made' }).getByText('as its maker held').waitFor();
  await page.getByRole('listitem', { name: 'Key maker' }).getByRole('button', { name: 'Revoke' }).click();
  const dialog = page.getByRole('dialog', { name: 'Revoke the key maker?' });
  await dialog.getByLabel('Revoke every key that was made with it, too').check();
  await dialog.getByRole('button', { name: 'Revoke' }).click();
  await page.getByText('1 key that was made with it too.').waitFor();
  await page.getByRole('button', { name: 'Show 2 ended keys' }).waitFor();
});

test('deactivation shows who loses what, and can be undone', async (t) => {
  const account = await newAccount();
  const { page } = await openAs(t, site, `/service-accounts?account=${account.id}`);
  const pane = page.getByRole('complementary', { name: account.name });
  await pane.getByRole('button', { name: 'Deactivate' }).click();
  const dialog = page.getByRole('dialog', { name: `Deactivate ${account.name}?` });
  await dialog.getByText('1 loses permissions').waitFor();
  await dialog.getByRole('button', { name: 'Deactivate' }).click();
  await pane.getByText('Inactive').waitFor();
  await page.getByRole('button', { name: 'Undo' }).click();
  await pane.getByText('Active', { exact: true }).waitFor();
});

test('activation shows who gains what', async (t) => {
  const account = await newAccount();
  await admin.put(`/api/v1/service-accounts/${account.id}`, { is_active: false });
  const { page } = await openAs(t, site, `/service-accounts?account=${account.id}`);
  const pane = page.getByRole('complementary', { name: account.name });
  await pane.getByRole('button', { name: 'Activate' }).click();
  const dialog = page.getByRole('dialog', { name: `Activate ${account.name}?` });
  await dialog.getByText('1 gains access.check').waitFor();
  await dialog.getByRole('button', { name: 'Activate' }).click();
  await page.getByText(`${account.name} is active.`).waitFor();
  await pane.getByText('Active', { exact: true }).waitFor();
});

test('roles that somebody else has changed are shown, and both changes stand', async (t) => {
  const account = await newAccount();
  const rolesNow = async (): Promise<string[]> =>
    (await admin.get(`/api/v1/service-accounts/${account.id}`)).body.data.roles
      .map(({ name }: { name: string }) => name)
      .sort();
  const moderator = await addRole(service);
  await service.sql("update roles set name = 'Moderator' where id = $1", [moderator]);
  const { page } = await openAs(t, site, `/service-accounts?account=${account.id}&tab=access`, {
    expected: ['412'],
  });
  await page.getByRole('button', { name: 'Change roles' }).click();
  const dialog = page.getByRole('dialog', { name: `Roles of ${account.name}` });
  await dialog.getByLabel('Roles').first().fill('User');
  await page.getByRole('option', { name: /^User/ }).click();
  await dialog.getByRole('heading').click();
  await dialog.getByRole('button', { name: 'Save' }).and(page.locator(':enabled')).waitFor();
  const { body } = await admin.get(`/api/v1/service-accounts/${account.id}`);
  await admin.put(`/api/v1/service-accounts/${account.id}`, {
    role_ids: [...body.data.roles.map(({ id }: { id: string }) => id), moderator],
  });
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.getByText('Stored now: Moderator, Service').waitFor();
  await dialog.getByText('You saw: Service').waitFor();
  assert.deepEqual(await rolesNow(), ['Moderator', 'Service']);
  await dialog.getByRole('button', { name: 'Save' }).and(page.locator(':enabled')).click();
  await page.getByText('The roles are saved.').waitFor();
  assert.deepEqual(await rolesNow(), ['Moderator', 'Service', 'User']);
  // The undo names its version as well.
  await admin.put(`/api/v1/service-accounts/${account.id}`, { description: 'changed since' });
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText('Somebody else has changed this since. Nothing was undone.').waitFor();
  assert.deepEqual(await rolesNow(), ['Moderator', 'Service', 'User']);
});

test('an account that somebody else changed is shown beside what was typed', async (t) => {
  const account = await newAccount({ description: 'first' });
  const { page } = await openAs(t, site, `/service-accounts?account=${account.id}`, { expected: ['412'] });
  await page.getByRole('button', { name: 'Edit' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Description').fill('mine');
  await admin.put(`/api/v1/service-accounts/${account.id}`, {
    name: `${account.name} theirs`,
    description: 'theirs',
  });
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.getByLabel('Stored now: theirs').check();
  await dialog.getByLabel('Yours: mine').check();
  await dialog.getByRole('button', { name: 'Save this choice' }).click();
  await page.getByText('The service account is saved.').waitFor();
  const { body } = await admin.get(`/api/v1/service-accounts/${account.id}`);
  assert.equal(body.data.description, 'mine');
  assert.equal(body.data.name, `${account.name} theirs`, 'what was not touched stays as it is stored');
});

test('a taken name is told at its field, and what was typed stays', async (t) => {
  const { name } = await newAccount();
  const { page } = await openAs(t, site, '/service-accounts', { expected: ['409'] });
  await page.getByRole('button', { name: 'New service account' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill(name);
  await dialog.getByLabel('Description').fill('mine');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await dialog.getByLabel('Name').and(page.locator('[aria-invalid="true"]:focus')).waitFor();
  assert.equal(await dialog.getByLabel('Description').inputValue(), 'mine');
  assert.equal(await dialog.getByRole('alert').count(), 0, 'it is said once');
});

test('a search without a result can be cleared, and the address keeps it', async (t) => {
  await newAccount();
  const { page } = await openAs(t, site, '/service-accounts?q=nothing-like-this');
  await page.getByText('Nothing matches these filters.').waitFor();
  assert.equal(await page.getByRole('searchbox').inputValue(), 'nothing-like-this');
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await page.getByRole('table', { name: 'Service accounts' }).waitFor();
  assert.equal(new URL(page.url()).search, '');
});

test('a deletion says what ends, and closes the pane', async (t) => {
  const account = await newAccount();
  const { page } = await openAs(t, site, `/service-accounts?account=${account.id}`);
  await page
    .getByRole('complementary', { name: account.name })
    .getByRole('button', { name: 'Delete' })
    .click();
  const dialog = page.getByRole('dialog', { name: `Delete ${account.name}?` });
  await dialog.getByText('1 loses permissions').waitFor();
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await page.getByText(`${account.name} is deleted.`).waitFor();
  assert.equal(new URL(page.url()).search, '');
  assert.equal((await admin.get(`/api/v1/service-accounts/${account.id}`)).status, 404);
});

test('who may only read finds the actions disabled, with the reason', async (t) => {
  const account = await newAccount();
  const reader = await createVerifiedUser(service);
  await service.sql(
    `with made as (insert into roles (id, name, description)
         values (gen_random_uuid(), 'Reader of accounts', '') returning id),
       given as (insert into role_permissions (role_id, permission_id)
         select made.id, permissions.id from made, permissions where permissions.name = 'service_account.read')
     insert into user_roles (user_id, role_id) select $1, id from made`,
    [reader.id],
  );
  const { page } = await openAs(t, site, `/service-accounts?account=${account.id}`, {
    as: { email: reader.email, password: PASSWORD },
  });
  await heading(page).waitFor();
  const edit = page.getByRole('button', { name: 'Edit' });
  await edit.waitFor();
  assert.equal(await edit.getAttribute('aria-disabled'), 'true');
  await edit.focus();
  await page.getByText('You need the permission service_account.update.').waitFor();
  await page.getByText('Read-only').waitFor();
});

test('the number beside the heading says what it counts', async (t) => {
  await newAccount();
  const { page } = await openAs(t, site, '/service-accounts');
  await page.getByText(/^\d+ accounts?$/).waitFor();
});
