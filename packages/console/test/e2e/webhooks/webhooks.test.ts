// The pages about webhooks: create one with its secret, test it, see what was delivered, send it again, pause and delete it.
import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { ADMIN, eventually, signIn } from '@castellan/testing/harness';
import { addPerson, addRole } from '@castellan/testing/users/people';
import { type Received, startReceiver } from '@castellan/testing/webhooks/receiver';
import type { Page } from 'playwright-core';
import { assertAccessible } from '../../accessibility.ts';
import { heading, openAs, startConsole } from '../../harness.ts';
import { photograph } from '../../pictures.ts';

const site = await startConsole({ after }, { CONCURRENT_SESSION_LIMIT: '100' });
const { service } = site;
const admin = await signIn(service, ADMIN);
const path = '/api/v1/webhooks';

const endpoint = await startReceiver({ after });

/** Begins again, without a webhook. */
async function clear(): Promise<void> {
  const { body } = await admin.get(`${path}?size=100`);
  for (const { id } of body.data) assert.equal((await admin.delete(`${path}/${id}`)).status, 200);
  endpoint.received.length = 0;
  endpoint.answer = () => 204;
}

async function addWebhook(more: object = {}): Promise<string> {
  const answer = await admin.post(path, { name: 'Billing', url: endpoint.url, events: ['role_*'], ...more });
  assert.equal(answer.status, 201, answer.text);
  return answer.body.data.id;
}

let roles = 0;
const addRoleAsAdmin = async (): Promise<void> => {
  roles += 1;
  assert.equal((await admin.post('/api/v1/roles', { name: `Clerk ${roles}` })).status, 201);
};

const idOf = ({ headers }: Received) => headers['webhook-id'];

const dialog = (page: Page, name: string | RegExp) => page.getByRole('dialog', { name });
const group = (page: Page, name: string) => page.getByRole('checkbox', { name: `All of ${name}` });

async function openWebhook(t: TestContext, id: string, search = '', expected: string[] = []): Promise<Page> {
  const { page } = await openAs(t, site, `/webhooks/${id}${search}`, { expected });
  await heading(page).getByText('Billing').waitFor();
  return page;
}

test('an endpoint is created, tested, told, told again, paused, resumed and deleted', async (t) => {
  await clear();
  const { page } = await openAs(t, site, '/webhooks');
  await page.getByText('No webhooks yet').waitFor();
  await page.getByRole('main').getByRole('button', { name: 'New webhook' }).last().click();
  await page.getByRole('textbox', { name: 'Name' }).fill('Billing');
  await page.getByRole('textbox', { name: 'URL' }).fill(endpoint.url);
  await group(page, 'role_*').check();
  await page.getByText('With these settings, it is told of 12 types of events.').waitFor();
  await page.getByRole('button', { name: 'Create' }).click();

  const shown = dialog(page, 'The secret of the webhook');
  const secret = await shown.getByTestId('secret').textContent();
  assert.match(secret ?? '', /^whsec_/);
  await assertAccessible(page, 'the secret of a webhook');
  await shown.getByLabel('I have stored it').check();
  await shown.getByRole('button', { name: 'Done' }).click();
  await heading(page).getByText('Billing').waitFor();
  assert.equal(await page.getByText(secret ?? '').count(), 0);
  const [made] = (await admin.get(path)).body.data;
  assert.deepEqual([made.events, made.personal, made.results], [['role_*'], false, 'all']);

  await page.getByRole('button', { name: 'Test' }).click();
  const tested = dialog(page, 'Test of Billing');
  await tested.getByRole('button', { name: 'Send' }).click();
  await tested.getByText('It arrived: the endpoint answered 204.').waitFor();
  await assertAccessible(page, 'the test of a webhook');
  await photograph(page, 'webhook-test');
  assert.deepEqual(
    endpoint.received.map(({ event }) => [event.type, event.data.test]),
    [['role_authentication_changed', true]],
  );
  await page.keyboard.press('Escape');
  await tested.waitFor({ state: 'detached' });

  await addRoleAsAdmin();
  const real = ({ event }: Received): boolean => event.data.test === undefined;
  const [first] = await endpoint.until(1, real);
  await page.reload();
  const row = page.getByRole('row').filter({ hasText: 'role_created' });
  await row.getByText('Sent').waitFor();
  await row.getByRole('button').click();
  const pane = page.getByRole('complementary', { name: 'role_created' });
  await pane.getByText('It answered 204').waitFor();
  await pane.getByText('"type": "role_created"').waitFor();
  await assertAccessible(page, 'a delivery');
  await photograph(page, 'webhook-delivery');
  await pane.getByRole('button', { name: 'Resend' }).click();
  await page.getByText('The delivery waits to be sent.').waitFor();
  const again = await endpoint.until(2, real);
  assert.deepEqual(
    again.map(idOf),
    [first, first].map((one) => one && idOf(one)),
  );
  await page.keyboard.press('Escape');
  await pane.waitFor({ state: 'detached' });

  await page.getByRole('button', { name: 'Pause' }).click();
  await dialog(page, 'Pause Billing?').getByRole('button', { name: 'Pause' }).click();
  await page.getByText('Nothing is sent. New events wait').waitFor();
  await addRoleAsAdmin();
  await eventually(async () => (await admin.get(`${path}/${made.id}`)).body.data.waiting === 1, 'it waits');
  await page.reload();
  await page.getByRole('button', { name: 'Delete' }).click();
  const ended = dialog(page, 'Delete Billing?');
  await ended.getByText('Waiting deliveries that will never be sent: 1.').waitFor();
  await ended.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Resume' }).click();
  await page.getByText('Billing is resumed. One delivery is tried first.').waitFor();
  await endpoint.until(3, real);
  await page.getByRole('button', { name: 'Delete' }).click();
  await ended.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('Billing is deleted.').waitFor();
  assert.deepEqual((await admin.get(path)).body.data, []);
});

test('the tree chooses all, groups and types, and shows a sample with and without personal data', async (t) => {
  await clear();
  const { page } = await openAs(t, site, '/webhooks/new');
  const chosen = page.getByRole('list', { name: 'Chosen events' }).getByRole('listitem');
  await page.getByRole('checkbox', { name: 'All events' }).check();
  assert.deepEqual(await chosen.allTextContents(), ['*']);
  await page.getByRole('checkbox', { name: 'All events' }).uncheck();
  await group(page, 'login_*').check();
  await page.getByRole('searchbox', { name: 'Search events' }).fill('user_updated');
  await page.getByRole('checkbox', { name: /^user_updated/ }).check();
  assert.deepEqual(await chosen.allTextContents(), ['login_*', 'user_updated']);
  const sample = page.getByRole('region', { name: 'What the endpoint gets' });
  const json = sample.locator('pre');
  await json.getByText('"type": "user_updated"').waitFor();
  assert.doesNotMatch((await json.textContent()) ?? '', /grace@example\.com/);
  await sample.getByText('Left out, because they are personal data:').waitFor();
  await page.getByLabel('Send personal data').check();
  await json.getByText('grace@example.com').waitFor();
  await sample.getByText('These members are personal data:').waitFor();
  await page.getByRole('searchbox', { name: 'Search events' }).fill('');
  await page.getByRole('button', { name: /^login_\*/ }).click();
  await page.getByRole('checkbox', { name: /^login_succeeded/ }).uncheck();
  assert.deepEqual(await chosen.allTextContents(), ['login_failed', 'user_updated']);
  await page.getByLabel('Only what was refused or went wrong').check();
  await page.getByText('it is told of 1 type of event.').waitFor();
  await page.getByRole('button', { name: 'Remove login_failed' }).click();
  await page.getByText('it is told of nothing').waitFor();
  await assertAccessible(page, 'the form of a webhook');
  await photograph(page, 'webhook-form');
});

test('what is not right stands at its field, and what was typed stays', async (t) => {
  await clear();
  const { page } = await openAs(t, site, '/webhooks/new', { expected: ['422'] });
  await page.getByRole('textbox', { name: 'Name' }).fill('Billing');
  const url = page.getByRole('textbox', { name: 'URL' });
  await url.fill('ftp://billing.example.com');
  await page.getByRole('checkbox', { name: 'All events' }).check();
  await page.getByRole('button', { name: 'Create' }).click();
  await page.locator('input[aria-invalid="true"]:focus').waitFor();
  await page.getByText(/must be a whole address/).waitFor();
  assert.equal(await url.inputValue(), 'ftp://billing.example.com');
});

test('a form that was overtaken shows both versions, and saves the choice', async (t) => {
  await clear();
  const id = await addWebhook();
  const page = await openWebhook(t, id, '?tab=settings', ['412']);
  await group(page, 'role_*').waitFor();
  assert.equal(await page.getByRole('checkbox', { name: /^role_created/ }).count(), 0);
  assert.equal((await admin.put(`${path}/${id}`, { events: ['user_*'], name: 'Bills' })).status, 200);
  await page.getByRole('textbox', { name: 'Name' }).fill('Invoices');
  await page.getByRole('button', { name: 'Save' }).click();
  const conflict = dialog(page, 'This has changed');
  await conflict.getByText('Stored now: user_*').waitFor();
  await conflict.getByText('Yours: Invoices').waitFor();
  await assertAccessible(page, 'the conflict of a webhook');
  await conflict.getByRole('button', { name: 'Save this choice' }).click();
  await heading(page).getByText('Invoices').waitFor();
  const { body } = await admin.get(`${path}/${id}`);
  assert.deepEqual([body.data.name, body.data.events], ['Invoices', ['user_*']]);
});

test('the form shows the types of a group that is chosen in part', async (t) => {
  await clear();
  const page = await openWebhook(
    t,
    await addWebhook({ events: ['role_created', 'user_*'] }),
    '?tab=settings',
  );
  await page.getByRole('checkbox', { name: /^role_created/, checked: true }).waitFor();
  await page.getByRole('checkbox', { name: /^role_deleted/, checked: false }).waitFor();
  assert.equal(await page.getByRole('checkbox', { name: /^user_created/ }).count(), 0);
});

test('a new secret is shown once, and the fourth is refused', async (t) => {
  await clear();
  const id = await addWebhook();
  const page = await openWebhook(t, id, '?tab=secrets', ['409']);
  const live = page.getByRole('list', { name: 'Live secrets' }).getByRole('listitem');
  for (const count of [2, 3]) {
    await page.getByRole('button', { name: 'New secret' }).click();
    await dialog(page, 'New secret').getByRole('button', { name: 'Create' }).click();
    const shown = dialog(page, 'The secret of the webhook');
    await shown.getByLabel('I have stored it').check();
    await shown.getByRole('button', { name: 'Done' }).click();
    await live.nth(count - 1).waitFor();
  }
  await live
    .filter({ hasText: /^Created .*Ends / })
    .first()
    .waitFor();
  await photograph(page, 'webhook-secrets');
  await page.getByRole('button', { name: 'New secret' }).click();
  const create = dialog(page, 'New secret');
  await create.getByRole('button', { name: 'Create' }).click();
  await create.getByText('A webhook has at most 3 live secrets.').waitFor();
  await create.getByLabel(/^None:/).check();
  await create.getByRole('button', { name: 'Create' }).click();
  await dialog(page, 'The secret of the webhook').getByLabel('I have stored it').check();
  await page.getByRole('button', { name: 'Done' }).click();
  await live.nth(1).waitFor({ state: 'detached' });
  assert.equal((await admin.get(`${path}/${id}`)).body.data.secrets.length, 1);
});

test('deliveries are filtered, say why they fail, and past events are replayed', async (t) => {
  await clear();
  endpoint.answer = () => 503;
  const id = await addWebhook({ events: ['role_created'] });
  await addRoleAsAdmin();
  await eventually(
    async () => (await admin.get(`${path}/${id}`)).body.data.status === 'failing',
    'the failure is recorded',
  );
  const page = await openWebhook(t, id, '?state=waiting', ['409']);
  const row = page.getByRole('row').filter({ hasText: 'role_created' });
  await row.getByText('The endpoint answered 503.').waitFor();
  await page.getByText('Failing').waitFor();
  await photograph(page, 'webhook-failing');
  await page.getByLabel('State').selectOption('sent');
  await page.getByText('Nothing matches these filters.').waitFor();
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await row.waitFor();
  await page.getByRole('button', { name: 'Replay' }).click();
  const replay = dialog(page, 'Replay to Billing');
  await replay.getByText(/^Events come behind/).waitFor();
  await replay.getByLabel(/^Everything/).check();
  await assertAccessible(page, 'a replay');
  await photograph(page, 'webhook-replay');
  await replay.getByRole('button', { name: 'Count' }).click();
  await replay.getByText(/^\d+ events? would be sent again\.$/).waitFor();
  await replay.getByLabel(/^Only what was given up/).check();
  await replay.getByRole('button', { name: 'Count' }).waitFor();
  await replay.getByLabel(/^Everything/).check();
  await replay.getByRole('button', { name: 'Count' }).click();
  await replay.getByRole('button', { name: /^Send \d+ events? again$/ }).click();
  await replay.getByText(/^\d+ events? (?:is|are) queued again\.$/).waitFor();
  await replay.getByRole('button', { name: 'Close' }).last().click();
  await replay.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Replay' }).click();
  await replay.getByLabel(/^Everything/).check();
  await replay.getByRole('button', { name: 'Count' }).click();
  await replay.getByRole('button', { name: /^Send \d+ events? again$/ }).click();
  await replay.getByText('A replay of this webhook is still being delivered.').waitFor();
});

test('a paused webhook says why, and who may only read changes nothing', async (t) => {
  await clear();
  const id = await addWebhook();
  endpoint.answer = () => 410;
  await addRoleAsAdmin();
  await eventually(
    async () => (await admin.get(`${path}/${id}`)).body.data.paused_reason === 'gone',
    'it is paused',
  );
  const as = await addPerson(service, { roles: [await addRole(service, 'webhook.read')] });
  const { page } = await openAs(t, site, '/webhooks', { as });
  await page.getByText('it answered 410').waitFor();
  await page.getByRole('button', { name: 'Billing' }).click();
  await page.getByText('The endpoint answered 410, which means').waitFor();
  await page.getByText('You need the permission audit_log.read.').first().waitFor();
  for (const name of ['Test', 'Resume', 'Delete'])
    assert.equal(await page.getByRole('button', { name }).getAttribute('aria-disabled'), 'true', name);
  await page.getByRole('tab', { name: 'Settings' }).click();
  await page.getByText('You need the permission webhook.update.').first().waitFor();
  assert.equal(await page.getByRole('textbox', { name: 'Name' }).getAttribute('readonly'), '');
  assert.equal(await page.getByRole('button', { name: 'Save' }).isDisabled(), true);
});
