// `npm run example` as a reader of the documentation runs it, and its app in a real browser. Fails without a browser.
// No other test may build packages/sdk/dist, which this command replaces.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { globSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { clusterOf, isStopped, killAll, removeSystemHome, until } from '@castellan/embedded-postgres/testing';
import { openBrowser } from '@castellan/testing/e2e/browser';
import { freePort } from '@castellan/testing/ports';
import type { Page } from 'playwright-core';
import { type BrowserClient, createClient } from '../../src/index.ts';
import { cookieFetch } from '../cookie-fetch.ts';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const USER = { email: 'ada@example.com', password: 'Vexing#Quartz82Lime' };
const APIS = ['Fastify', 'Express'] as const;

/** Starts the command as the leader of a process group, as a terminal does. */
async function startExample() {
  const folder = mkdtempSync(join(tmpdir(), 'castellan-example-'));
  const [dataDir, temporary] = [join(folder, 'data'), join(folder, 'tmp')];
  mkdirSync(temporary);
  const [castellan, fastify, express, app] = [
    await freePort(),
    await freePort(),
    await freePort(),
    await freePort(),
  ];
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  const child = spawn('npm', ['run', 'example'], {
    cwd: root,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH,
      HOME,
      ...(NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }),
      TMPDIR: temporary,
      DATA_DIR: dataDir,
      CASTELLAN_PORT: String(castellan),
      FASTIFY_PORT: String(fastify),
      EXPRESS_PORT: String(express),
      APP_PORT: String(app),
    },
  });
  const { pid = 0 } = child;
  let printed = '';
  for (const output of [child.stdout, child.stderr])
    output.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
    });
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  /** Signals every process of the command. Returns false if none is left. */
  const signal = (name: NodeJS.Signals | 0): boolean => {
    try {
      return process.kill(-pid, name);
    } catch {
      return false;
    }
  };
  after(async () => {
    signal('SIGKILL');
    // Started by root, Castellan keeps its database outside DATA_DIR.
    await removeSystemHome(dataDir).finally(() => {
      killAll(folder);
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    });
  });
  await until('the example is ready', () => {
    if (child.exitCode !== null) assert.fail(printed);
    return printed.includes('Ctrl-C');
  });
  return {
    appUrl: `http://localhost:${app}`,
    castellanUrl: `http://localhost:${castellan}`,
    apiUrls: { Fastify: `http://127.0.0.1:${fastify}`, Express: `http://127.0.0.1:${express}` },
    dataDir,
    temporary,
    printed: () => printed,
    ended,
    signal,
  };
}

/** Returns the link in the only mail to this address. The file has it as it is (8bit). */
async function linkFor(email: string, dataDir: string): Promise<string> {
  const outbox = join(dataDir, 'outbox');
  const mails = (): string[] =>
    globSync('*.eml', { cwd: outbox })
      .filter((name) => name.includes(email))
      .map((name) => readFileSync(join(outbox, name), 'utf8'));
  await until('the mail is there', () => mails().some((mail) => mail.includes('verify=')));
  const [link] = /http:\/\/localhost:\d+\/#verify=[\w.-]+/.exec(mails()[0] ?? '') ?? [];
  return link ?? assert.fail('the mail has no link');
}

async function fill(page: Page, values: Record<string, string>): Promise<void> {
  for (const [name, value] of Object.entries(values)) await page.fill(`[name=${name}]`, value);
  await page.click('button[type=submit]');
}

async function placeOrder(page: Page, item: string): Promise<void> {
  await page.fill('[name=item]', item);
  await page.click('text=Place the order');
  await page.waitForSelector(`li:has-text("${item}")`);
}

/** Presses Ship of the order and returns the status of the response. */
async function ship(page: Page, item: string): Promise<number> {
  const answered = page.waitForResponse((one) => one.url().endsWith('/ship'));
  await page.click(`li:has-text("${item}") button`);
  return (await answered).status();
}

async function roleId(admin: BrowserClient, name: string): Promise<string> {
  for await (const role of admin.items('/api/v1/roles')) if (role.name === name) return role.id;
  return assert.fail(`there is no role ${name}`);
}

test('the example: from signing up to a revoked permission, a deactivation and Ctrl-C', async (t) => {
  const example = await startExample();
  const { appUrl, castellanUrl, apiUrls, dataDir } = example;
  const browser = await openBrowser(t);
  const page = await browser.newPage();
  page.setDefaultTimeout(60_000);
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(String(error)));
  let bearer = '';
  page.on('request', (request) => {
    bearer = request.headers().authorization ?? bearer;
  });

  await t.test('a person signs up, verifies the email with the link in the mail, and signs in', async () => {
    await page.goto(appUrl);
    await page.click('text=Sign up');
    await fill(page, { first_name: 'Ada', last_name: 'Lovelace', ...USER, password: 'short' });
    await page.waitForSelector('[role=alert] li');
    await fill(page, USER);
    await page.waitForSelector('text=Check your mail');
    const link = await linkFor(USER.email, dataDir);
    await page.goto('about:blank');
    await page.goto(link);
    await page.click('button[type=submit]');
    await page.waitForSelector('text=Your email is verified');
    await page.click('text=Sign in');
    await fill(page, USER);
    await page.waitForSelector('text=Place the order');
    assert.equal(await page.textContent('header span'), USER.email);
  });

  await t.test('orders are placed on both APIs, and not shipped', async () => {
    for (const api of APIS) {
      await page.selectOption('select', api);
      await placeOrder(page, `${api} paper`);
      await placeOrder(page, `${api} ink`);
    }
    assert.equal(await page.isVisible('text=Ship'), false);
  });

  const admin = createClient({ baseUrl: castellanUrl, fetch: cookieFetch() });
  t.after(() => admin.close());
  const password = readFileSync(join(dataDir, 'first-superuser-password'), 'utf8').trim();
  await admin.auth.signIn({ email: 'admin@example.com', password });
  const { data } = await admin.get('/api/v1/users', { query: { email: USER.email } });
  const path = { user_id: data.items[0]?.id ?? '' };
  const [customer, clerk] = [await roleId(admin, 'Customer'), await roleId(admin, 'Clerk')];

  await t.test('a role that an administrator grants can be used at once', async () => {
    await admin.post('/api/v1/users/{user_id}/roles', { path, body: { role_ids: [customer, clerk] } });
    await page.reload();
    for (const api of APIS) {
      await page.selectOption('select', api);
      assert.equal(await ship(page, `${api} paper`), 200);
      await page.waitForSelector(`li:has-text("${api} paper") em`);
    }
  });

  await t.test('after the revocation, calls are refused as soon as the guards have been told', async () => {
    await admin.delete('/api/v1/users/{user_id}/roles', { path, query: { role_ids: [clerk] } });
    // An order that does not exist: a caller who may ship is told so, and nothing happens.
    const shipping = (api: (typeof APIS)[number]) =>
      fetch(`${apiUrls[api]}/orders/${randomUUID()}/ship`, {
        method: 'POST',
        headers: { authorization: bearer },
      });
    for (const api of APIS)
      await until(`the guard of ${api} refuses`, async () => (await shipping(api)).status === 403);
    // The page has not asked again: its buttons are still there.
    for (const api of APIS) {
      await page.selectOption('select', api);
      assert.equal(await ship(page, `${api} ink`), 403);
      await page.waitForSelector('[role=alert]');
    }
    await page.reload();
    await page.waitForSelector('li:has-text("Fastify ink")');
    assert.equal(await page.isVisible('text="Ship"'), false);
  });

  await t.test('after the deactivation, calls are refused, and the page asks to sign in', async () => {
    const read = (api: (typeof APIS)[number]) =>
      fetch(`${apiUrls[api]}/orders`, { headers: { authorization: bearer } });
    for (const api of APIS) assert.equal((await read(api)).status, 200);
    await admin.put('/api/v1/users/{user_id}', { path, body: { is_active: false } });
    for (const api of APIS)
      await until(`the guard of ${api} refuses`, async () => (await read(api)).status === 401);
    await page.click('text=Reload');
    await page.waitForSelector('h1:has-text("Sign in")');
    await fill(page, USER);
    await page.waitForSelector('[role=alert]');
  });

  await t.test('Ctrl-C ends every process and leaves only the data', async () => {
    assert.deepEqual(problems, []);
    const cluster = clusterOf(dataDir);
    assert.ok(cluster !== undefined && !isStopped(cluster));
    const before = example.printed();
    example.signal('SIGINT');
    assert.equal(await example.ended, 0, example.printed());
    await until('no process is left', () => !example.signal(0));
    assert.equal(example.printed(), before);
    assert.ok(isStopped(cluster), 'the database still runs');
    assert.deepEqual(readdirSync(example.temporary), []);
  });
});
