// Leaving in the console: the file of one's own data, the deletion of one's own account and the link that undoes it; and how an
// administrator erases somebody.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, test } from 'node:test';
import { linkTo } from '@castellan/testing/accounts/self-service';
import { nextVisit } from '@castellan/testing/e2e/browser';
import { ADMIN, type Hooks } from '@castellan/testing/harness';
import { addPerson, addRole } from '@castellan/testing/users/people';
import type { Page } from 'playwright-core';
import { assertAccessible, assertPageAccessible } from '../../accessibility.ts';
import { heading, openAs, startConsole } from '../../harness.ts';
import { photograph } from '../../pictures.ts';

const site = await startConsole({ after }, { SELF_DELETION_DAYS: '14' });
const { service } = site;

/** A window of somebody who is not signed in. */
async function visit(t: Hooks): Promise<Page> {
  const opened = await nextVisit(site.browser);
  t.after(async () => {
    await opened.leave();
    const { complaints, foreign } = opened;
    assert.deepEqual({ complaints, foreign }, { complaints: [], foreign: [] });
  });
  return opened.page;
}

test('a person downloads their data, deletes their account, and keeps it by the link of the mail', async (t) => {
  const as = await addPerson(service, {
    firstName: 'Grace',
    lastName: 'Hopper',
    roles: [await addRole(service, 'role.read')],
  });
  const { page } = await openAs(t, site, '/account', { as, expected: ['status of 4'] });
  const section = page.getByRole('region', { name: 'Your data' });
  const downloading = page.waitForEvent('download');
  await section.getByRole('button', { name: 'Download my data' }).click();
  const download = await downloading;
  assert.equal(download.suggestedFilename(), 'my-data.json');
  const file = await readFile(await download.path(), 'utf8');
  assert.equal(JSON.parse(file).user.email, as.email);
  await page.getByText('my-data.json is complete.').waitFor();
  await section.getByRole('button', { name: 'Download my data' }).click();
  await page.getByText(/^Too many requests/).waitFor();
  await page.getByRole('button', { name: 'Close' }).first().click();

  await section.getByRole('button', { name: 'Delete my account' }).click();
  const dialog = page.getByRole('dialog', { name: 'Delete your account?' });
  await dialog.getByText('It works for 14 days').waitFor();
  const submit = dialog.getByRole('button', { name: 'Delete my account' });
  assert.equal(await submit.isDisabled(), true);
  await dialog.getByLabel('Current password').fill('Wrong?Tundra61Fox');
  await submit.click();
  await dialog.getByText('The current password is wrong').waitFor();
  await dialog.getByLabel('Current password').fill(as.password);
  await assertAccessible(page, 'the dialog');
  await photograph(page, 'leaving-dialog');
  await submit.click();
  const gone = page.getByRole('dialog', { name: 'Your account is deactivated' });
  await gone.getByText(/^It is removed on .+ or soon after\./).waitFor();
  await assertAccessible(page, 'the end');
  await photograph(page, 'leaving-gone');
  await gone.getByRole('button', { name: 'Go to the sign-in page' }).click();
  await heading(page).getByText('Sign in').waitFor();

  const token = await linkTo(service, as.email, 'deletion_planned');
  const visitor = await visit(t);
  await visitor.goto(`/undo-deletion#token=${token}`);
  await heading(visitor).getByText('Keep your account').waitFor();
  assert.equal(await visitor.getByLabel('Email').inputValue(), as.email);
  assert.equal(new URL(visitor.url()).hash, '');
  await assertPageAccessible(visitor, 'the page of the link');
  await photograph(visitor, 'leaving-undo');
  await visitor.getByRole('button', { name: 'Keep the account' }).click();
  await heading(visitor).getByText('Your account stays').waitFor();
  await photograph(visitor, 'leaving-kept');
  await visitor.getByRole('link', { name: 'Go to sign-in' }).click();
  await visitor.getByLabel('Email').fill(as.email);
  await visitor.getByLabel('Password', { exact: true }).fill(as.password);
  await visitor.keyboard.press('Enter');
  await visitor.waitForURL('**/overview');
  const again = await visit(t);
  await again.goto(`/undo-deletion#token=${token}`);
  await heading(again).getByText('This link does not work').waitFor();
  await photograph(again, 'leaving-over');
});

test('an administrator sees who leaves, and erases somebody after typing their address', async (t) => {
  const role = await addRole(service, 'role.read');
  const user = await addPerson(service, { firstName: 'Ludmilla', lastName: 'Quast', roles: [role] });
  const client = service.client();
  await client.login(user);
  const leave = await client.delete('/api/v1/users/me', { current_password: user.password });
  assert.equal(leave.status, 202, leave.text);
  const { page } = await openAs(t, site, `/users?user=${user.id}`, { as: ADMIN });
  await page.getByText('The user deleted this account. Activating it ends the deletion.').waitFor();
  await photograph(page, 'leaving-user');
  const pane = page.getByRole('complementary');
  await pane.getByRole('button', { name: 'Erase…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Erase Ludmilla Quast?' });
  await dialog.getByText('the account, with its role, its sessions and tokens').waitFor();
  const submit = dialog.getByRole('button', { name: 'Erase for good' });
  await dialog.getByLabel(`Type ${user.email} to confirm`).fill('somebody@example.com');
  assert.equal(await submit.isDisabled(), true);
  await dialog.getByLabel(`Type ${user.email} to confirm`).fill(` ${user.email.toUpperCase()}`);
  await assertAccessible(page, 'the dialog');
  await photograph(page, 'erase');
  await submit.click();
  await page.getByText(/^The account is erased, with the personal data of \d+ audit entries\.$/).waitFor();
  await pane.waitFor({ state: 'detached' });
  const left = await service.sql(`select 1 from audit_logs where row_to_json(audit_logs)::text like $1`, [
    `%${user.email}%`,
  ]);
  assert.deepEqual(left, []);
});

test('an erasure whose standing is missing is disabled with the reason; without the permission, it is not there', async (t) => {
  const superuser = await addPerson(service, { superuser: true });
  const as = await addPerson(service, { roles: [await addRole(service, 'user.read', 'users.delete')] });
  const { page } = await openAs(t, site, `/users?user=${superuser.id}`, { as });
  await page.getByRole('button', { name: 'Erase… (Only a superuser can change a superuser.)' }).waitFor();
  const reader = await addPerson(service, { roles: [await addRole(service, 'user.read')] });
  const other = await openAs(t, site, `/users?user=${superuser.id}`, { as: reader });
  await other.page.getByRole('button', { name: /^Set password/ }).waitFor();
  assert.equal(await other.page.getByRole('button', { name: /^Erase/ }).count(), 0);
});
