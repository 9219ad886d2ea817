// Passkeys are bound to a domain: what people see after the service has moved, and where there can be no passkeys.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { pipeline } from 'node:stream';
import { after, test } from 'node:test';
import { createServer } from 'node:tls';
import { plugIn } from '@castellan/testing/e2e/authenticator';
import { openBrowserFor } from '@castellan/testing/e2e/browser';
import { type Hooks, startTestService, type TestService } from '@castellan/testing/harness';
import { makeCertificate } from '@castellan/testing/http/certificate';
import { portOf } from '@castellan/testing/ports';
import type { Page } from 'playwright-core';
import { assertAccessible } from '../../accessibility.ts';
import { heading } from '../../harness.ts';
import { button } from '../../own-factors.ts';
import { sendPassword, status, visit } from '../sign-in/visits.ts';
import { arrive, arriveWithPasskey, type PasskeyVisitor, signOut, type Visitor } from './people.ts';

const OLD = 'http://old.localhost';
const NEW = 'http://new.localhost';
const FORGETFUL = 'http://forgetful.localhost';
const SHARED = 'http://id.company.localhost';
const ADDRESS = 'http://127.0.0.1';

const start = (environment: Record<string, string>): Promise<TestService> =>
  startTestService({ after }, { COOKIE_SECURE: 'false', ...environment });
const old = await start({ PUBLIC_URL: OLD });
const moved = await old.another({ PUBLIC_URL: NEW, PASSKEY_FORMER_RP_IDS: 'old.localhost' });
const forgetful = await old.another({ PUBLIC_URL: FORGETFUL });
const shared = await start({ PUBLIC_URL: SHARED, PASSKEY_RP_ID: 'company.localhost' });
const nameless = await start({ PUBLIC_URL: ADDRESS });

/** What is left at the old address: a proxy that sends each request to the service, while it runs. */
let isServing = true;
async function startOldAddress(service: TestService): Promise<string> {
  const server = createServer(makeCertificate('old.localhost'), (socket) => {
    const { hostname, port } = new URL(service.url);
    if (!isServing) return void socket.destroy();
    const upstream = connect(Number(port), hostname);
    pipeline(socket, upstream, socket, () => {});
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  after(() => server.close());
  return `127.0.0.1:${portOf(server)}`;
}

const hostOf = ({ url }: TestService): string => new URL(url).host;
const browser = await openBrowserFor(
  { after },
  {
    'old.localhost:443': await startOldAddress(moved),
    'old.localhost:80': hostOf(old),
    'new.localhost:80': hostOf(moved),
    'forgetful.localhost:80': hostOf(forgetful),
    'id.company.localhost:80': hostOf(shared),
    '127.0.0.1:80': hostOf(nameless),
  },
);

/** Opens the service at its new address, on the device of a person who added a passkey at the old one. */
async function move(t: Hooks, baseURL: string): Promise<PasskeyVisitor> {
  const before = await arriveWithPasskey(t, { service: old, browser }, { baseURL: OLD });
  const page = await visit(t, browser, { expected: ['422', '403'], context: { baseURL } });
  const device = await plugIn(page);
  await device.take(await before.authenticator.credentials());
  return { ...before, page, authenticator: device };
}

async function sendOwnPassword({ page, person }: Visitor): Promise<void> {
  await page.goto('/login?next=%2Faccount');
  await sendPassword(page, person.email, person.password);
  await heading(page).getByText('Confirm that it is you').waitFor();
}

const use = (page: Page) => button(page, 'Use passkey');
const passkeys = (page: Page) => page.getByRole('region', { name: 'Passkeys' });

test('after a move, a passkey of the old domain still confirms, and one of the new domain is added', async (t) => {
  const visitor = await move(t, NEW);
  const { page, authenticator } = visitor;
  isServing = true;
  await sendOwnPassword(visitor);
  await use(page).click();
  await page.waitForURL('**/account');
  await passkeys(page).getByText('Chrome on Linux').waitFor();
  assert.equal(await page.getByText('Only for old.localhost').count(), 0);
  await button(page, 'Add a passkey').click();
  await page.getByRole('dialog', { name: 'Add a passkey' }).getByLabel('Name').fill('The new one');
  await button(page.getByRole('dialog', { name: 'Add a passkey' }), 'Continue').click();
  await passkeys(page).getByText('The new one').waitFor();
  const made = await authenticator.credentials();
  assert.deepEqual(made.map(({ rpId }) => rpId).sort(), ['new.localhost', 'old.localhost']);
  // The old address is given up.
  isServing = false;
  await signOut(visitor);
  await page.goto('/login?next=%2Faccount');
  await page.waitForURL('**/account');
});

test('while the old domain does not answer, its passkeys cannot be used, and the other ways can', async (t) => {
  const visitor = await move(t, NEW);
  const { page } = visitor;
  isServing = false;
  await sendOwnPassword(visitor);
  await use(page).click();
  await status(page).getByText('Nothing happened. Try again, or choose another way.').waitFor();
  await button(page, 'Recovery code').waitFor();
  isServing = true;
  await use(page).click();
  await page.waitForURL('**/account');
});

test('a passkey of a domain that no setting names is marked, and another way signs in', async (t) => {
  const visitor = await move(t, FORGETFUL);
  const { page, recoveryCodes } = visitor;
  await sendOwnPassword(visitor);
  await page.getByLabel('Recovery code').waitFor();
  assert.equal(await page.getByText('Passkey or security key').count(), 0);
  await page.getByLabel('Recovery code').fill(recoveryCodes[0] ?? '');
  await button(page, 'Confirm').click();
  await page.waitForURL('**/account');
  await passkeys(page).getByText('Only for old.localhost').waitFor();
  await assertAccessible(page, 'a passkey of another domain');
});

test('an address without a name has no passkeys, and its pages do not speak of them', async (t) => {
  const { page } = await arrive(t, { service: nameless, browser }, '/account', { baseURL: ADDRESS });
  assert.equal(await page.evaluate('"PublicKeyCredential" in globalThis'), true);
  await button(page, 'Set up an authenticator app').waitFor();
  assert.equal(await page.getByText(/passkey|security key/i).count(), 0);
  const methods = page.waitForResponse('**/sign-in-methods');
  await page.goto('/login');
  await methods;
  await page.waitForLoadState('networkidle');
  assert.equal(await page.getByText(/passkey/i).count(), 0);
});

test('a domain above the host has passkeys, too', async (t) => {
  const place = { baseURL: SHARED };
  const { page, authenticator } = await arriveWithPasskey(t, { service: shared, browser }, place);
  const [made] = await authenticator.credentials();
  assert.equal(made?.rpId, 'company.localhost');
  await page.goto('/login?next=%2Faccount');
  await page.waitForURL('**/account');
});
