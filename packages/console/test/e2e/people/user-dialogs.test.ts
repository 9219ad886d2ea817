// Where the focus is after a dialog of the user's pane has closed: on the button that opened it, for each dialog and each way
// to close it without its act.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { addPerson, addRole, type Person } from '@castellan/testing/users/people';
import type { Page } from 'playwright-core';
import { openAs, startConsole } from '../../harness.ts';

const site = await startConsole({ after });
const { service } = site;

let ada: Person;

before(async () => {
  ada = await addPerson(service, {
    firstName: 'Ada',
    lastName: 'Byron',
    roles: [await addRole(service, 'role.read')],
  });
  await service.client().post('/api/v1/auth/login', { email: ada.email, password: ada.password });
  await service.sql('update users set verified = false where id = $1', [ada.id]);
  await service.sql("insert into totp_factors (user_id, secret_sealed) values ($1, '')", [ada.id]);
  await service.sql(
    "insert into factor_attempts (user_id, failures, locked_until) values ($1, 5, now() + interval '1 hour')",
    [ada.id],
  );
});

const dialog = (page: Page) => page.getByRole('dialog');

const ways: readonly ((page: Page) => Promise<void>)[] = [
  async (page) => {
    await page.keyboard.press('Escape');
    // The first one may have closed the list of a field in it.
    await page.waitForTimeout(0);
    if (await dialog(page).getByRole('combobox').and(page.locator('[aria-expanded="false"]')).count())
      await page.keyboard.press('Escape');
  },
  (page) => dialog(page).getByRole('button', { name: 'Close' }).click(),
  // By keyboard: the open list of a field may lie over it.
  (page) => dialog(page).getByRole('button', { name: 'Cancel' }).press('Enter'),
];

const buttons: Record<string, readonly RegExp[]> = {
  profile: [
    /^Resend verification/,
    /^Set password/,
    /^Make superuser/,
    /^Deactivate/,
    /^Act as/,
    /^Delete/,
    /^Erase/,
  ],
  access: [/^Assign roles/, /^Remove the role/],
  security: [/^Reset second factor/, /^Unlock/, /^Forget all devices/],
  sessions: [/^End all sessions/, /^End the session/],
};

for (const [tab, names] of Object.entries(buttons))
  test(`the focus returns to the button when a dialog of the tab ${tab} closes`, async (t) => {
    const { page } = await openAs(t, site, `/users?user=${ada.id}&tab=${tab}`);
    const panel = page.getByRole('complementary', { name: 'Ada Byron' }).getByRole('tabpanel');
    for (const name of names)
      for (const close of ways) {
        const button = panel.getByRole('button', { name });
        await button.click();
        await dialog(page).waitFor();
        await close(page);
        await dialog(page).waitFor({ state: 'detached' });
        await button.and(page.locator(':focus')).waitFor();
      }
  });

test('the pane has no button whose dialog is missing above', async (t) => {
  for (const [tab, names] of Object.entries(buttons)) {
    const { page } = await openAs(t, site, `/users?user=${ada.id}&tab=${tab}`);
    const panel = page.getByRole('complementary', { name: 'Ada Byron' }).getByRole('tabpanel');
    await panel.getByRole('button', { name: names.at(-1) ?? '' }).waitFor();
    const labels = await panel
      .getByRole('button')
      .evaluateAll((all) => all.map((one) => one.getAttribute('aria-label') ?? one.textContent ?? ''));
    const opening = labels.filter((label) => !/^(Save|Why|Show|Copy|Export|\d)/.test(label));
    for (const label of opening)
      assert.ok(
        names.some((name) => name.test(label)),
        `${tab}: ${label}`,
      );
  }
});
