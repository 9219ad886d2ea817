// Acting as a user in the console: it begins with a reason, shows on every page, stops where the account is the user's own, and ends visibly.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { signIn } from '@castellan/testing/harness';
import { ageProofs } from '@castellan/testing/second-factors/requirements';
import { actAs } from '@castellan/testing/sessions/acting';
import { addPerson, addRole } from '@castellan/testing/users/people';
import type { Page } from 'playwright-core';
import { assertAccessible, assertPageAccessible } from '../../accessibility.ts';
import { heading, openAs, startConsole } from '../../harness.ts';
import { photograph } from '../../pictures.ts';

const site = await startConsole({ after });
const { service } = site;

const REASON = 'Ticket 4711: the list stays empty.';

const addHelpDesk = async (...more: string[]) =>
  addPerson(service, {
    roles: [await addRole(service, 'users.act_as', 'user.read', 'users.read', 'session.read', ...more)],
  });

const addCustomer = async (...permissions: string[]) =>
  addPerson(service, {
    firstName: 'Grace',
    lastName: 'Hopper',
    roles: [await addRole(service, ...permissions)],
  });

const bar = (page: Page) => page.getByRole('region', { name: 'Acting as somebody else' });

/** Opens the pane of the user and begins to act as them. */
async function begin(page: Page, minutes = '15'): Promise<void> {
  await page.getByRole('button', { name: 'Act as…' }).click();
  const dialog = page.getByRole('dialog', { name: /^Act as / });
  const submit = dialog.getByRole('button', { name: 'Begin' });
  assert.equal(await submit.isDisabled(), true, 'there is no reason yet');
  await dialog.getByLabel('Reason').fill(REASON);
  await dialog.getByLabel('For how many minutes').fill('61');
  assert.equal(await submit.isDisabled(), true, 'too long');
  await dialog.getByLabel('For how many minutes').fill(minutes);
  await assertAccessible(page, 'the dialog');
  await photograph(page, 'act-as');
  await submit.click();
  await bar(page)
    .getByText(/^You act as .+ until .+\.$/)
    .waitFor();
}

/** What the SDK keeps of the session of the browser. */
const ownSession = (page: Page): Promise<string> =>
  page.evaluate(`localStorage.getItem('castellan:' + location.origin + ':session')`);
/** What the tab keeps of acting. */
const keptByTab = (page: Page): Promise<string> => page.evaluate('JSON.stringify(sessionStorage)');

const endActing = (user: { id: string }) =>
  service.sql('update sessions set revoked_at = now() where user_id = $1 and acted_by_id is not null', [
    user.id,
  ]);

test('a help desk acts as a customer, is stopped at their password, and is themselves again', async (t) => {
  const as = await addHelpDesk();
  const customer = await addCustomer('user.read');
  const { page } = await openAs(t, site, `/users?user=${customer.id}`, { as, expected: ['status of 403'] });
  const own = await ownSession(page);
  await begin(page);
  await heading(page).getByText('Overview').waitFor();
  await assertPageAccessible(page, 'with the bar');
  await photograph(page, 'acting-overview');

  await page.getByRole('button', { name: 'Account of' }).click();
  assert.equal(await page.getByRole('menuitem', { name: 'Sign out' }).count(), 0);
  await page.getByRole('menuitem', { name: 'My account' }).click();
  await heading(page).getByText('The account of').waitFor();
  await page.getByText(customer.email, { exact: true }).waitFor();
  await page.getByText('password, second factors, sessions').waitFor();
  assert.equal(await page.getByLabel('Current password').count(), 0);
  await assertPageAccessible(page, 'the account of the customer');
  await photograph(page, 'acting-account');
  assert.equal(await ownSession(page), own, 'the session of the browser is not touched');

  await bar(page).getByRole('button', { name: 'Stop' }).click();
  await page.getByText(/^You no longer act as .+ This is your own account\.$/).waitFor();
  assert.equal(new URL(page.url()).searchParams.get('user'), customer.id, 'back where it began');
  assert.equal(await bar(page).count(), 0);
  await page.goto('/account');
  await page.getByText(as.email, { exact: true }).first().waitFor();
  const entries = await service.sql<{ action: string; actor_id: string; acted_by_id: string | null }>(
    `select action, actor_id, acted_by_id from audit_logs where action like 'act_as_%' and resource_id = $1
     order by "timestamp"`,
    [customer.id],
  );
  assert.deepEqual(entries, [
    { action: 'act_as_started', actor_id: as.id, acted_by_id: null },
    { action: 'act_as_ended', actor_id: customer.id, acted_by_id: as.id },
  ]);
});

test('a reload goes on, another tab is the person themselves, and the token is in no storage', async (t) => {
  const as = await addHelpDesk();
  const customer = await addCustomer();
  const { page } = await openAs(t, site, `/users?user=${customer.id}`, { as });
  await begin(page);
  assert.doesNotMatch(await keptByTab(page), /eyJ/);
  await page.reload();
  await bar(page).getByText('Grace Hopper').waitFor();
  assert.doesNotMatch(await keptByTab(page), /eyJ/);
  const other = await page.context().newPage();
  await other.goto('/account');
  await other.getByText(as.email, { exact: true }).first().waitFor();
  assert.equal(await bar(other).count(), 0);
  await other.close();
  // A page of signed-out people ends it, and the next page says so.
  await page.goto('/forgot');
  await heading(page).waitFor();
  await page.goto('/account');
  await page.getByText('You no longer act as Grace Hopper.').waitFor();
  await page.getByText(as.email, { exact: true }).first().waitFor();
});

test('a token that is refused ends it, and nothing goes on as the person themselves', async (t) => {
  const as = await addHelpDesk();
  const customer = await addCustomer('user.read');
  const { page } = await openAs(t, site, `/users?user=${customer.id}`, { as, expected: ['status of 401'] });
  await begin(page);
  await page.getByRole('link', { name: 'Overview' }).waitFor();
  await endActing(customer);
  const sent: string[] = [];
  page.on('request', (request) => sent.push(new URL(request.url()).pathname));
  await page.getByRole('link', { name: 'Users', exact: true }).click();
  await page.getByRole('heading', { name: 'You no longer act as Grace Hopper' }).waitFor();
  await page.getByText('The session was ended').waitFor();
  await assertPageAccessible(page, 'the end');
  await photograph(page, 'acting-over');
  assert.equal(await page.getByRole('navigation').count(), 0, 'nothing of the page is left');
  assert.ok(!sent.includes('/api/v1/auth/new_access_token'), sent.join(', '));
  await page.getByRole('button', { name: 'Go on as yourself' }).click();
  await page.getByRole('heading', { level: 2, name: 'Grace Hopper' }).waitFor();
  assert.equal(await bar(page).count(), 0);
});

test('when the time is up, the page says so by itself', async (t) => {
  const as = await addHelpDesk();
  const customer = await addCustomer();
  const { page } = await openAs(t, site, `/users?user=${customer.id}`, { as, context: {} });
  await page.clock.install();
  await page.reload();
  await begin(page, '2');
  await page.clock.fastForward('01:58');
  assert.equal(await bar(page).count(), 1);
  await page.clock.fastForward('00:03');
  await page.getByText('The time is up.').waitFor();
});

test('when the person signs out elsewhere, it ends, too, and leads to the sign-in page', async (t) => {
  const as = await addHelpDesk();
  const customer = await addCustomer('user.read');
  const { page } = await openAs(t, site, `/users?user=${customer.id}`, { as, expected: ['status of 401'] });
  await begin(page);
  await service.sql('update sessions set revoked_at = now() where user_id = $1', [as.id]);
  await page.getByRole('link', { name: 'Users', exact: true }).click();
  await page.getByRole('button', { name: 'Go on as yourself' }).click();
  await heading(page).getByText('Sign in').waitFor();
});

test('what only the user can do is refused with the reason; lists and the audit log name who acts', async (t) => {
  const as = await addHelpDesk('audit_log.read', 'role.read', 'role.create', 'users.update');
  const customer = await addCustomer('user.read', 'users.read', 'users.update', 'role.read', 'role.create');
  const { page } = await openAs(t, site, `/users?user=${customer.id}`, { as, expected: ['status of 403'] });
  await begin(page);
  await page.goto(`/users?user=${customer.id}&tab=sessions`);
  await page.getByRole('button', { name: 'End all sessions' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'End all sessions' }).click();
  await page.getByText('You act as somebody else, and this concerns their own account.').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  await page.goto('/roles');
  await page.getByRole('button', { name: 'New role' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('Made by a help desk');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await page.getByText('Made by a help desk').first().waitFor();
  await bar(page).getByRole('button', { name: 'Stop' }).click();
  await page.getByText('You no longer act as').waitFor();

  await page.goto(`/audit?action=role_created&actor=${customer.id}`);
  const list = page.getByRole('main');
  await list.getByRole('button', { name: 'Somebody acted as them' }).click();
  await page.getByText('Acted by: Ada Lovelace').waitFor();
  await page.getByRole('button', { name: /^Details: / }).click();
  await page.getByRole('complementary').getByText(`Ada Lovelace · ${as.email}`).waitFor();
  await assertPageAccessible(page, 'the entry');
  await photograph(page, 'acting-audit');
});

test('the bar shows until when, however long the name is', async (t) => {
  const as = await addHelpDesk();
  const customer = await addPerson(service, { firstName: 'Wm'.repeat(50), lastName: 'Wm'.repeat(50) });
  const { page } = await openAs(t, site, `/users?user=${customer.id}`, { as });
  await begin(page);
  const [all, text] = [bar(page), bar(page).getByText(/^You act as/)];
  for (const width of [320, 1_280]) {
    await page.setViewportSize({ width, height: 844 });
    const [outer, inner] = [await all.boundingBox(), await text.boundingBox()];
    assert.ok(outer && inner && inner.height <= outer.height, `${inner?.height} px at ${width} px`);
    const isCut = await text.evaluate((element) => element.scrollWidth > element.clientWidth + 1);
    assert.equal(isCut, false, `${width} px`);
  }
});

test('the list of sessions tags the one in which somebody acts', async (t) => {
  const as = await addHelpDesk();
  const customer = await addCustomer();
  const client = await signIn(service, as);
  assert.equal((await actAs(client, customer)).status, 200);
  const { page } = await openAs(t, site, '/account', { as: customer });
  await page
    .getByRole('region', { name: 'My sessions' })
    .getByText('Ada Lovelace acts as this user')
    .waitFor();
  await assertAccessible(page, 'the own sessions');
  await photograph(page, 'acted-sessions');
});

test('a sign-in of long ago asks for a proof first', async (t) => {
  const as = await addHelpDesk();
  const customer = await addCustomer();
  const { page } = await openAs(t, site, `/users?user=${customer.id}`, { as, expected: ['status of 403'] });
  await ageProofs(service, as, 86_400);
  await page.getByRole('button', { name: 'Act as…' }).click();
  const dialog = page.getByRole('dialog', { name: /^Act as / });
  await dialog.getByLabel('Reason').fill(REASON);
  await dialog.getByRole('button', { name: 'Begin' }).click();
  const proof = page.getByRole('dialog', { name: 'Confirm that it is you' });
  await proof.getByRole('textbox', { name: 'Password' }).fill(as.password);
  await page.keyboard.press('Enter');
  await bar(page).getByText('Grace Hopper').waitFor();
});

test('the menu has it for those who hold the permission alone, with the reason where it is not possible', async (t) => {
  const customer = await addCustomer('user.read', 'users.read');
  const { page } = await openAs(t, site, `/users?user=${customer.id}`, { as: customer });
  await page.getByRole('button', { name: 'Set password' }).waitFor();
  assert.equal(await page.getByRole('button', { name: 'Act as…' }).count(), 0);
  const as = await addHelpDesk();
  const superuser = await addPerson(service, { superuser: true });
  const desk = await openAs(t, site, `/users?user=${superuser.id}`, { as });
  await desk.page.getByRole('button', { name: 'Act as… (Only a superuser acts as a superuser.)' }).waitFor();
});
