// The page Sessions.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { addPerson, addRole, type Person } from '@castellan/testing/users/people';
import type { Page } from 'playwright-core';
import { assertAccessible } from '../../accessibility.ts';
import { assertFocusIn, openAs, startConsole } from '../../harness.ts';

const site = await startConsole({ after });
const { service } = site;
const FIREFOX = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:144.0) Gecko/20100101 Firefox/144.0';

let grace: Person;

const addSession = async (user: Person, address: string, hoursAgo = 1): Promise<void> => {
  await service.sql(
    `insert into sessions (id, user_id, origin_address, user_agent, created_at, last_used_at, expires_at, epoch)
     select $1, id, $3, $4, now() - interval '9 days', now() - $5 * interval '1 hour', now() + interval '9 days',
            session_epoch from users where id = $2`,
    [randomUUID(), user.id, address, FIREFOX, hoursAgo],
  );
};

const live = async (user: Person) =>
  (await service.sql('select id from sessions where user_id = $1 and revoked_at is null', [user.id])).length;

before(async () => {
  grace = await addPerson(service, { firstName: 'Grace', lastName: 'Hopper' });
  await addSession(grace, '203.0.113.7');
  await addSession(grace, '203.0.113.99', 48);
  const other = await addPerson(service, { firstName: 'Omar', lastName: 'Okafor' });
  for (let number = 0; number < 60; number += 1) await addSession(other, `198.51.100.${number}`);
});

const items = (page: Page) => page.getByRole('region', { name: 'Sessions' }).getByRole('listitem');
const fold = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true });
/** The sessions of the open group. */
const members = (page: Page) => page.locator('.session-members').getByRole('listitem');
const count = (page: Page, text: string) => page.getByRole('main').getByText(text, { exact: true });
const dialog = (page: Page) => page.getByRole('dialog');

test('all live sessions are listed by device and network, and more are loaded', async (t) => {
  const { page } = await openAs(t, site, '/sessions');
  await page.getByText('Firefox 144 on Windows').first().waitFor();
  await page.getByText('This session').waitFor();
  // More of them may be on the next page.
  await fold(page, /^\d\d\+ sessions: Omar Okafor/).waitFor();
  await count(page, '50 of 63').waitFor();
  await page.getByRole('button', { name: 'Load more' }).click();
  await count(page, '63 of 63').waitFor();
  await page.getByRole('button', { name: 'Load more' }).waitFor({ state: 'detached' });
  await fold(page, '60 sessions: Omar Okafor, Firefox 144 on Windows').click();
  await members(page).nth(59).waitFor();
  await page.getByRole('button', { name: /^198\.51\.100\.0\/24 60 sessions/ }).click();
  await page.waitForURL('**address=198.51.100.0**');
  await count(page, '60 live sessions').waitFor();
  await assertAccessible(page, 'the sessions');
});

test('a search that has read many sessions and found none yet goes on, and does not say that nothing matches', async (t) => {
  const { page } = await openAs(t, site, '/sessions');
  await items(page).first().waitFor();
  let reads = 0;
  await page.route('**/api/v1/sessions?*search=Hopper*', async (route) => {
    reads += 1;
    if (reads <= 20)
      return route.fulfill({
        json: { data: [], next_cursor: `step-${reads}`, total: 0, total_is_estimate: true },
      });
    const url = new URL(route.request().url());
    assert.equal(url.searchParams.get('cursor'), 'step-20');
    url.searchParams.delete('cursor');
    return route.continue({ url: url.href });
  });
  await page.getByRole('searchbox', { name: 'Name or email' }).fill('Hopper');
  const more = page.getByRole('button', { name: 'Load more' });
  await page.getByText('0 of 0+').waitFor();
  assert.equal(reads, 20);
  assert.equal(await page.getByText('Nothing matches these filters.').count(), 0);
  await more.click();
  await fold(page, /^2 sessions: Grace Hopper/).waitFor();
  await more.waitFor({ state: 'detached' });
});

test('filters by person, address and age are in the address', async (t) => {
  const { page } = await openAs(t, site, '/sessions', { expected: ['422'] });
  await page.getByRole('searchbox', { name: 'Name or email' }).fill('Hopper');
  await count(page, '2 live sessions').waitFor();
  const day = new Date(Date.now() - 24 * 3_600_000).toISOString().slice(0, 16);
  await page.getByLabel('Last seen before').fill(day);
  await count(page, '1 live session').waitFor();
  assert.match(page.url(), /older_than=\d{4}-\d\d-\d\dT\d\d%3A\d\d%3A00.000Z/);
  await page.getByLabel(/^Address or network/).fill('not an address');
  await page.locator('[aria-invalid="true"]').waitFor();
  await page.getByLabel(/^Address or network/).fill('10.0.0.0/8');
  await page.getByText('Nothing matches these filters.').waitFor();
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await page.waitForURL((url) => url.search === '');
});

test('a time that is none filters nothing, so it offers no end of all sessions', async (t) => {
  const { page } = await openAs(t, site, '/sessions?older_than=yesterday');
  await items(page).first().waitFor();
  assert.equal(await page.getByRole('button', { name: /matching session/ }).count(), 0);
});

test('a time is typed in the zone in which times show, and stays the same moment in the other', async (t) => {
  const { page } = await openAs(t, site, '/sessions', { context: { timezoneId: 'Asia/Tokyo' } });
  const older = page.getByLabel('Last seen before');
  const zone = async (name: string) => {
    await page.getByRole('button', { name: /^Account of/ }).click();
    await page.getByRole('menuitemradio', { name }).click();
    await page.keyboard.press('Escape');
  };
  await page.getByLabel('Last seen before (GMT+9)').fill('2026-11-03T08:00');
  await page.waitForURL('**older_than=2026-11-02T23%3A00%3A00.000Z**');
  await zone('UTC');
  await page.getByLabel('Last seen before (UTC)').waitFor();
  assert.equal(await older.inputValue(), '2026-11-02T23:00');
  await older.fill('2026-11-03T08:00');
  await page.waitForURL('**older_than=2026-11-03T08%3A00%3A00.000Z**');
});

test('one session is ended', async (t) => {
  await addSession(grace, '203.0.113.8');
  const before = await live(grace);
  const { page } = await openAs(t, site, `/sessions?user=${grace.id}`);
  await fold(page, `${before} sessions: Grace Hopper, Firefox 144 on Windows`).press('Enter');
  await members(page)
    .first()
    .getByRole('button', { name: /^End the session: Grace Hopper/ })
    .click();
  await dialog(page).getByRole('button', { name: 'End' }).click();
  await page.getByText('The session has ended.').waitFor();
  assert.equal(await live(grace), before - 1);
  await count(page, `${before - 1} live sessions`).waitFor();
  await assertFocusIn(page, '.session-list');
});

test('the focus stays in the list when a busy browser shows it without the session before the next frame', async (t) => {
  await addSession(grace, '203.0.113.9');
  const { page } = await openAs(t, site, `/sessions?user=${grace.id}`);
  await fold(page, /sessions: Grace Hopper/).click();
  const end = members(page).getByRole('button', { name: /^End the session: Grace Hopper/ });
  await end.first().waitFor();
  const before = await end.count();
  await end.first().click();
  const confirm = dialog(page).getByRole('button', { name: 'End' });
  await confirm.focus();
  await page.evaluate(() => {
    const frame = requestAnimationFrame;
    const held: FrameRequestCallback[] = [];
    window.requestAnimationFrame = (callback) => held.push(callback);
    addEventListener('frames', () => {
      window.requestAnimationFrame = frame;
      for (const callback of held) frame(callback);
    });
  });
  await confirm.press('Enter');
  await end.nth(before - 1).waitFor({ state: 'detached' });
  await page.evaluate(() => dispatchEvent(new Event('frames')));
  await assertFocusIn(page, '.session-list');
});

test('the sessions of one person on one device end together, those of another device stay', async (t) => {
  const twin = await addPerson(service, { firstName: 'Tina', lastName: 'Twin' });
  for (let number = 0; number < 3; number += 1) await addSession(twin, `192.0.2.${number}`, number + 1);
  await addSession(twin, '198.51.100.200', 9);
  await service.sql(
    "update sessions set user_agent = 'curl/8.5.0' where id = (select id from sessions where user_id = $1 and last_used_at < now() - interval '8 hours')",
    [twin.id],
  );
  const { page } = await openAs(t, site, `/sessions?user=${twin.id}`, { expected: ['500', '404'] });
  const group = fold(page, '3 sessions: Tina Twin, Firefox 144 on Windows');
  await group.waitFor();
  assert.equal(await items(page).count(), 2);
  // The last use of all of them.
  await items(page).filter({ has: group }).getByText('1 hour ago').waitFor();
  await group.press('Enter');
  assert.equal(await group.getAttribute('aria-expanded'), 'true');
  await members(page).nth(2).waitFor();
  await assertAccessible(page, 'an open group');
  await group.press('Enter');
  await members(page).first().waitFor({ state: 'detached' });
  // One ends elsewhere meanwhile, and one end fails: what is left ends with the second confirmation.
  await page.getByRole('button', { name: 'End all: 3 sessions, Tina Twin, Firefox 144 on Windows' }).click();
  await dialog(page).getByText('End 3 sessions: Tina Twin, Firefox 144 on Windows?').waitFor();
  await assertAccessible(page, 'the question');
  let requests = 0;
  await page.route('**/api/v1/sessions/*', async (route) => {
    requests += 1;
    if (requests === 2)
      return route.fulfill({ status: 500, json: { detail: 'Broken.', code: 'internal_error' } });
    return route.continue();
  });
  await dialog(page).getByRole('button', { name: 'End 3 sessions' }).click();
  await dialog(page).getByRole('alert').waitFor();
  assert.equal(await live(twin), 3);
  await dialog(page).getByText('End 3 sessions: Tina Twin, Firefox 144 on Windows?').waitFor();
  await dialog(page).getByRole('button', { name: 'End 3 sessions' }).click();
  await page.getByText('3 sessions have ended.').waitFor();
  assert.equal(await live(twin), 1);
  await count(page, '1 live session').waitFor();
  await items(page).getByText('curl 8.5').waitFor();
  await assertFocusIn(page, '.session-list');
});

test('a group that is left with one session is that session, and keeps the focus', async (t) => {
  const pair = await addPerson(service, { firstName: 'Paul', lastName: 'Pair' });
  for (let number = 0; number < 2; number += 1) await addSession(pair, `10.9.9.${number}`, number + 1);
  const { page } = await openAs(t, site, `/users?user=${pair.id}&tab=sessions`);
  await fold(page, '2 sessions: Firefox 144 on Windows').press('Enter');
  const end = members(page).getByRole('button', { name: 'End the session: Firefox 144 on Windows' });
  await end.last().press('Enter');
  await dialog(page).getByRole('button', { name: 'End the session' }).press('Enter');
  await members(page).first().waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'End the session: Firefox 144 on Windows', exact: true }).waitFor();
  await assertFocusIn(page, '.session-list');
});

test('sessions that match a filter end after their number is typed', async (t) => {
  const target = await addPerson(service, { firstName: 'Tess', lastName: 'Target' });
  for (let number = 0; number < 3; number += 1) await addSession(target, '192.0.2.5');
  const { page } = await openAs(t, site, '/sessions?address=192.0.2.0/24');
  await page.getByRole('button', { name: 'End all 3 matching sessions' }).click();
  const confirm = dialog(page).getByRole('button', { name: 'End all 3 matching sessions' });
  await dialog(page).getByLabel('Type 3 to confirm').fill('2');
  assert.equal(await confirm.isDisabled(), true);
  await dialog(page).getByLabel('Type 3 to confirm').fill('3');
  await confirm.click();
  await page.getByText('3 sessions of 1 user ended.').waitFor();
  assert.equal(await live(target), 0);
  await page.getByText('Nothing matches these filters.').waitFor();
});

test('who may only read cannot end sessions and reads why', async (t) => {
  const reader = await addPerson(service, { roles: [await addRole(service, 'session.read')] });
  const { page } = await openAs(t, site, `/sessions?user=${grace.id}`, { as: reader });
  const end = items(page)
    .first()
    .getByRole('button', { name: /^End all/ });
  assert.equal(await end.getAttribute('aria-disabled'), 'true');
  await end.click({ force: true });
  assert.equal(await dialog(page).count(), 0);
  await page.getByText('You need the permission session.revoke.').first().waitFor();
});

test('a sign-in from a new network, and a session whose network has changed, are marked', async (t) => {
  const nomad = await addPerson(service, { firstName: 'Nora', lastName: 'Nomad' });
  for (let number = 0; number < 3; number += 1) await addSession(nomad, `192.0.2.${number}`, number);
  await service.sql(
    "update sessions set is_new_network = true where user_id = $1 and origin_address = '192.0.2.1'",
    [nomad.id],
  );
  await service.sql(
    `update sessions set origin_network = '192.0.2.0/24', last_address = '203.0.113.7'
     where user_id = $1 and origin_address = '192.0.2.2'`,
    [nomad.id],
  );
  const { page } = await openAs(t, site, `/sessions?user=${nomad.id}`);
  // They have one device, and do not disappear among the others.
  await items(page).nth(2).waitFor();
  assert.equal(await items(page).filter({ hasText: 'New network' }).count(), 1);
  const changed = items(page).filter({ hasText: 'Network has changed' });
  await changed.getByText('203.0.113.0/24').waitFor();
  assert.equal(await changed.count(), 1);
  await assertAccessible(page, 'the marks');
  await page.goto(`/users?user=${nomad.id}&tab=sessions`);
  await page.getByText('New network').waitFor();
});
