// What roles and permissions require of sign-ins: shown, changed after a preview, and refused.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Hooks } from '@castellan/testing/harness';
import { makePermission, makeRole, newName } from '@castellan/testing/records/fixture';
import { type AppUser, addAppUser, codeOf, forgetStep } from '@castellan/testing/second-factors/app';
import {
  ageProofs,
  requireOfPermission,
  requireOfRole,
} from '@castellan/testing/second-factors/requirements';
import { addUser } from '@castellan/testing/sessions/accounts';
import { addPerson, addRole } from '@castellan/testing/users/people';
import type { Locator, Page } from 'playwright-core';
import { assertAccessible } from '../../accessibility.ts';
import { assertFocusIn, heading, openAs, startConsole } from '../../harness.ts';
import { sendPassword, visit } from '../sign-in/visits.ts';

const site = await startConsole(
  { after },
  { RATE_LIMIT_LOGIN: 'off', RATE_LIMIT_SECOND_FACTOR: 'off', CONCURRENT_SESSION_LIMIT: '0' },
);
const { service, browser } = site;

/** A superuser with an app. */
async function addBoss(): Promise<AppUser> {
  const user = await addAppUser(service);
  await service.sql('update users set is_superuser = true where id = $1', [user.id]);
  return user;
}

const boss = await addBoss();

/** Opens a page as somebody who has signed in with an app. */
async function openAsBoss(t: Hooks, path: string, expected: string[] = [], as = boss): Promise<Page> {
  const page = await visit(t, browser, { expected: ['422', ...expected] });
  await page.goto(`/login?next=${encodeURIComponent(path)}`);
  await sendPassword(page, as.email);
  await forgetStep(service, as);
  await page.getByLabel('Code', { exact: true }).fill(codeOf(as.secret));
  await page.keyboard.press('Enter');
  await page.waitForURL(`**${path}`);
  await heading(page).waitFor();
  return page;
}

const give = (user: { id: string }, role: { id: string }) =>
  service.sql('insert into user_roles (user_id, role_id) values ($1, $2)', [user.id, role.id]);

/** A role of two people: one with an app, one without. */
async function seed(): Promise<{ role: { id: string; name: string }; strong: AppUser; weak: string }> {
  const role = await makeRole(boss.client, { name: newName('Cashier') });
  const strong = await addAppUser(service);
  const weak = await addUser(service);
  await service.sql("update users set first_name = 'Ada', last_name = $2 where id = $1", [
    weak.id,
    role.name,
  ]);
  await give(strong, role);
  await give(weak, role);
  return { role, strong, weak: `Ada ${role.name}` };
}

const shown = (page: Page): Locator => page.getByRole('region', { name: 'Holders must sign in with' });
const button = (place: Page | Locator, name: string): Locator =>
  place.getByRole('button', { name, exact: true });
const radio = (dialog: Locator, name: string): Locator => dialog.getByRole('radio', { name, exact: true });

async function authenticationOf(roleId: string) {
  const { body } = await boss.client.get(`/api/v1/roles/${roleId}`);
  return body.data.authentication;
}

test('a requirement of a role tells who cannot meet it, and counts in 14 days', async (t) => {
  const { role, weak } = await seed();
  const page = await openAsBoss(t, `/roles/${role.id}`);
  await shown(page).getByText('Password').waitFor();
  await button(page, 'Change requirement').click();
  const dialog = page.getByRole('dialog', { name: `How holders of ${role.name} must sign in` });
  assert.equal(await button(dialog, 'Save').isDisabled(), true, 'nothing is changed yet');
  await radio(dialog, 'Second factor').check();
  await dialog.getByText('It concerns 2 people, 1 of them without such a factor.').waitFor();
  await dialog.getByText(weak, { exact: true }).waitFor();
  await dialog.getByText(/^From .+, they can do nothing else until they have set one up\.$/).waitFor();
  await assertAccessible(page, 'the requirement of a role');
  await button(dialog, 'Save').click();
  await page.getByText(`What ${role.name} requires was saved.`).waitFor();
  await shown(page).getByText('2, 1 without such a factor').waitFor();
  await shown(page).getByText('Second factor').waitFor();
  const { required_acr, enforced_from } = await authenticationOf(role.id);
  assert.equal(required_acr, 'aal2');
  assert.ok(Math.abs(Date.parse(enforced_from) - Date.now() - 14 * 86_400_000) < 3_600_000, enforced_from);
  await assertAccessible(page, 'a role with a requirement');
});

test('with the keyboard alone, a requirement is lifted, and the focus returns to its button', async (t) => {
  const { role } = await seed();
  await requireOfRole(service, role.id, 'aal2');
  const page = await openAsBoss(t, `/roles/${role.id}`);
  await shown(page).getByText('Since').waitFor();
  await button(page, 'Change requirement').focus();
  await page.keyboard.press('Enter');
  await assertFocusIn(page, '[role="dialog"] input[value="aal2"]');
  await page.keyboard.press('ArrowUp');
  await page.getByText('For 2 people, this no longer asks for anything.').waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await shown(page).getByText('Password').waitFor();
  await assertFocusIn(page, '.requirement button');
  assert.equal(await authenticationOf(role.id), undefined);
});

test('an old proof is asked for again before the preview, and the dialog stays', async (t) => {
  const { role } = await seed();
  const other = await addBoss();
  const page = await openAsBoss(t, `/roles/${role.id}`, ['403'], other);
  await ageProofs(service, other, 3_600);
  await button(page, 'Change requirement').click();
  await radio(page.getByRole('dialog'), 'Second factor').check();
  const proof = page.getByRole('dialog', { name: 'Confirm that it is you' });
  await proof.getByText('You are about to change how the holders of a role must sign in.').waitFor();
  await forgetStep(service, other);
  await proof.getByLabel('Code of the authenticator app').fill(codeOf(other.secret));
  await button(proof, 'Confirm').click();
  await proof.waitFor({ state: 'detached' });
  await page.getByText('It concerns 2 people, 1 of them without such a factor.').waitFor();
  await button(page.getByRole('dialog'), 'Save').click();
  await shown(page).getByText('Second factor').waitFor();
});

test('what nobody here could meet is refused, and what somebody else changed is shown', async (t) => {
  const { role } = await seed();
  const page = await openAsBoss(t, `/roles/${role.id}`, ['412']);
  await button(page, 'Change requirement').click();
  const dialog = page.getByRole('dialog');
  await radio(dialog, 'Passkey or security key').check();
  await dialog.getByText(/^The service would refuse this:/).waitFor();
  assert.equal(await button(dialog, 'Save').isDisabled(), true);
  await radio(dialog, 'Second factor').check();
  await dialog.getByText(/^It concerns 2 people/).waitFor();
  const path = `/api/v1/roles/${role.id}/authentication`;
  const other = await boss.client.put(path, { required_acr: 'aal2', enforced_from: '2041-03-04T05:06:00Z' });
  assert.equal(other.status, 200, other.text);
  await button(dialog, 'Save').click();
  await dialog.getByText(/Stored now: Second factor, Mar 4, 2041/).waitFor();
  await button(dialog, 'Save').click();
  await page.getByText(`What ${role.name} requires was saved.`).waitFor();
});

test('a permission asks for a second factor, not older than chosen, and no longer', async (t) => {
  const { role } = await seed();
  const permission = await makePermission(boss.client);
  await service.sql('insert into role_permissions (role_id, permission_id) values ($1, $2)', [
    role.id,
    permission.id,
  ]);
  const page = await openAsBoss(t, `/permissions?permission=${permission.id}`);
  const pane = page.getByRole('region', { name: 'Required of sign-ins' });
  await pane.getByText('Nothing more').waitFor();
  await button(pane, 'Change requirement').click();
  const dialog = page.getByRole('dialog', { name: `What ${permission.name} requires of sign-ins` });
  await radio(dialog, 'Second factor').check();
  await dialog.getByLabel('Not older than').selectOption('10 minutes');
  await dialog.getByText('They cannot use the permission until they have set one up.').waitFor();
  await assertAccessible(page, 'the requirement of a permission');
  await button(dialog, 'Save').click();
  await pane.getByText('10 minutes').waitFor();
  await assertAccessible(page, 'a permission with a requirement');
  await button(pane, 'Change requirement').click();
  await radio(dialog, 'Nothing more').check();
  await dialog.getByText(/no longer asks for anything\.$/).waitFor();
  await button(dialog, 'Save').click();
  await pane.getByText('Nothing more').waitFor();
  const { body } = await boss.client.get(`/api/v1/permissions/${permission.id}`);
  assert.equal(body.data.authentication, undefined);
});

test('an unusual age is kept, and people without the permission to change it are told', async (t) => {
  const permission = await makePermission(boss.client);
  await requireOfPermission(service, permission.name, 'aal1', 90);
  const as = await addPerson(service);
  await give(as, { id: await addRole(service, 'permission.read', 'permission_group.read') });
  const { page } = await openAs(t, site, `/permissions?permission=${permission.id}`, { as });
  const pane = page.getByRole('region', { name: 'Required of sign-ins' });
  await pane.getByText('Any proof').waitFor();
  await pane.getByText('90 seconds').waitFor();
  const change = button(pane, 'Change requirement');
  assert.equal(await change.getAttribute('aria-disabled'), 'true');
  assert.match((await change.getAttribute('aria-description')) ?? '', /authentication\.update/);
});

test('in German, all of it is German', async (t) => {
  const { role } = await seed();
  await requireOfRole(service, role.id, 'aal2', "timestamptz '2041-03-04T05:06:00Z'");
  const page = await openAsBoss(t, '/account');
  await page.evaluate("localStorage.setItem('castellan.language', 'de')");
  await page.goto(`/roles/${role.id}`);
  const section = page.getByRole('region', { name: 'Inhaber müssen sich anmelden mit' });
  await section.getByText('2, 1 ohne solchen Faktor').waitFor();
  await button(section, 'Anforderung ändern').click();
  await radio(page.getByRole('dialog'), 'Passwort').check();
  await page.getByText('Von 2 Personen wird hier nichts mehr verlangt.').waitFor();
});
