// Acts on many users: selection, who is left out, impact, refusals, undo.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ADMIN } from '@castellan/testing/harness';
import { addPerson, addRole, type Person } from '@castellan/testing/users/people';
import type { Page, Route } from 'playwright-core';
import { assertAccessible } from '../../accessibility.ts';
import { openAs, startConsole } from '../../harness.ts';

const site = await startConsole({ after });
const { service } = site;
const COUNT = 120;
/** More than one request takes. */
const CROWD = 620;

let editor: string;
let boss: Person;

before(async () => {
  editor = await addRole(service, 'role.read');
  await service.sql('update roles set name = $2 where id = $1', [editor, 'Editor']);
  const reader = await addRole(service, 'user.read');
  for (let number = 0; number < COUNT; number += 1)
    await addPerson(service, {
      firstName: 'Bulk',
      lastName: String(number).padStart(3, '0'),
      roles: [reader],
    });
  await addPerson(service, { firstName: 'Closed', lastName: 'Bulk', active: false });
  await service.sql(
    `insert into users (id, email, first_name, last_name, verified, is_active, created_at)
     select gen_random_uuid(), 'crowd' || n || '@example.com', 'Crowd', lpad(n::text, 3, '0'), true, true,
       now() - interval '1 day'
     from generate_series(1, $1) n`,
    [CROWD],
  );
  // May change users, but holds less than the user `Strong`.
  boss = await addPerson(service, {
    firstName: 'Boss',
    roles: [await addRole(service, 'user.read', 'users.read', 'users.update')],
  });
  await addPerson(service, {
    firstName: 'Strong',
    lastName: 'Person',
    roles: [await addRole(service, 'users.delete')],
  });
});

const rows = (page: Page) => page.getByRole('table', { name: 'Users' }).locator('tbody tr');
const bar = (page: Page) => page.getByRole('region', { name: 'Selected users' });
const dialog = (page: Page) => page.getByRole('dialog');
const activeBulk = async () =>
  Number(
    (
      await service.sql<{ count: string }>(
        `select count(*) from users where first_name = 'Bulk' and is_active`,
      )
    )[0]?.count,
  );

test('all that match are deactivated after a review that names who is left out, and Undo restores them', async (t) => {
  const { page } = await openAs(t, site, '/users?q=Bulk&size=50&sort=last_name');
  await rows(page).nth(49).waitFor();
  await page.getByRole('checkbox', { name: 'Select all rows of this page' }).click();
  await bar(page).getByText('50 selected').waitFor();
  await bar(page)
    .getByRole('button', { name: `Select all ${COUNT + 1} matching` })
    .click();
  await bar(page)
    .getByText(`All ${COUNT + 1} matches`)
    .waitFor();
  await bar(page).getByRole('button', { name: 'Deactivate' }).click();
  await dialog(page)
    .getByRole('heading', { name: `Deactivate ${COUNT} users` })
    .waitFor();
  await dialog(page).getByText('1 for whom nothing would change:').waitFor();
  await dialog(page).getByText('Closed Bulk').waitFor();
  const confirm = dialog(page).getByRole('button', { name: 'Deactivate' });
  await dialog(page).getByText(`${COUNT} lose permissions`).waitFor();
  await dialog(page)
    .getByRole('button', { name: `Show all ${COUNT} affected` })
    .click();
  const affected = dialog(page).getByRole('list', { name: 'Who is affected' }).getByRole('listitem');
  await affected.nth(COUNT - 1).waitFor();
  await dialog(page).getByLabel('Part of a name or permission').fill('bulk 007');
  await affected.nth(1).waitFor({ state: 'detached' });
  assert.deepEqual(await affected.allInnerTexts(), ['Bulk 007\nloses user.read']);
  await assertAccessible(page, 'everybody affected');
  assert.equal(await confirm.isDisabled(), true, 'the number must be typed');
  await dialog(page).getByLabel(`Type ${COUNT} to confirm`).fill(String(COUNT));
  await confirm.click();
  await page.getByText(`${COUNT} users are deactivated.`).waitFor();
  assert.equal(await activeBulk(), 0);
  await bar(page).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Undo' }).click();
  await rows(page).locator('.badge-active').nth(40).waitFor();
  assert.equal(await activeBulk(), COUNT);
});

test('the person themselves is left out and named', async (t) => {
  const { page } = await openAs(t, site, `/users?q=${encodeURIComponent(ADMIN.email)}`);
  await rows(page).locator('[data-select]').click();
  await bar(page).getByRole('button', { name: 'Deactivate' }).click();
  await dialog(page).getByText('Yourself').waitFor();
  assert.equal(await dialog(page).getByRole('button', { name: 'Deactivate' }).isDisabled(), true);
});

test('roles are added to the selected users, kept across pages', async (t) => {
  const { page } = await openAs(t, site, '/users?q=Bulk&size=25&sort=last_name');
  await rows(page).nth(2).locator('[data-select]').click();
  await page.getByRole('button', { name: 'Next page' }).click();
  await page.waitForURL('**page=2**');
  await rows(page).filter({ hasText: 'Bulk 030' }).locator('[data-select]').click();
  await bar(page).getByText('2 selected').waitFor();
  await bar(page).getByRole('button', { name: 'Add roles' }).click();
  await dialog(page).getByLabel('Roles').first().fill('Edit');
  await page.getByRole('option', { name: /^Editor/ }).click();
  await dialog(page).getByText('2 gain role.read').waitFor();
  await dialog(page).getByRole('button', { name: 'Add roles' }).click();
  await page.getByText('Roles added to 2 users.').waitFor();
  const held = await service.sql('select user_id from user_roles where role_id = $1', [editor]);
  assert.equal(held.length, 2);
});

test('a refusal names its users, changes nobody, and they can be left out', async (t) => {
  const { page } = await openAs(t, site, '/users?q=Person', { as: boss, expected: ['403'] });
  await rows(page).filter({ hasText: 'Strong' }).locator('[data-select]').click();
  await page.getByRole('searchbox').fill('');
  // Another filter would clear the selection: select both on one list.
  await page.goto('/users?sort=-created_at&size=100');
  await rows(page).filter({ hasText: 'Strong Person' }).locator('[data-select]').click();
  await rows(page).filter({ hasText: 'Bulk 119' }).locator('[data-select]').click();
  // The preview would tell it first; a change in between is refused by the service itself.
  await page.route('**/bulk-update?dry_run=true', (route) =>
    route.fulfill({
      json: {
        data: {
          dry_run: true,
          would_be_refused: null,
          impact: { gaining: 0, losing: 0, gained: [], lost: [], subjects: [], more: 0, inactive: 0 },
        },
        message: '',
      },
    }),
  );
  await bar(page).getByRole('button', { name: 'Deactivate' }).click();
  await dialog(page).getByRole('button', { name: 'Deactivate' }).click();
  await dialog(page).getByText('Strong Person: holds permissions that you do not hold').waitFor();
  await dialog(page).getByText('0 users were changed. 2 were not, and stay selected.').waitFor();
  assert.equal(await activeBulk(), COUNT);
  await dialog(page).getByRole('button', { name: 'Leave 1 user out and review again' }).click();
  await dialog(page).getByRole('heading', { name: 'Deactivate 1 user' }).waitFor();
  await dialog(page).getByRole('button', { name: 'Deactivate' }).click();
  await page.getByText('1 user is deactivated.').waitFor();
  assert.equal(await activeBulk(), COUNT - 1);
});

test('acts that a permission is missing for are disabled with the reason', async (t) => {
  const { page } = await openAs(t, site, '/users?q=Bulk', { as: boss });
  await rows(page).first().locator('[data-select]').click();
  const add = bar(page).getByRole('button', { name: /^Add roles/ });
  assert.equal(await add.getAttribute('aria-disabled'), 'true');
  await add.hover();
  await page.getByRole('tooltip', { name: /access\.change/ }).waitFor();
});

test('Escape in a dialog keeps the selection, the next one clears it', async (t) => {
  const { page } = await openAs(t, site, '/users?q=Bulk');
  await rows(page).first().locator('[data-select]').click();
  await bar(page).getByRole('button', { name: 'End sessions' }).click();
  await dialog(page).waitFor();
  await page.keyboard.press('Escape');
  await dialog(page).waitFor({ state: 'detached' });
  await bar(page).waitFor();
  await assertAccessible(page, 'the selection');
  await page.keyboard.press('Escape');
  await bar(page).waitFor({ state: 'detached' });
});

const editors = async () =>
  Number(
    (
      await service.sql<{ count: string }>(
        `select count(*) from user_roles r join users u on u.id = r.user_id
         where r.role_id = $1 and u.first_name = 'Crowd'`,
        [editor],
      )
    )[0]?.count,
  );

/** Opens the review of adding the role Editor to the whole crowd. */
async function reviewCrowd(page: Page): Promise<void> {
  await service.sql('delete from user_roles where role_id = $1', [editor]);
  await rows(page).nth(24).waitFor();
  await page.getByRole('checkbox', { name: 'Select all rows of this page' }).click();
  await bar(page)
    .getByRole('button', { name: `Select all ${CROWD} matching` })
    .click();
  await bar(page).getByRole('button', { name: 'Add roles' }).click();
  await dialog(page).getByLabel('Roles').first().fill('Edit');
  await page.getByRole('option', { name: /^Editor/ }).click();
  // The options cover the buttons while they are open.
  await dialog(page).getByRole('heading').click();
  await dialog(page).getByText(`${CROWD} gain permissions`).waitFor();
}

/** Calls `meet` instead of sending the request with this number, counted from 1. Previews are not counted. */
async function meetChange(page: Page, number: number, meet: (route: Route) => Promise<void>): Promise<void> {
  let sent = 0;
  await page.route('**/api/v1/access/changes', (route) => {
    sent += 1;
    return sent === number ? meet(route) : route.continue();
  });
}

const confirmCrowd = (page: Page) => dialog(page).getByRole('button', { name: 'Add roles' }).click();

test('a run that is refused halfway says who was changed, keeps the others selected, and is undone', async (t) => {
  const { page } = await openAs(t, site, '/users?q=Crowd&size=25', { expected: ['403'] });
  await meetChange(page, 2, (route) =>
    route.fulfill({
      status: 403,
      json: { status: 403, code: 'privilege_escalation', message: 'No.', detail: 'No.' },
    }),
  );
  await reviewCrowd(page);
  await confirmCrowd(page);
  await dialog(page).getByText('500 users were changed. 120 were not, and stay selected.').waitFor();
  assert.equal(await editors(), 500);
  await assertAccessible(page, 'the outcome');
  await dialog(page).getByRole('button', { name: 'Undo it for 500 users' }).click();
  await page.getByText('Undone for 500 users.').waitFor();
  assert.equal(await editors(), 0);
  await bar(page).getByText('120 selected').waitFor();
});

test('a run can be stopped, says where it stands, goes on, and is then undone as a whole', async (t) => {
  const { page } = await openAs(t, site, '/users?q=Crowd&size=25');
  const { promise: isStopping, resolve } = Promise.withResolvers<void>();
  await meetChange(page, 1, async (route) => {
    await isStopping;
    await route.continue();
  });
  await reviewCrowd(page);
  await confirmCrowd(page);
  await dialog(page).getByText(`0 of ${CROWD}`).waitFor();
  // Closing the dialog stops the run, too, and does not hide its outcome.
  await page.keyboard.press('Escape');
  await dialog(page).getByText('Stops after the request under way…').waitFor();
  resolve();
  await dialog(page).getByText('You stopped it.').waitFor();
  assert.equal(await editors(), 500);
  await dialog(page).getByRole('button', { name: 'Review the other 120 again' }).click();
  await dialog(page).getByRole('heading', { name: 'Add roles to 120 users' }).waitFor();
  await dialog(page).getByText('120 gain permissions').waitFor();
  await confirmCrowd(page);
  await page.getByText(`Roles added to ${CROWD} users.`).waitFor();
  assert.equal(await editors(), CROWD);
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText(`Undone for ${CROWD} users.`).waitFor();
  assert.equal(await editors(), 0);
});

test('of a request without an answer, the outcome does not claim that it was not carried out', async (t) => {
  const { page } = await openAs(t, site, '/users?q=Crowd&size=25', { expected: ['ERR_FAILED'] });
  await meetChange(page, 2, async (route) => {
    // The service carries it out, and the answer is lost.
    await service.sql(
      `insert into user_roles (user_id, role_id) select id, $1 from users where first_name = 'Crowd'
       on conflict do nothing`,
      [editor],
    );
    await route.abort();
  });
  await reviewCrowd(page);
  await confirmCrowd(page);
  await dialog(page).getByText('The last request, for 120 users, got no answer').waitFor();
  await dialog(page).getByText('500 users were changed. 0 were not').waitFor();
  assert.equal(await editors(), CROWD);
  await dialog(page)
    .getByRole('button', { name: `Undo it for ${CROWD} users` })
    .click();
  await page.getByText(`Undone for ${CROWD} users.`).waitFor();
  assert.equal(await editors(), 0);
});

test('a run whose session ends waits for the sign-in and then goes on', async (t) => {
  const { page } = await openAs(t, site, '/users?q=Crowd&size=25', { expected: ['401'] });
  await meetChange(page, 2, async (route) => {
    await service.sql('update users set session_epoch = session_epoch + 1 where email = $1', [ADMIN.email]);
    await route.continue();
  });
  await reviewCrowd(page);
  await confirmCrowd(page);
  const ended = page.getByRole('dialog', { name: 'Your session has ended' });
  await ended.getByLabel(/^Password/).fill(ADMIN.password);
  assert.equal(await editors(), 500);
  await ended.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByText(`Roles added to ${CROWD} users.`).waitFor();
  assert.equal(await editors(), CROWD);
});
