// Accepting an invitation without a password, in a real browser: with a passkey, or with an account at a provider.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { linkTo } from '@castellan/testing/accounts/self-service';
import { plugIn } from '@castellan/testing/e2e/authenticator';
import { newVisit, PASSKEY_ORIGIN } from '@castellan/testing/e2e/browser';
import { ADMIN, type Hooks, newEmail, signIn } from '@castellan/testing/harness';
import { startIssuer } from '@castellan/testing/openid/issuer';
import type { Page } from 'playwright-core';
import { assertAccessible, assertPageAccessible } from '../../accessibility.ts';
import { assertFocusIn, heading, startConsole } from '../../harness.ts';
import { photograph } from '../../pictures.ts';
import { status, visit } from '../sign-in/visits.ts';

const site = await startConsole({ after }, { PUBLIC_URL: PASSKEY_ORIGIN });
const { service } = site;
const admin = await signIn(service, ADMIN);

async function invite(body: object = {}): Promise<{ id: string; email: string; path: string }> {
  const email = newEmail('invited');
  const answer = await admin.post('/api/v1/users/invitations', { email, ...body });
  assert.equal(answer.status, 201, answer.text);
  const path = `/invitation#token=${await linkTo(service, email, 'invitation')}`;
  return { id: answer.body.data.id, email, path };
}

const open = (t: Hooks): Promise<Page> =>
  visit(t, site.browser, { expected: ['400', '422'], context: { baseURL: PASSKEY_ORIGIN } });

const click = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();
const assertShows = (page: Page, what: string): Promise<void> =>
  assertPageAccessible(page, what, (scheme, { width }) => photograph(page, `${what}-${scheme}-${width}`));

test('a passkey accepts: the codes are kept, and the passkey signs in', async (t) => {
  const page = await open(t);
  const authenticator = await plugIn(page);
  const { id, email, path } = await invite();
  await page.goto(path);
  await page.getByRole('button', { name: 'Accept with a passkey' }).waitFor();
  await assertShows(page, 'invitation');
  // Nothing begins without the name that the invitation lacks.
  await click(page, 'Accept with a passkey');
  await assertFocusIn(page, '[name="first_name"]');
  assert.equal((await authenticator.credentials()).length, 0);
  await page.getByLabel('First name').fill('Ada');
  await authenticator.recognize(false);
  await click(page, 'Accept with a passkey');
  await status(page).getByText('Nothing happened. Try again, or choose a password.').waitFor();
  await assertAccessible(page, 'an invitation whose passkey was declined');
  await authenticator.recognize(true);
  await click(page, 'Accept with a passkey');
  await heading(page).getByText('Keep your recovery codes').waitFor();
  const codes = await page.getByRole('list', { name: 'Your recovery codes' }).getByRole('listitem').all();
  assert.equal(codes.length, 10);
  await assertShows(page, 'invitation-codes');
  const saved = page.waitForEvent('download');
  await click(page, 'Download');
  assert.equal((await saved).suggestedFilename(), 'recovery-codes.txt');
  // The box is required.
  await click(page, 'Sign in with a passkey');
  await heading(page).getByText('Keep your recovery codes').waitFor();
  await page.getByLabel('I have kept them').check();
  await click(page, 'Sign in with a passkey');
  await page.waitForURL(/\/(overview|account)$/);
  await page.getByText(email).first().waitFor();
  const [stored] = await service.sql(
    'select first_name, verified, invited_at, password_hash from users where id = $1',
    [id],
  );
  assert.deepEqual(stored, { first_name: 'Ada', verified: true, invited_at: null, password_hash: null });
});

test('a link that ended while the page was open makes no passkey, and is told', async (t) => {
  const page = await open(t);
  const authenticator = await plugIn(page);
  const { id, path } = await invite({ first_name: 'Ada' });
  await page.goto(path);
  await page.getByRole('button', { name: 'Accept with a passkey' }).waitFor();
  assert.equal((await admin.delete(`/api/v1/users/${id}/invitation`)).status, 200);
  await click(page, 'Accept with a passkey');
  await heading(page).getByText('This link does not work').waitFor();
  assert.equal((await authenticator.credentials()).length, 0);
});

test('the person comes by a provider that vouches for the address, and the link is used up', async (t) => {
  const issuer = await startIssuer(t);
  const made = await admin.post('/api/v1/identity-providers', {
    slug: 'acme',
    name: 'Acme',
    kind: 'oidc',
    issuer: issuer.issuer,
    client_id: issuer.client.id,
    client_secret: issuer.client.secret,
    email_trust: 'domains',
    domains: ['example.com'],
  });
  assert.equal(made.status, 201, made.text);
  const { id, email, path } = await invite({ first_name: 'Ada' });
  issuer.person = { sub: id, email, email_verified: true };
  const { page } = await openWithIssuer(t, issuer);
  await page.goto(path);
  await page.getByRole('button', { name: 'Mit einem Passkey annehmen' }).waitFor();
  await page.getByRole('button', { name: 'Weiter mit Acme' }).waitFor();
  await assertShows(page, 'invitation-provider-de');
  await click(page, 'Weiter mit Acme');
  await page.waitForURL(/\/(overview|account)$/);
  await page.getByText(email).first().waitFor();
  const [stored] = await service.sql('select verified, invited_at from users where id = $1', [id]);
  assert.deepEqual(stored, { verified: true, invited_at: null });
  await page.goto(path);
  await page.getByText('Sie haben diese Einladung schon angenommen.').waitFor();
});

/** A visitor who reads German, and whom the issuer signs in at once. */
async function openWithIssuer(t: Hooks, issuer: Awaited<ReturnType<typeof startIssuer>>) {
  const opened = await newVisit(site.browser, { baseURL: PASSKEY_ORIGIN, locale: 'de-DE' });
  t.after(async () => {
    await opened.leave();
    assert.deepEqual(opened.complaints, []);
  });
  await opened.page.route(`${issuer.url}/**`, (route) => {
    const { redirectUri, parameters } = issuer.approve(route.request().url());
    return route.fulfill({ status: 303, headers: { location: `${redirectUri}?${parameters}` } });
  });
  return opened;
}
