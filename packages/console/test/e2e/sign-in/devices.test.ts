// Signing in on a device, in a real browser against the real service: the device asks and polls, a person types its code and answers.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ADMIN, type Hooks, signIn } from '@castellan/testing/harness';
import { addApplication } from '@castellan/testing/openid/tokens';
import { postForm } from '@castellan/testing/service-accounts/token-services';
import { addPerson } from '@castellan/testing/users/people';
import type { Page } from 'playwright-core';
import { assertPageAccessible } from '../../accessibility.ts';
import { heading, startConsole } from '../../harness.ts';
import { photograph } from '../../pictures.ts';
import { sendPassword, status, visit } from './visits.ts';

const site = await startConsole({ after });
const { service, browser } = site;
const tv = await addApplication(service, await signIn(service, ADMIN), {
  type: 'device',
  name: 'Television',
  redirect_uris: [],
  scopes: ['openid', 'profile', 'email', 'offline_access'],
});

type Asked = { device_code: string; user_code: string; verification_uri_complete: string };

async function begin(): Promise<Asked> {
  const { client_id } = tv;
  const scope = 'openid profile email offline_access';
  const answer = await postForm(
    service,
    'device_authorization',
    { client_id, scope },
    { 'user-agent': 'TV/1.0' },
  );
  assert.equal(answer.status, 200, answer.text);
  return answer.body;
}

const poll = ({ device_code }: Asked) =>
  postForm(service, 'token', {
    client_id: tv.client_id,
    grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
    device_code,
  });

const click = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();
const field = (page: Page) => page.getByLabel('Code', { exact: true });

/** Opens the address of a device as a person who signs in on the way. Returns the page that asks them. */
async function openAsked(t: Hooks, asked: Asked, { email }: { email: string }): Promise<Page> {
  const page = await visit(t, browser, { expected: ['401'] });
  await page.goto(asked.verification_uri_complete);
  await click(page, 'Continue');
  await page.waitForURL('**/login?next=*');
  await sendPassword(page, email);
  await page.waitForURL('**/device?user_code=*');
  assert.equal(await field(page).inputValue(), asked.user_code);
  await click(page, 'Continue');
  await page.waitForURL('**/device?interaction=*');
  await heading(page).getByText('Television asks for access').waitFor();
  return page;
}

test('a person connects a device, and it gets their tokens', async (t) => {
  const person = await addPerson(service);
  const asked = await begin();
  const page = await openAsked(t, asked, person);
  for (const text of [
    'Only go on if you started this on your own device just now.',
    '127.0.0.0/24',
    'TV/1.0',
    `Ada Lovelace (${person.email})`,
  ])
    await page.getByText(text).waitFor();
  await assertPageAccessible(page, 'a device of the service', (scheme, { width }) =>
    photograph(page, `real-device-${scheme}-${width}`),
  );
  assert.equal((await poll(asked)).body.error, 'authorization_pending');
  await page.getByRole('checkbox', { name: 'Read your email address' }).uncheck();
  await click(page, 'Allow');
  await heading(page).getByText('Your device is connected').waitFor();
  await assertPageAccessible(page, 'a connected device', (scheme, { width }) =>
    photograph(page, `real-device-allowed-${scheme}-${width}`),
  );
  const tokens = await poll(asked);
  assert.deepEqual([tokens.status, tokens.body.scope], [200, 'openid profile offline_access'], tokens.text);
});

test('a person denies a device, and it learns that', async (t) => {
  const asked = await begin();
  const page = await openAsked(t, asked, await addPerson(service));
  await click(page, 'Deny');
  await heading(page).getByText('You denied the device').waitFor();
  assert.equal((await poll(asked)).body.error, 'access_denied');
});

test('a person whose proof is old gives it again before they are asked', async (t) => {
  const person = await addPerson(service);
  const page = await openAsked(t, await begin(), person);
  await service.sql(
    `update session_tokens set auth_time = now() - interval '1 hour' where user_id = $1 and kind = 'browser'`,
    [person.id],
  );
  const asked = await begin();
  await page.goto(asked.verification_uri_complete);
  await click(page, 'Continue');
  await page.waitForURL('**/device?interaction=*');
  await page.getByText('Television asks you to confirm it once more.').waitFor();
  await page.getByLabel('Password', { exact: true }).fill(person.password);
  await page.keyboard.press('Enter');
  await click(page, 'Allow');
  await heading(page).getByText('Your device is connected').waitFor();
  assert.equal((await poll(asked)).status, 200);
});

test('wrong codes are told, and after five of them the page says to wait', async (t) => {
  const page = await openAsked(t, await begin(), await addPerson(service));
  const next = await visit(t, browser, {
    expected: ['404', '429'],
    context: { storageState: await page.context().storageState() },
  });
  await next.goto('/device');
  for (let wrong = 0; wrong < 5; wrong += 1) {
    await field(next).fill(`BCDF-GHJ${'KLMNP'[wrong]}`);
    const answered = next.waitForResponse('**/api/v1/oauth/device');
    await click(next, 'Continue');
    assert.equal((await answered).status(), 404);
    await status(next).getByText('This code is wrong or has expired.').waitFor();
  }
  await field(next).fill((await begin()).user_code);
  await click(next, 'Continue');
  await status(next).getByText('Too many').waitFor();
});

test('the pages after an answer have German texts', async (t) => {
  const page = await visit(t, browser, {
    context: { locale: 'de-DE', viewport: { width: 390, height: 844 } },
  });
  for (const [result, text] of [
    ['allowed', 'Ihr Gerät ist verbunden'],
    ['denied', 'Sie haben das Gerät abgelehnt'],
  ] as const) {
    await page.goto(`/device?result=${result}`);
    await heading(page).getByText(text).waitFor();
    await photograph(page, `real-device-${result}-de-390`);
  }
});
