// The list of users and the pane of one user.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { ADMIN, eventually } from '@castellan/testing/harness';
import { addPerson, addRole, type Person } from '@castellan/testing/users/people';
import type { Page } from 'playwright-core';
import { assertAccessible } from '../../accessibility.ts';
import { assertFocusIn, heading, openAs, startConsole } from '../../harness.ts';

const site = await startConsole({ after });
const { service } = site;
const find = (email: string) =>
  service.sql<{ id: string; is_active: boolean; last_name: string; version: number }>(
    'select id, is_active, last_name, version from users where email = $1',
    [email],
  );

let grace: Person;
let editor: string;
let reader: Person;

before(async () => {
  editor = await addRole(service, 'role.read', 'permission.read');
  await service.sql('update roles set name = $2 where id = $1', [editor, 'Editor']);
  grace = await addPerson(service, { firstName: 'Grace', lastName: 'Hopper', email: 'grace@example.com' });
  reader = await addPerson(service, {
    email: 'reader@example.com',
    roles: [await addRole(service, 'user.read')],
  });
  for (let number = 0; number < 60; number += 1)
    await addPerson(service, { firstName: 'Nils', lastName: `Extra ${number}`, active: number % 5 !== 0 });
});

const rows = (page: Page) => page.getByRole('table', { name: 'Users' }).locator('tbody tr');
const pane = (page: Page, name: string) => page.getByRole('complementary', { name });
const dialog = (page: Page) => page.getByRole('dialog');

test('search, filter, sort and page are in the address, and Back restores them', async (t) => {
  const { page } = await openAs(t, site, '/users?size=25');
  await rows(page).nth(24).waitFor();
  await page.getByRole('button', { name: 'Next page' }).click();
  await page.waitForURL('**page=2**');
  await page.getByRole('searchbox', { name: 'Name, email or ID' }).fill(grace.id);
  await page.waitForURL((url) => url.searchParams.get('q') === grace.id && !url.searchParams.has('page'));
  await rows(page).filter({ hasText: 'Grace Hopper' }).waitFor();
  assert.equal(await rows(page).count(), 1);
  await rows(page).getByRole('button', { name: /Grace/ }).first().click();
  await pane(page, 'Grace Hopper').waitFor();
  await page.goBack();
  await pane(page, 'Grace Hopper').waitFor({ state: 'detached' });
  await page.getByRole('searchbox').fill('nobody at all');
  await page.getByText('Nothing matches these filters.').waitFor();
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await page.getByRole('combobox', { name: 'Status' }).selectOption('inactive');
  await page.waitForURL('**status=inactive**');
  await rows(page).filter({ hasText: 'Inactive' }).nth(11).waitFor();
  assert.equal(await rows(page).count(), 12);
});

test('filters of links show as chips that can be removed', async (t) => {
  const { page } = await openAs(t, site, '/users?is_active=false&roles=none');
  await page.getByRole('button', { name: /Without roles/ }).click();
  await page.getByRole('button', { name: /Deactivated accounts/ }).click();
  await page.waitForURL((url) => url.search === '');
});

test('j and k move, arrows move beside the pane, and one Escape closes one layer', async (t) => {
  const { page } = await openAs(t, site, '/users?q=Extra%201&sort=last_name');
  await rows(page).nth(2).waitFor();
  // The addresses of some of these people also contain a 1: which ones depends on the process.
  const shown = await rows(page).allTextContents();
  const [first = '', second = '', third = ''] = shown.map((text) => /^Nils Extra \d+/.exec(text)?.[0] ?? '');
  await heading(page).focus();
  await page.keyboard.press('j');
  await pane(page, first).waitFor();
  await page.keyboard.press('j');
  await pane(page, second).waitFor();
  await page.keyboard.press('ArrowDown');
  await pane(page, third).waitFor();
  await page.keyboard.press('k');
  await pane(page, second).waitFor();
  await page
    .getByRole('button', { name: 'Deactivate', exact: true })
    .or(page.getByRole('button', { name: 'Activate', exact: true }))
    .click();
  await dialog(page).waitFor();
  await page.keyboard.press('Escape');
  await dialog(page).waitFor({ state: 'detached' });
  await pane(page, second).waitFor();
  await page.keyboard.press('Escape');
  await pane(page, second).waitFor({ state: 'detached' });
});

test('a change by somebody else shows both values, and the person chooses', async (t) => {
  const { page } = await openAs(t, site, `/users?user=${grace.id}`, { expected: ['412'] });
  const form = pane(page, 'Grace Hopper');
  await form.getByLabel('Last name').fill('Mine');
  await service.sql(`update users set first_name = 'Their', version = version + 1 where id = $1`, [grace.id]);
  await form.getByRole('button', { name: 'Save' }).click();
  const conflict = page.getByRole('dialog', { name: 'This has changed' });
  assert.equal(await conflict.getByLabel('Stored now: Their').isChecked(), true);
  assert.equal(await conflict.getByLabel('Yours: Mine').isChecked(), true);
  assert.equal((await find(grace.email))[0]?.last_name, 'Hopper');
  await conflict.getByRole('button', { name: 'Save this choice' }).click();
  await page.getByText('Saved.').waitFor();
  const [stored] = await service.sql('select first_name, last_name from users where id = $1', [grace.id]);
  assert.deepEqual(stored, { first_name: 'Their', last_name: 'Mine' });
  await service.sql(
    `update users set first_name = 'Grace', last_name = 'Hopper', version = version + 1 where id = $1`,
    [grace.id],
  );
});

test('an act on a user whom somebody else has changed shows what is stored now, and asks again', async (t) => {
  const { page } = await openAs(t, site, `/users?user=${grace.id}`, { expected: ['412'] });
  await pane(page, 'Grace Hopper').getByRole('button', { name: 'Deactivate' }).click();
  const confirm = dialog(page).getByRole('button', { name: 'Deactivate' });
  await dialog(page).getByText('permission', { exact: false }).first().waitFor();
  await service.sql(`update users set first_name = 'Their', version = version + 1 where id = $1`, [grace.id]);
  await confirm.click();
  const changed = dialog(page).getByRole('alert', { name: 'This record has changed' });
  await changed.getByText('Stored now: Their').waitFor();
  await changed.getByText('You saw: Grace').waitFor();
  assert.equal((await find(grace.email))[0]?.is_active, true);
  await confirm.click();
  await page.getByText('is deactivated.').waitFor();
  assert.equal((await find(grace.email))[0]?.is_active, false);
  // An undo does not take back what somebody else has done since.
  await service.sql(`update users set first_name = 'Grace', version = version + 1 where id = $1`, [grace.id]);
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText('Somebody else has changed this since. Nothing was undone.').waitFor();
  await service.sql(`update users set is_active = true, version = version + 1 where id = $1`, [grace.id]);
});

test('a password for a user who has changed since is refused in the language of the person', async (t) => {
  const { page } = await openAs(t, site, `/users?user=${grace.id}`, {
    expected: ['412'],
    context: { locale: 'de-DE' },
  });
  await page.getByRole('button', { name: 'Passwort setzen' }).click();
  const submit = dialog(page).getByRole('button', { name: 'Passwort setzen' });
  await submit.and(page.locator(':enabled')).waitFor();
  const [before] = await service.sql('select password_hash from users where id = $1', [grace.id]);
  await service.sql(`update users set email = 'her@example.com', version = version + 1 where id = $1`, [
    grace.id,
  ]);
  await submit.click();
  await dialog(page).getByText('Jetzt gespeichert: her@example.com').waitFor();
  await dialog(page).getByText('Von Ihnen wurde nichts gespeichert.').waitFor();
  assert.equal(await dialog(page).getByText('Read it again').count(), 0);
  assert.deepEqual(await service.sql('select password_hash from users where id = $1', [grace.id]), [before]);
  await service.sql('update users set email = $2, version = version + 1 where id = $1', [
    grace.id,
    grace.email,
  ]);
});

test('a deletion that fails after the roles are removed says so and gives them back', async (t) => {
  const doomed = await addPerson(service, { firstName: 'Hal', lastName: 'Half', roles: [editor] });
  const { page } = await openAs(t, site, `/users?user=${doomed.id}`, { expected: ['503'] });
  await page.route(
    (url) => url.pathname === `/api/v1/users/${doomed.id}` && url.search === '',
    (route) =>
      route.request().method() === 'DELETE'
        ? route.fulfill({ status: 503, json: { status: 503, code: 'unavailable', message: 'Later.' } })
        : route.continue(),
  );
  await pane(page, 'Hal Half').getByRole('button', { name: 'Delete' }).click();
  await dialog(page).getByRole('button', { name: 'Remove them and delete' }).click();
  await dialog(page).getByText('The account was not deleted, but its role is removed:').waitFor();
  const rolesOf = () => service.sql('select role_id from user_roles where user_id = $1', [doomed.id]);
  assert.deepEqual(await rolesOf(), []);
  await dialog(page).getByRole('button', { name: 'Give the roles back' }).click();
  await page.getByText('Hal Half has the roles again.').waitFor();
  assert.deepEqual(await rolesOf(), [{ role_id: editor }]);
  await service.sql('delete from user_roles where user_id = $1', [doomed.id]);
});

test('an error of a field stands at the field, and what was typed stays', async (t) => {
  const { page } = await openAs(t, site, `/users?user=${grace.id}`, { expected: ['400', '409'] });
  const form = pane(page, 'Grace Hopper');
  await form.getByLabel('First name').fill('<b>');
  await form.getByRole('button', { name: 'Save' }).click();
  await form.locator('[aria-invalid="true"]').waitFor();
  assert.equal(await form.getByLabel('First name').inputValue(), '<b>');
  await form.getByLabel('First name').fill('Grace');
  const email = form.getByRole('textbox', { name: 'Email' });
  await email.fill(ADMIN.email);
  await form.getByRole('button', { name: 'Save' }).click();
  await email.and(page.locator('[aria-invalid="true"]:focus')).waitFor();
  await form.getByText('belongs to another account').waitFor();
});

test('a role is assigned after its impact is shown, and Undo takes it back', async (t) => {
  const { page } = await openAs(t, site, `/users?user=${grace.id}&tab=access`);
  await page.getByRole('button', { name: 'Assign roles' }).click();
  await dialog(page)
    .getByRole('combobox', { name: 'Roles' })
    .or(dialog(page).getByLabel('Roles'))
    .first()
    .fill('Edit');
  await page.getByRole('option', { name: /^Editor/ }).click();
  await dialog(page).getByText('1 gains role.read').waitFor();
  await dialog(page).getByRole('button', { name: 'Assign roles' }).click();
  await page.getByRole('button', { name: 'Remove the role Editor' }).waitFor();
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText('No roles yet.').waitFor();
});

test('deactivating shows the impact and can be undone', async (t) => {
  const { page } = await openAs(t, site, `/users?user=${grace.id}`);
  await pane(page, 'Grace Hopper').getByRole('button', { name: 'Deactivate' }).click();
  await dialog(page).getByText('lose', { exact: false }).first().waitFor();
  const confirm = dialog(page).getByRole('button', { name: 'Deactivate' });
  await confirm.click();
  await pane(page, 'Grace Hopper').getByText('Inactive').waitFor();
  assert.equal((await find(grace.email))[0]?.is_active, false);
  await page.getByRole('button', { name: 'Undo' }).click();
  await pane(page, 'Grace Hopper').getByRole('button', { name: 'Deactivate' }).waitFor();
  assert.equal((await find(grace.email))[0]?.is_active, true);
});

test('undoing a removal keeps a role that somebody else has given since', async (t) => {
  const [own, other] = [await addRole(service, 'role.read'), await addRole(service, 'role.read')];
  await service.sql("update roles set name = 'Borrower' where id = $1", [own]);
  const rita = await addPerson(service, { firstName: 'Rita', lastName: 'Roles', roles: [own] });
  const { page } = await openAs(t, site, `/users?user=${rita.id}&tab=access`);
  await page.getByRole('button', { name: 'Remove the role Borrower' }).click();
  await dialog(page).getByRole('button', { name: 'Remove', exact: true }).click();
  const undo = page.getByRole('button', { name: 'Undo' });
  await undo.waitFor();
  await service.sql('insert into user_roles (user_id, role_id) values ($1, $2)', [rita.id, other]);
  await undo.click();
  await page.getByRole('button', { name: 'Remove the role Borrower' }).waitFor();
  const held = await service.sql('select role_id from user_roles where user_id = $1', [rita.id]);
  assert.equal(held.length, 2);
});

test('roles that stand in the way of a deletion are removed in the same step', async (t) => {
  const doomed = await addPerson(service, { firstName: 'Dora', lastName: 'Doomed', roles: [editor] });
  const { page } = await openAs(t, site, `/users?user=${doomed.id}`);
  await pane(page, 'Dora Doomed').getByRole('button', { name: 'Delete' }).click();
  await dialog(page).getByText('1 role stands in the way of the deletion:').waitFor();
  await dialog(page).getByRole('button', { name: 'Remove them and delete' }).click();
  await page.getByText('Dora Doomed is deleted.').waitFor();
  assert.deepEqual(await find(doomed.email), []);
});

test('the deletion of a superuser says what is lost, although roles stand in the way', async (t) => {
  const doomed = await addPerson(service, { firstName: 'Sue', lastName: 'Super', roles: [editor] });
  await service.sql('update users set is_superuser = true where id = $1', [doomed.id]);
  const { page } = await openAs(t, site, `/users?user=${doomed.id}`);
  await pane(page, 'Sue Super').getByRole('button', { name: 'Delete' }).click();
  await dialog(page).getByText('1 loses permissions').waitFor();
  await dialog(page).getByLabel('Type 1 to confirm').fill('1');
  await dialog(page).getByRole('button', { name: 'Remove them and delete' }).click();
  await page.getByText('Sue Super is deleted.').waitFor();
});

test('nobody can lock themselves out, and the reason is in reach', async (t) => {
  const [self] = await find(ADMIN.email);
  const { page } = await openAs(t, site, `/users?user=${self?.id}`);
  for (const name of [/^Deactivate/, /^Delete/, /^Remove superuser/]) {
    const button = page.getByRole('complementary').getByRole('button', { name });
    assert.equal(await button.getAttribute('aria-disabled'), 'true', String(name));
    await button.focus();
    await page
      .getByRole('tooltip', { name: /lock yourself out/ })
      .first()
      .waitFor();
    await button.press('Enter');
    assert.equal(await dialog(page).count(), 0);
  }
  const verified = page.getByRole('switch', { name: 'Email verified' });
  await verified.press('Space');
  assert.equal(await verified.isChecked(), true);
  await page
    .getByText(/lock yourself out/)
    .first()
    .waitFor();
});

test('people who are no superusers cannot take a role from themselves', async (t) => {
  const role = await addRole(service, 'users.read', 'user.read', 'user.update', 'users.update');
  const admin = await addPerson(service, { roles: [role] });
  const other = await addPerson(service, { roles: [role] });
  const { page } = await openAs(t, site, `/users?user=${admin.id}&tab=access`, { as: admin });
  const remove = page.getByRole('complementary').getByRole('button', { name: /^Remove the role/ });
  assert.equal(await remove.getAttribute('aria-disabled'), 'true');
  assert.match((await remove.getAttribute('title')) ?? '', /lock yourself out/);
  await remove.press('Enter');
  assert.equal(await dialog(page).count(), 0);
  await page.goto(`/users?user=${other.id}&tab=access`);
  await remove.press('Enter');
  await dialog(page)
    .getByText(/loses? permissions/)
    .waitFor();
});

test('who may only read sees everything read-only and nothing that fails', async (t) => {
  const { page } = await openAs(t, site, `/users?user=${grace.id}`, { as: reader });
  await pane(page, 'Grace Hopper').getByText('Read-only').waitFor();
  assert.equal(await page.locator('[data-select]').count(), 0);
  for (const tab of ['Access', 'Sessions', 'Activity']) {
    await page.getByRole('tab', { name: tab }).click();
    await page.getByText('permission', { exact: false }).first().waitFor();
  }
  await page.goto('/users/new');
  await page.getByText('users.create', { exact: false }).waitFor();
});

test('an entry of a menu that a permission is missing for is reached by the arrows, and does nothing', async (t) => {
  const { page } = await openAs(t, site, '/users', { as: reader });
  await page.getByRole('button', { name: 'Import, export' }).press('Enter');
  const entry = page.getByRole('menuitem', { name: /^Import CSV.*You need the permission users\.create\.$/ });
  await entry.waitFor();
  await page.keyboard.press('ArrowDown');
  await assertFocusIn(page, '[role="menuitem"]:not([aria-disabled])');
  await page.keyboard.press('ArrowDown');
  await assertFocusIn(page, '[role="menuitem"][aria-disabled="true"]');
  await page.keyboard.press('Enter');
  assert.equal(await dialog(page).count(), 0);
  assert.ok(await entry.isVisible());
});

test('a relative time tells the exact moment on hover and on focus', async (t) => {
  const { page } = await openAs(t, site, `/users?q=${ADMIN.email}`, {
    context: { timezoneId: 'Europe/Berlin', viewport: { width: 1440, height: 900 } },
  });
  const time = rows(page).locator('time').first();
  const tooltip = page.getByRole('tooltip', { name: /, 20\d\d, .* GMT\+\d$/ });
  await time.hover();
  await tooltip.waitFor();
  assert.equal(await time.getAttribute('aria-describedby'), await tooltip.getAttribute('id'));
  await page.keyboard.press('Escape');
  await tooltip.waitFor({ state: 'hidden' });
  await time.focus();
  await tooltip.waitFor();
  const { right, bottom } = await tooltip.evaluate((box) => box.getBoundingClientRect());
  assert.ok(right <= 1440 && bottom <= 900);
  await page.getByRole('searchbox').focus();
  await tooltip.waitFor({ state: 'hidden' });
});

test('one Escape closes the exact moment of a time, and the next one clears the selection', async (t) => {
  const { page } = await openAs(t, site, `/users?q=${ADMIN.email}`, {
    context: { viewport: { width: 1440, height: 900 } },
  });
  const selection = page.getByRole('region', { name: 'Selected users' });
  const tooltip = page.getByRole('tooltip');
  await rows(page).first().locator('[data-select]').click();
  await selection.waitFor();
  await rows(page).locator('time').first().focus();
  await tooltip.waitFor();
  await page.keyboard.press('Escape');
  await tooltip.waitFor({ state: 'hidden' });
  assert.ok(await selection.isVisible());
  await page.keyboard.press('Escape');
  await selection.waitFor({ state: 'detached' });
});

test('the exact moment of a time at the end of the window is in one line', async (t) => {
  const { page } = await openAs(t, site, `/users?q=${ADMIN.email}`, {
    context: { viewport: { width: 1440, height: 900 } },
  });
  const tooltip = page.getByRole('tooltip');
  const time = rows(page).locator('time').first();
  await time.waitFor();
  const heights = [];
  await time.evaluate((it) => it.setAttribute('style', 'position: fixed; left: 1400px'));
  for (const text of ['May 1, 2026, 1:11 AM GMT', 'November 24, 2026, 12:44 PM GMT']) {
    await time.evaluate((it, moment) => it.setAttribute('data-moment', moment), text);
    await time.focus();
    await tooltip.waitFor();
    heights.push((await tooltip.boundingBox())?.height);
    await time.blur();
  }
  assert.equal(new Set(heights).size, 1, String(heights));
});

test('without any permission the page names the one that is missing', async (t) => {
  const nobody = await addPerson(service);
  const { page } = await openAs(t, site, '/users', { as: nobody });
  await page.getByRole('heading', { name: 'You cannot open this page' }).waitFor();
  await page.getByText('user.read').waitFor();
});

test('a failing list keeps its rows and offers to try again', async (t) => {
  const { page } = await openAs(t, site, '/users', { expected: ['500', '503'] });
  await rows(page).first().waitFor();
  await page.route(/\/api\/v1\/users\?/, (route) =>
    route.fulfill({ status: 500, json: { detail: 'It broke.', code: 'internal_error', request_id: 'r-1' } }),
  );
  await page.getByRole('button', { name: 'Created' }).click();
  await page.getByRole('alert').getByText('It broke.').waitFor();
  assert.ok((await rows(page).count()) > 0);
  await page.unroute(/\/api\/v1\/users\?/);
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('alert').waitFor({ state: 'detached' });
});

test('columns are remembered, and the export has them', async (t) => {
  const { page } = await openAs(t, site, '/users?q=grace%40example');
  await rows(page).first().waitFor();
  await page.getByRole('button', { name: 'Columns' }).click();
  await page.getByRole('menuitemcheckbox', { name: 'Last active' }).click();
  await page.keyboard.press('Escape');
  await page.reload();
  await rows(page).first().waitFor();
  assert.equal(await page.getByRole('columnheader', { name: 'Last active' }).count(), 0);
  await service.sql(`update users set last_name = '=1+1' where id = $1`, [grace.id]);
  await page.getByRole('button', { name: 'Import, export' }).click();
  await page.getByRole('menuitem', { name: 'Export CSV' }).click();
  const download = page.waitForEvent('download');
  await dialog(page).getByRole('button', { name: 'Export 1' }).click();
  const text = await readFile(await (await download).path(), 'utf8');
  await service.sql(`update users set last_name = 'Hopper' where id = $1`, [grace.id]);
  assert.ok(
    text.startsWith(
      '\uFEFFid,email,first_name,last_name,status,roles,second_factor,live_sessions,created_at\r\n',
    ),
  );
  assert.match(text, /grace@example\.com,Grace,'=1\+1,active,,,0,/);
});

test('an import shows what each row does, then does it, and roles of existing users can be taken back', async (t) => {
  const { page } = await openAs(t, site, '/users');
  await page.getByRole('button', { name: 'Import, export' }).click();
  await page.getByRole('menuitem', { name: 'Import CSV' }).click();
  await dialog(page)
    .getByLabel('CSV file')
    .setInputFiles({
      name: 'people.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from(
        'email,first_name,last_name,roles\nnew@example.com,Neo,Anderson,editor\ngrace@example.com,,,Editor\nbad,X,,\n',
      ),
    });
  await dialog(page).getByText('1 new user · 1 gets roles').waitFor();
  await dialog(page).getByText('2 gain role.read').waitFor();
  await dialog(page)
    .getByText(/Neo Anderson \(new@example\.com\)/)
    .waitFor();
  assert.deepEqual(await find('new@example.com'), []);
  await dialog(page).getByRole('button', { name: 'Import 2 rows' }).click();
  await dialog(page).getByText('2 rows imported.').waitFor();
  const editors = async (): Promise<string[]> => {
    const held = await service.sql<{ email: string }>(
      'select u.email from user_roles r join users u on u.id = r.user_id where r.role_id = $1 order by 1',
      [editor],
    );
    return held.map(({ email }) => email);
  };
  assert.deepEqual(await editors(), ['grace@example.com', 'new@example.com']);
  await dialog(page).getByRole('button', { name: 'Close' }).last().click();
  await page.getByText('1 existing user has new roles.').waitFor();
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText('The roles of 1 user are as before.').waitFor();
  assert.deepEqual(await editors(), ['new@example.com'], 'a new user keeps what it was created with');
  await service.sql('delete from user_roles where role_id = $1', [editor]);
});

test('a broken file is refused with the line, and the mended one can be chosen at once', async (t) => {
  const { page } = await openAs(t, site, '/users');
  await page.getByRole('button', { name: 'Import, export' }).click();
  await page.getByRole('menuitem', { name: 'Import CSV' }).click();
  const choose = (text: string) =>
    dialog(page)
      .getByLabel('CSV file')
      .setInputFiles({ name: 'people.csv', mimeType: 'text/csv', buffer: Buffer.from(text) });
  await choose('email,first_name\n\none@example.com,"One\ntwo@example.com,Two\n');
  await dialog(page).getByText('Line 3: a quotation mark opens here and is not closed.').waitFor();
  await choose('email;first_name\r\n\r\none@example.com;One\r\nbad;x\r\n');
  const cells = dialog(page).getByRole('row').filter({ hasText: 'bad' }).getByRole('cell');
  await cells.first().waitFor();
  assert.equal(await cells.first().innerText(), '4', 'blank lines count');
  await assertAccessible(page, 'the review of an import');
});

test('names and menus of the rows have room beside long names of roles', async (t) => {
  const [{ name } = { name: '' }] = await service.sql<{ name: string }>(
    'select name from roles where id = $1',
    [editor],
  );
  await service.sql(`update roles set name = repeat('Site reliability engineer ', 4) || name where id = $1`, [
    editor,
  ]);
  await service.sql(
    `insert into user_roles (user_id, role_id) select $1::uuid, id from roles where id = $2 or name in ('Manager', 'User')
     on conflict do nothing`,
    [grace.id, editor],
  );
  const { page } = await openAs(t, site, `/users?q=${grace.id}`);
  await page.setViewportSize({ width: 1280, height: 800 });
  const row = rows(page).filter({ hasText: 'Grace Hopper' });
  const title = await row.locator('td.title').boundingBox();
  assert.ok((title?.width ?? 0) >= 190, `the name has ${title?.width} pixels`);
  const isTooWide = await page.evaluate(
    "(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)(document.querySelector('.table-card'))",
  );
  assert.equal(isTooWide, false);
  await row.getByRole('button', { name: 'Actions for Grace Hopper' }).click();
  await page.getByRole('menu').waitFor();
  await service.sql('update roles set name = $2 where id = $1', [editor, name]);
  await service.sql('delete from user_roles where user_id = $1', [grace.id]);
});

test('on a tablet, columns are left out until the table fits its card', async (t) => {
  const roleIds = await Promise.all(
    ['Site reliability engineer', 'Customer success manager', 'Platform engineer'].map(async (name) => {
      const id = await addRole(service);
      await service.sql('update roles set name = $2 || left(id::text, 4) where id = $1', [id, name]);
      return id;
    }),
  );
  const { email, id } = await addPerson(service, { roles: roleIds });
  await service.sql("update users set verified = false, first_name = 'Maximiliane-Charlotte' where id = $1", [
    id,
  ]);
  const { page } = await openAs(t, site, `/users?q=${id}`);
  const head = page.locator('.users-list thead');
  for (const [width, shown] of [
    [800, ['User', 'Status', 'Roles']],
    [1024, ['User', 'Status', 'Roles']],
    [1100, ['User', 'Status', 'Roles', 'Second factor']],
    [1200, ['User', 'Status', 'Roles', 'Second factor', 'Last active']],
    [1280, ['User', 'Status', 'Roles', 'Second factor', 'Last active', 'Created']],
    [1400, ['User', 'Status', 'Roles', 'Second factor', 'Sessions', 'Last active', 'Created']],
  ] as const) {
    await page.setViewportSize({ width, height: 800 });
    await rows(page).filter({ hasText: email }).waitFor();
    const names = await head.locator('th:visible:not(.select, .menu)').allInnerTexts();
    assert.deepEqual(
      names.map((name) => name.trim()),
      shown,
      `${width} pixels`,
    );
    const excess = await page
      .locator('.table-card')
      .evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth);
    assert.equal(excess, 0, `${width} pixels`);
  }
});

test('names of the list have room beside an open pane', async (t) => {
  const { page } = await openAs(t, site, `/users?q=${grace.id}&user=${grace.id}`);
  const title = rows(page).filter({ hasText: 'Grace Hopper' }).locator('td.title');
  for (const [width, room] of [
    [1440, 190],
    [1280, 190],
    [1100, 120],
  ] as const) {
    await page.setViewportSize({ width, height: 800 });
    const box = await title.boundingBox();
    assert.ok((box?.width ?? 0) >= room, `at ${width} pixels, the name has ${box?.width}`);
  }
});

test('on a phone, the list is sorted and all of it selected as on a wide screen', async (t) => {
  const { page } = await openAs(t, site, '/users', { context: { viewport: { width: 320, height: 640 } } });
  const cards = page.getByRole('list', { name: 'Users' }).getByRole('listitem');
  const sort = page.getByRole('combobox', { name: 'Sort by' });
  await cards.first().waitFor();
  assert.equal(await sort.inputValue(), '-created_at');
  await sort.selectOption('last_name');
  await page.waitForURL('**sort=last_name**');
  await cards.first().filter({ hasText: ADMIN.email }).waitFor();
  await page.getByRole('checkbox', { name: 'Select all rows of this page' }).check();
  await page.getByRole('button', { name: /^Select all/ }).click();
  await page.getByRole('button', { name: 'Deactivate' }).click();
  await dialog(page).getByText('Yourself').waitFor();
});

test('with forced colors, what is on and which tab is open still shows', async (t) => {
  const { page } = await openAs(t, site, `/users?user=${grace.id}`, { context: { forcedColors: 'active' } });
  const style = (selector: string, property: string) =>
    page
      .locator(selector)
      .first()
      .evaluate((element, name) => getComputedStyle(element).getPropertyValue(name), property);
  await page.getByRole('switch', { name: 'Email verified' }).waitFor();
  const tracks = ['.mantine-Switch-input:checked', '.mantine-Switch-input:not(:checked)'];
  const [on, off] = await Promise.all(
    tracks.map((input) => style(`${input} + .mantine-Switch-track`, 'background-color')),
  );
  assert.notEqual(on, off);
  assert.equal(await style('.mantine-Tabs-tab[data-active]', 'outline-style'), 'solid');
  assert.equal(await style('.mantine-Tabs-tab:not([data-active])', 'outline-style'), 'none');
});

test('the list and the pane are accessible', async (t) => {
  const { page } = await openAs(t, site, `/users?q=Extra%2010&user=${grace.id}`);
  await rows(page).first().waitFor();
  await pane(page, 'Grace Hopper').getByRole('button', { name: 'Set password' }).waitFor();
  await assertAccessible(page, 'the list and the profile');
});

test('another user, another tab or closing the pane asks before typed input is lost', async (t) => {
  const { page } = await openAs(t, site, `/users?user=${grace.id}`);
  const name = pane(page, 'Grace Hopper').getByLabel('First name');
  await name.fill('Typed');
  await pane(page, 'Grace Hopper').getByRole('tab', { name: 'Sessions' }).click();
  await dialog(page).getByRole('button', { name: 'Stay' }).click();
  assert.equal(await name.inputValue(), 'Typed');
  await rows(page).getByRole('button', { name: /Nils/ }).first().click();
  await dialog(page).getByRole('button', { name: 'Stay' }).click();
  assert.equal(await name.inputValue(), 'Typed');
  await page.keyboard.press('Escape');
  await dialog(page).getByRole('button', { name: 'Leave' }).click();
  await pane(page, 'Grace Hopper').waitFor({ state: 'detached' });
});

test('on a phone, the button that removes a role keeps its whole label beside a long description', async (t) => {
  const role = await addRole(service, 'user.read');
  await service.sql('update roles set name = $2, description = $3 where id = $1', [
    role,
    'Software developer of the platform',
    'Builds features, reviews what others build, and looks after the machines at night',
  ]);
  const person = await addPerson(service, { roles: [role] });
  const { page } = await openAs(t, site, `/users?user=${person.id}&tab=access`, {
    context: { viewport: { width: 390, height: 844 } },
  });
  const label = page.locator('.role-list button').first().locator('.mantine-Button-label');
  await label.waitFor();
  assert.ok(await label.evaluate((element) => element.scrollWidth <= element.clientWidth));
});

test('what is stored beside what was typed is never the value that the form began with', async (t) => {
  const person = await addPerson(service, { firstName: 'Ada', lastName: 'Byron' });
  const { page } = await openAs(t, site, `/users?user=${person.id}`, { expected: ['412'] });
  const lastName = page.getByRole('textbox', { name: 'Last name' });
  await lastName.fill('Typed');
  await page.waitForLoadState('networkidle');
  await service.sql("update users set last_name = 'Lovelace', version = version + 1 where id = $1", [
    person.id,
  ]);
  const held = Promise.withResolvers<void>();
  await page.route(`**/api/v1/users/${person.id}`, async (route) => {
    if (route.request().method() === 'GET') await held.promise;
    await route.continue();
  });
  const read = page.waitForRequest(
    (request) => request.method() === 'GET' && request.url().endsWith(`/api/v1/users/${person.id}`),
  );
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await read;
  await page.getByRole('alert').waitFor();
  assert.equal(await page.getByText('Stored now: Byron').count(), 0);
  held.resolve();
  await page.getByLabel('Stored now: Lovelace').waitFor();
  assert.equal(await lastName.inputValue(), 'Typed');
});

test('a refused save is settled when what was typed is taken back', async (t) => {
  const person = await addPerson(service, { firstName: 'Ada', lastName: 'Byron' });
  const { page } = await openAs(t, site, `/users?user=${person.id}`, { expected: ['412'] });
  const lastName = page.getByRole('textbox', { name: 'Last name' });
  const save = page.getByRole('button', { name: 'Save', exact: true });
  await lastName.fill('Typed');
  await page.waitForLoadState('networkidle');
  await service.sql("update users set last_name = 'Lovelace', version = version + 1 where id = $1", [
    person.id,
  ]);
  const held = Promise.withResolvers<void>();
  await page.route(`**/api/v1/users/${person.id}`, async (route) => {
    if (route.request().method() === 'GET') await held.promise;
    await route.continue();
  });
  await save.click();
  const refusal = page.getByText('Somebody else has changed this record');
  await refusal.waitFor();
  await lastName.fill('Byron');
  held.resolve();
  await eventually(
    async () => ((await lastName.inputValue()) === 'Lovelace' ? true : undefined),
    'the form to follow the record',
  );
  await lastName.fill('K');
  assert.equal(await refusal.count(), 0);
  await lastName.fill('King');
  await save.click();
  await page.getByText('Saved').waitFor();
  const [stored] = await service.sql('select last_name from users where id = $1', [person.id]);
  assert.deepEqual(stored, { last_name: 'King' });
});

test('a role of a product can be removed by those who hold all that goes with it', async (t) => {
  await service.sql(`insert into permission_groups (id, name) values (gen_random_uuid(), 'tickets')`);
  await service.sql(
    `insert into permissions (id, name, group_id) select gen_random_uuid(), 'tickets.' || action, id
     from permission_groups, unnest($1::text[]) as action where name = 'tickets'`,
    [['read', 'refund']],
  );
  const [agent, lead] = [await addRole(service, 'tickets.read'), await addRole(service, 'tickets.refund')];
  await service.sql(
    `update roles set name = case id when $1 then 'Agent' else 'Lead' end where id in ($1, $2)`,
    [agent, lead],
  );
  const tess = await addPerson(service, { firstName: 'Tess', lastName: 'Ticket', roles: [agent, lead] });
  const desk = await addPerson(service, {
    roles: [await addRole(service, 'user.read', 'users.read', 'user.update', 'tickets.read')],
  });
  const path = `/users?user=${tess.id}&tab=access`;
  const removal = (page: Page, role: string) =>
    pane(page, 'Tess Ticket').getByRole('button', { name: `Remove the role ${role}` });

  const { page } = await openAs(t, site, path, { as: desk });
  await removal(page, 'Lead').and(page.locator('[aria-disabled="true"]')).waitFor();
  assert.match((await removal(page, 'Lead').getAttribute('title')) ?? '', /do not have: tickets\.refund\./);
  await removal(page, 'Agent').click();
  await dialog(page).getByText('loses tickets.read').waitFor();

  const superuser = await openAs(t, site, path);
  await removal(superuser.page, 'Lead').click();
  await dialog(superuser.page).getByText('loses tickets.refund').waitFor();
});
