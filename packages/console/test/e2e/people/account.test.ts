// One's own account: names, password, sessions, and a password that must be changed first.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createVerifiedUser, PASSWORD } from '@castellan/testing/harness';
import { assertAccessible } from '../../accessibility.ts';
import { assertFocusIn, heading, openAs, startConsole } from '../../harness.ts';

const NEW_PASSWORD = 'ReplacementPassword!42';
const site = await startConsole({ after });
const { service } = site;

async function newPerson(): Promise<{ id: string; email: string; password: string }> {
  const { id, email } = await createVerifiedUser(service);
  return { id, email, password: PASSWORD };
}

test('names can be changed, email and roles say who can change them', async (t) => {
  const as = await newPerson();
  const { page } = await openAs(t, site, '/account', { as });
  const save = page.getByRole('button', { name: 'Save' });
  await save.waitFor();
  assert.equal(await save.isDisabled(), true, 'nothing is changed yet');
  await page.getByRole('button', { name: 'Change the email address' }).waitFor();
  await page.getByLabel('First name').fill('Grace');
  await save.click();
  await page.getByText('Your names are saved.').waitFor();
  const [row] = await service.sql<{ first_name: string }>('select first_name from users where id = $1', [
    as.id,
  ]);
  assert.equal(row?.first_name, 'Grace');
  await page.getByRole('button', { name: /^Account of Grace/ }).waitFor();
});

test('names that somebody else has changed are shown beside what was typed', async (t) => {
  const as = await newPerson();
  const { page } = await openAs(t, site, '/account', { as, expected: ['412'] });
  await page.getByLabel('First name').fill('Mine');
  await service.sql("update users set first_name = 'Theirs', last_name = 'Untouched' where id = $1", [as.id]);
  await page.getByRole('button', { name: 'Save' }).click();
  const dialog = page.getByRole('dialog', { name: 'This has changed' });
  await dialog.getByLabel('Stored now: Theirs').waitFor();
  assert.equal(await dialog.getByLabel('Yours: Mine').isChecked(), true);
  await dialog.getByRole('button', { name: 'Save this choice' }).click();
  await page.getByText('Your names are saved.').waitFor();
  const [row] = await service.sql<{ first_name: string; last_name: string }>(
    'select first_name, last_name from users where id = $1',
    [as.id],
  );
  assert.deepEqual(row, { first_name: 'Mine', last_name: 'Untouched' });
});

test('a new password marks the rules that it breaks, then ends the other sessions', async (t) => {
  const as = await newPerson();
  const other = service.client();
  await other.login(as);
  const { page } = await openAs(t, site, '/account', { as, expected: ['400'] });
  const next = page.getByRole('textbox', { name: 'New password' });
  await page.getByLabel('Current password').fill('Wrong!Passw0rd-here');
  await next.fill(NEW_PASSWORD);
  const submit = page.getByRole('button', { name: 'Change the password' });
  await submit.click();
  const current = page.getByRole('textbox', { name: 'Current password' });
  await current.and(page.locator('[aria-invalid="true"]:focus')).waitFor();
  await page.getByText('The current password is wrong.').waitFor();
  assert.equal(await page.getByRole('alert').count(), 0, 'it is said once');
  assert.equal(await next.inputValue(), NEW_PASSWORD, 'what was typed stays');
  await page.getByLabel('Current password').fill(as.password);
  await next.fill(as.password);
  await submit.click();
  await page.locator('.checklist [data-state="broken"]').getByText('not used here before').waitFor();
  await next.fill(NEW_PASSWORD);
  await submit.click();
  await page.getByText('Your password is changed. All other sessions were ended.').waitFor();
  await assertFocusIn(page, 'form');
  assert.equal((await other.get('/api/v1/users/me')).status, 401, 'the other session has ended');
  assert.equal((await service.client().login({ ...as, password: NEW_PASSWORD })).status, 200);
  await page.reload();
  await heading(page).getByText('My account').waitFor();
});

test('the focus stays in the list when a session ends', async (t) => {
  const as = await newPerson();
  for (let number = 0; number < 2; number += 1) await service.client().login(as);
  const { page } = await openAs(t, site, '/account', { as });
  const list = page.getByRole('region', { name: 'My sessions' });
  await list.getByRole('button', { name: /^2 sessions: / }).click();
  const end = list.getByRole('button', { name: /^End the session/ });
  await end.nth(2).waitFor();
  await end.nth(2).press('Enter');
  await end.nth(2).waitFor({ state: 'detached' });
  await assertFocusIn(page, '.session-list');
  await end.nth(1).press('Enter');
  await end.nth(1).waitFor({ state: 'detached' });
  await assertFocusIn(page, '.session-end');
});

test('the sessions of another device end together, this one stays', async (t) => {
  const as = await newPerson();
  const others = [service.client(), service.client()];
  for (const other of others) await other.login(as);
  const { page } = await openAs(t, site, '/account', { as });
  await page.getByRole('button', { name: /^End all: 2 sessions, / }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'End 2 sessions' }).click();
  await page.getByText('2 sessions have ended.').waitFor();
  for (const other of others) assert.equal((await other.get('/api/v1/users/me')).status, 401);
  await page.getByText('You are signed in only here.').waitFor();
  assert.equal(new URL(page.url()).pathname, '/account');
});

test('all other sessions end with one click, this one stays', async (t) => {
  const as = await newPerson();
  await service.client().login(as);
  await service.client().login(as);
  const { page } = await openAs(t, site, '/account', { as });
  // More than the service allows, as an operator without a limit has them.
  await service.sql(
    `insert into sessions select (jsonb_populate_record(s, jsonb_build_object('id', gen_random_uuid()))).*
     from sessions s, generate_series(1, 60) where s.id = (select id from sessions where user_id = $1 limit 1)`,
    [as.id],
  );
  await page.reload();
  await page.getByText('50 of 63').waitFor();
  await page.getByRole('button', { name: 'Load more' }).click();
  await page.getByRole('button', { name: 'Load more' }).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: /^End \d+ other sessions?$/ }).click();
  await page
    .getByRole('dialog', { name: 'End all other sessions?' })
    .getByRole('button', { name: 'End', exact: true })
    .click();
  await page.getByText('You are signed in only here.').waitFor();
  await page.reload();
  await page.getByText('You are signed in only here.').waitFor();
});

test('a password that must be changed comes before everything else', async (t) => {
  const as = await newPerson();
  await service.sql('update users set must_change_password = true where id = $1', [as.id]);
  const { page } = await openAs(t, site, '/reference', { as });
  await page.getByRole('heading', { name: 'Choose a new password first' }).waitFor();
  assert.equal(new URL(page.url()).pathname, '/account');
  assert.equal(await page.getByRole('heading', { name: 'My sessions' }).count(), 0);
  await page.getByLabel('Current password').fill(as.password);
  await page.getByRole('textbox', { name: 'New password' }).fill(NEW_PASSWORD);
  await page.getByRole('textbox', { name: 'New password' }).press('Enter');
  await page.getByRole('heading', { name: 'My sessions' }).waitFor();
  await assertFocusIn(page, 'h1');
});

test('signing out everywhere asks first and leads to the sign-in page', async (t) => {
  const as = await newPerson();
  const { page } = await openAs(t, site, '/account', { as });
  await page.getByRole('button', { name: 'Sign out everywhere' }).click();
  const dialog = page.getByRole('dialog', { name: 'Sign out everywhere' });
  await assertAccessible(page, 'the question');
  await dialog.getByRole('button', { name: 'Sign out everywhere' }).click();
  await page.waitForURL('**/login**');
});
