// Invitations: the dialog on the page Users, the pane of an invited user, and the page on which the person accepts.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { linkTo } from '@castellan/testing/accounts/self-service';
import { nextVisit } from '@castellan/testing/e2e/browser';
import { ADMIN, type Hooks, newEmail, signIn } from '@castellan/testing/harness';
import { addRole } from '@castellan/testing/users/people';
import type { Page } from 'playwright-core';
import { assertAccessible, assertPageAccessible } from '../../accessibility.ts';
import { heading, openAs, startConsole } from '../../harness.ts';

const NEW_PASSWORD = 'ReplacementPassword!42';

const site = await startConsole({ after });
const { service } = site;
const admin = await signIn(service, ADMIN);

async function invite(
  body: Record<string, unknown> = {},
): Promise<{ id: string; email: string; path: string }> {
  const email = newEmail('invited');
  const answer = await admin.post('/api/v1/users/invitations', { email, ...body });
  assert.equal(answer.status, 201, answer.text);
  return {
    id: answer.body.data.id,
    email,
    path: `/invitation#token=${await linkTo(service, email, 'invitation')}`,
  };
}

/** A window of somebody who is not signed in. */
async function visit(t: Hooks, expected: string[] = []): Promise<Page> {
  const opened = await nextVisit(site.browser);
  t.after(async () => {
    await opened.leave();
    const complaints = opened.complaints.filter((one) => !expected.some((part) => one.includes(part)));
    assert.deepEqual({ complaints, foreign: opened.foreign }, { complaints: [], foreign: [] });
  });
  return opened.page;
}

test('pasted addresses are invited with roles, and each row gets a verdict', async (t) => {
  const role = await addRole(service, 'role.read');
  await service.sql('update roles set name = $2 where id = $1', [role, 'Reader']);
  const [first, second] = [newEmail('row'), newEmail('row')];
  const { page } = await openAs(t, site, '/users');
  await page.getByRole('button', { name: 'Invite', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'Invite users' });
  const field = dialog.getByLabel('Email addresses');
  await field.fill(`Ada Lovelace <${first}>\nnonsense\n\n${second}\n${ADMIN.email}`);
  await dialog.getByLabel('Roles').first().fill('rea');
  await page.getByRole('option', { name: /^Reader/ }).click();
  await page.keyboard.press('Tab');
  await dialog.getByLabel('The link works for').selectOption({ label: '3 days' });
  await assertAccessible(page, 'the dialog');
  await dialog.getByRole('button', { name: 'Invite 4 people' }).click();
  await dialog.getByText('2 people are invited. 2 rows were refused.').waitFor();
  const rows = dialog.getByRole('list', { name: 'What became of each row' }).getByRole('listitem');
  assert.deepEqual(
    (await rows.allTextContents()).map((text) => text.startsWith('Invited')),
    [true, false, true, false],
  );
  await assertAccessible(page, 'the verdicts');
  const [stored] = await service.sql(
    `select first_name, last_name, invitation_hours,
       (select count(*)::int from user_roles where user_id = u.id) as roles
     from users u where email = $1 and invited_at is not null`,
    [first],
  );
  assert.deepEqual(stored, { first_name: 'Ada', last_name: 'Lovelace', invitation_hours: 72, roles: 1 });
  await linkTo(service, second, 'invitation');
  await dialog.getByRole('button', { name: 'Correct the refused rows' }).click();
  assert.equal(await field.inputValue(), `nonsense\n${ADMIN.email}`);
});

test('the pane of an invited user sends the invitation again and withdraws it', async (t) => {
  const { id, email } = await invite({ first_name: 'Grace', last_name: 'Hopper' });
  const { page } = await openAs(t, site, `/users?user=${id}`);
  const pane = page.getByRole('complementary', { name: 'Grace Hopper' });
  await pane.getByText('Invited', { exact: true }).waitFor();
  await pane.getByText('Expires', { exact: true }).waitFor();
  assert.equal(await pane.getByRole('button', { name: 'Resend verification' }).count(), 0);
  await pane.getByRole('button', { name: 'Send the invitation again' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Send the invitation again' }).click();
  await page.getByText('The mail to Grace Hopper is on its way.').waitFor();
  await linkTo(service, email, 'invitation', 1);
  await assertAccessible(page, 'the pane');
  await pane.getByRole('button', { name: 'Withdraw the invitation' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Withdraw the invitation' }).click();
  await page.getByText('The invitation of Grace Hopper is withdrawn.').waitFor();
  assert.deepEqual(await service.sql('select from users where id = $1', [id]), []);
  assert.equal(await pane.count(), 0);
});

test('an invitation that ended is told from one that is open, and found by the filters', async (t) => {
  const { id } = await invite({ first_name: 'Late', last_name: 'Comer' });
  await service.sql("update users set invitation_expires_at = now() - interval '1 day' where id = $1", [id]);
  const { page } = await openAs(t, site, '/overview');
  await page.getByRole('link', { name: /ended unanswered/ }).click();
  await page.getByText('Invitation ended unanswered').first().waitFor();
  await page.getByRole('button', { name: 'Late Comer' }).first().click();
  const pane = page.getByRole('complementary', { name: 'Late Comer' });
  await pane.getByText('The invitation ended unanswered.').waitFor();
  await page.goto('/users');
  await page.getByLabel('Status').selectOption('invited');
  await page.waitForURL(/invited=true/);
  await page.getByText('Late Comer').first().waitFor();
});

test('the person enters a name and a password, and is signed in', async (t) => {
  const { email, path } = await invite();
  const page = await visit(t, ['status of 400']);
  await page.goto(path);
  const password = page.getByLabel('Password', { exact: true });
  await password.waitFor();
  assert.equal(new URL(page.url()).hash, '');
  assert.equal(await page.getByLabel('Email address').inputValue(), email);
  await page.getByText('12 characters or more').waitFor();
  await assertPageAccessible(page, 'the page of an invitation');
  await page.getByLabel('First name').fill('Ada');
  await password.fill('short');
  await page.getByRole('button', { name: 'Accept and sign in' }).click();
  await page.getByText('does not meet the password policy').waitFor();
  await password.fill(NEW_PASSWORD);
  await page.keyboard.press('Enter');
  await page.waitForURL('**/overview');
  const [stored] = await service.sql('select first_name, verified, invited_at from users where email = $1', [
    email,
  ]);
  assert.deepEqual(stored, { first_name: 'Ada', verified: true, invited_at: null });
});

test('links that no longer work are explained', async (t) => {
  const used = await invite({ first_name: 'Ada', last_name: 'Lovelace' });
  const token = used.path.split('=')[1];
  const accepted = await service
    .client()
    .post('/api/v1/auth/accept-invitation', { token, password: NEW_PASSWORD });
  assert.equal(accepted.status, 200, accepted.text);
  const page = await visit(t);
  await page.goto(used.path);
  await page.getByText('You have accepted this invitation before.').waitFor();
  await page.goto('/invitation#token=nonsense');
  await heading(page).getByText('This link does not work').waitFor();
  await page.getByText('was withdrawn').waitFor();
  await page.getByRole('link', { name: 'Request a new link' }).click();
  await page.waitForURL('**/forgot');
  await page.goto('/invitation');
  await page.getByText('Open this page with the link in our mail.').waitFor();
});
