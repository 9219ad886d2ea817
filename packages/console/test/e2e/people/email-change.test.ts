// One's own email address: the dialog in My account, and the pages of both links.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { linkTo, mailsTo, requestEmailChange } from '@castellan/testing/accounts/self-service';
import { nextVisit } from '@castellan/testing/e2e/browser';
import {
  createVerifiedUser,
  eventually,
  type Hooks,
  newEmail,
  PASSWORD,
  signIn,
} from '@castellan/testing/harness';
import { addPerson } from '@castellan/testing/users/people';
import type { Page } from 'playwright-core';
import { assertAccessible, assertPageAccessible } from '../../accessibility.ts';
import { heading, openAs, startConsole } from '../../harness.ts';

const site = await startConsole({ after });
const { service } = site;

async function newPerson(): Promise<{ id: string; email: string; password: string }> {
  const { id, email } = await createVerifiedUser(service);
  return { id, email, password: PASSWORD };
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

test('a person asks for a new address with a proof, confirms it by its link, and takes the account back', async (t) => {
  const as = await newPerson();
  const to = newEmail('new');
  const { page } = await openAs(t, site, '/account', { as, expected: ['status of 403', 'status of 401'] });
  // The sign-in is too old for a proof.
  await service.sql(`update sessions set created_at = created_at - interval '1 day' where user_id = $1`, [
    as.id,
  ]);
  await page.getByRole('button', { name: 'Change the email address' }).click();
  const dialog = page.getByRole('dialog', { name: 'Change the email address' });
  const field = dialog.getByLabel('New email address');
  const send = dialog.getByRole('button', { name: 'Send the link' });
  await field.fill(as.email.toUpperCase());
  assert.equal(await send.isDisabled(), true, 'it is the present one');
  await field.fill(to);
  await assertAccessible(page, 'the dialog');
  await send.click();
  const proof = page.getByRole('dialog', { name: 'Confirm that it is you' });
  await proof.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
  await page.keyboard.press('Enter');
  await dialog.getByText('a mail with a link is on its way').waitFor();
  await dialog.getByRole('button', { name: 'Close' }).last().click();

  const visitor = await visit(t);
  await visitor.goto(`/confirm-email#token=${await linkTo(service, to, 'email_change')}`);
  await visitor.getByText(`From now on, you sign in with ${to}.`).waitFor();
  assert.equal(new URL(visitor.url()).hash, '');
  await assertPageAccessible(visitor, 'the page of a new address');
  await visitor.getByRole('button', { name: 'Confirm the address' }).click();
  await heading(visitor).getByText('Your email address is changed').waitFor();
  await page.reload();
  await page.getByText(to, { exact: true }).first().waitFor();

  await visitor.goto(`/undo-email#token=${await linkTo(service, as.email, 'email_changed')}`);
  await visitor.getByText(`This makes ${as.email} the address of your account again.`).waitFor();
  await assertPageAccessible(visitor, 'the page that undoes it');
  await visitor.getByRole('button', { name: 'Undo the change' }).click();
  await heading(visitor).getByText('Your former address is back').waitFor();
  await eventually(() => mailsTo(service, as.email, 'password_reset')[0], 'the reset mail');
  await page.reload();
  await page.waitForURL('**/login**');
});

test('links that no longer work are explained', async (t) => {
  const { email, password } = await newPerson();
  const client = await signIn(service, { email, password });
  const to = newEmail('new');
  const used = await requestEmailChange(service, client, to);
  await service.client().post('/api/v1/auth/confirm-email-change', { token: used });
  const undo = await linkTo(service, email, 'email_changed');
  const page = await visit(t, ['status of 409']);
  await page.goto(`/confirm-email#token=${used}`);
  await page.getByText('It was confirmed before.').waitFor();
  for (const path of ['/confirm-email', '/undo-email']) {
    await page.goto(`${path}#token=nonsense`);
    await heading(page).getByText('This link does not work').waitFor();
    await page.goto(path);
    await page.getByText('Open this page with the link in our mail.').waitFor();
  }
  await addPerson(service, { email });
  await page.goto(`/undo-email#token=${undo}`);
  await page.getByRole('button', { name: 'Undo the change' }).click();
  await page.getByText('Another account has this address now.').waitFor();
});
