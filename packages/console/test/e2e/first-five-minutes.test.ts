// The first five minutes: an administrator on an empty service, the colleague whom they invite, and somebody who registers.
// Each part goes on from the one before.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { newVisit } from '@castellan/testing/e2e/browser';
import { ADMIN, PASSWORD } from '@castellan/testing/harness';
import type { Page } from 'playwright-core';
import { heading, startConsole } from '../harness.ts';

const site = await startConsole({ after });
const { service, browser } = site;

const MARA = { email: 'mara@example.com', name: 'Mara Klein', password: 'Replacement#Quartz82' };
const OTTO = { email: 'otto@example.com', name: 'Otto Lang' };

/** Opens the address of the service as somebody new, whose pages must complain about nothing. */
async function arrive(): Promise<{ page: Page; leave: () => Promise<void> }> {
  const { page, complaints, foreign } = await newVisit(browser, { locale: 'en-US' });
  page.setDefaultTimeout(20_000);
  await page.goto('/');
  await page.waitForURL('**/login');
  return {
    page,
    leave: async () => {
      await page.context().close();
      assert.deepEqual({ complaints, foreign }, { complaints: [], foreign: [] });
    },
  };
}

/** Types where the focus is: the page begins in its first field. */
async function signIn(page: Page, email: string, password: string): Promise<void> {
  await page.getByLabel('Email address').and(page.locator(':focus')).fill(email);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.keyboard.press('Enter');
}

const open = (page: Page, name: string) =>
  page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name, exact: true }).click();

async function create(page: Page, what: string) {
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByRole('menuitem', { name: what }).click();
  return page.getByRole('dialog', { name: what });
}

/** Creates the role Support with a permission that is created on the way and with one of the service. */
async function createRole(page: Page): Promise<void> {
  await open(page, 'Permission matrix');
  const role = await create(page, 'New role');
  await role.getByLabel(/^Name/).fill('Support');
  await page.keyboard.press('Enter');
  await role.waitFor({ state: 'detached' });
  await page.getByRole('link', { name: 'Support', exact: true }).and(page.locator(':focus')).waitFor();

  const permission = await create(page, 'New permission');
  await permission.getByLabel('Permission group').selectOption('New group…');
  await permission.getByLabel('Name of the group').fill('tickets');
  await permission.getByLabel('Action').fill('reply');
  await permission.getByText('The permission will be called tickets.reply.').waitFor();
  await page.keyboard.press('Enter');
  await permission.waitFor({ state: 'detached' });
  // The new permission has the focus in the column of the new role.
  const cell = page.getByRole('checkbox', { name: 'Support: tickets.reply', exact: true });
  await cell.and(page.locator(':focus')).waitFor();
  await page.keyboard.press('Space');
  await page.getByRole('checkbox', { name: 'Support: user.read', exact: true }).click();
  await page.getByRole('button', { name: 'Review and save…' }).click();
  const review = page.getByRole('dialog', { name: 'Review and save' });
  await review.getByText('tickets.reply').waitFor();
  await review.getByRole('button', { name: 'Save changes' }).click();
  await page.getByText('2 changes were saved.').waitFor();
}

/** Returns the password that the page shows. */
async function invite(page: Page): Promise<string> {
  await open(page, 'Overview');
  await page.locator('.checklist').getByText('2 of 4 done').waitFor();
  await page.getByRole('link', { name: 'Invite a colleague' }).click();
  await page.getByLabel('Email').fill(MARA.email);
  await page.getByLabel('First name').fill('Mara');
  await page.getByLabel('Last name').fill('Klein');
  await page.getByLabel('Roles').first().fill('supp');
  await page.getByRole('option', { name: /^Support/ }).click();
  await page.getByRole('heading', { name: '2 resulting permissions' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Create user' }).click();
  const created = page.getByRole('region', { name: `${MARA.name} was created` });
  await created.getByRole('heading').and(page.locator(':focus')).waitFor();
  await created.getByText('http://castellan.test/login').waitFor();
  await created.getByText(MARA.email).waitFor();
  assert.deepEqual(
    service.mails().filter(({ to }) => to === MARA.email),
    [],
    'no mail is sent, as the page says',
  );
  return created.getByLabel('Password').inputValue();
}

/** Sees why the colleague may do one thing and may not do another. */
async function explain(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Open the user' }).click();
  await page.getByRole('tab', { name: 'Access' }).click();
  await page.getByRole('link', { name: 'tickets.reply' }).click();
  await page.getByText(`Yes, ${MARA.name} has tickets.reply`).waitFor();
  await page.getByRole('main').getByRole('link', { name: 'Support' }).first().waitFor();
  const permission = page.getByRole('combobox', { name: 'Permission' });
  await permission.fill('users.delete');
  await page.getByRole('option', { name: /^users\.delete/ }).click();
  await page.getByText(`No, ${MARA.name} does not have users.delete`).waitFor();
  await page.getByText('None of their roles grants it.').waitFor();
}

/** Takes the role away and finds all of it in the audit log. */
async function takeAway(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Open this person' }).click();
  await page.getByRole('tab', { name: 'Access' }).click();
  await page.getByRole('button', { name: 'Remove the role Support' }).click();
  const dialog = page.getByRole('dialog', { name: `Remove Support from ${MARA.name}?` });
  await dialog.getByText('1 loses tickets.reply').waitFor();
  await dialog.getByRole('button', { name: 'Remove', exact: true }).click();
  await page.getByText(`Support was removed from ${MARA.name}.`).waitFor();
  await page.getByText('No roles yet.').waitFor();

  await open(page, 'Audit log');
  for (const action of ['user_roles_changed', 'user_created', 'permission_created', 'role_created'])
    await page.getByRole('main').getByText(action, { exact: true }).first().waitFor();
}

async function changeFirstPassword(page: Page, first: string): Promise<void> {
  await signIn(page, MARA.email, first);
  await page.getByRole('heading', { name: 'Choose a new password first' }).waitFor();
  await page.getByLabel('Current password').fill(first);
  await page.getByRole('textbox', { name: 'New password' }).fill(MARA.password);
  await page.keyboard.press('Enter');
  await page.getByText('Your password is changed.').waitFor();
  await page.getByRole('heading', { name: 'My sessions' }).waitFor();
  await page.getByText('This session').waitFor();
  await page.getByRole('link', { name: 'tickets.reply' }).waitFor();
}

async function register(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Create an account' }).click();
  await page.getByLabel('First name').fill('Otto');
  await page.getByLabel('Last name').fill('Lang');
  await page.getByLabel('Email address').fill(OTTO.email);
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
  await page.keyboard.press('Enter');
  await page.getByText(`We sent a mail to ${OTTO.email}`).waitFor();
  const mail = await service.mailTo(OTTO.email);
  await page.goto(/http:\/\/castellan\.test\/\S+#token=[\w-]+/.exec(mail.text)?.[0] ?? '');
  await page.getByRole('main').getByRole('button').first().click();
  await heading(page).getByText('Your email address is confirmed').waitFor();
  await page.getByRole('link', { name: 'Go to sign-in' }).click();
  await signIn(page, OTTO.email, PASSWORD);
  await heading(page).getByText('My account').waitFor();
}

test('an administrator, a colleague and a newcomer get to work on an empty service', async () => {
  const admin = await arrive();
  await signIn(admin.page, ADMIN.email, ADMIN.password);
  await admin.page.locator('.checklist').getByText('0 of 4 done').waitFor();
  await createRole(admin.page);
  const first = await invite(admin.page);
  await explain(admin.page);

  const colleague = await arrive();
  await changeFirstPassword(colleague.page, first);

  await takeAway(admin.page);
  await colleague.page.reload();
  await colleague.page.getByText('No permissions', { exact: true }).waitFor();

  const newcomer = await arrive();
  await register(newcomer.page);

  await admin.page.goto('/users');
  await admin.page.getByText(OTTO.email).waitFor();
  for (const { leave } of [admin, colleague, newcomer]) await leave();
});
