// The service below a path of its host, behind nginx, in a real browser. Fails without a browser, and in CI without nginx.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { newVisit, openBrowser } from '@castellan/testing/e2e/browser';
import { eventually, type Hooks, newEmail, PASSWORD, startTestService } from '@castellan/testing/harness';
import { freePort } from '@castellan/testing/ports';
import { heading } from '../harness.ts';

const NGINX = '/usr/sbin/nginx';
const NEW_PASSWORD = 'ReplacementPassword!42';
const SITE = 'http://castellan.test';

/** Starts nginx, which serves the upstream at /accounts and at the inserted well-known places, and nothing else. */
async function startNginx(t: Hooks, upstream: string, isStripping: boolean): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'castellan-nginx-'));
  const port = await freePort();
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  await writeFile(
    join(folder, 'nginx.conf'),
    `daemon off; pid ${folder}/pid; error_log stderr; events {}
http {
  access_log off; absolute_redirect off; ${temporary.join(' ')}
  proxy_http_version 1.1; proxy_set_header Host $host; proxy_set_header Connection "";
  server {
    listen 127.0.0.1:${port};
    location /accounts/ { proxy_pass ${upstream}${isStripping ? '/' : ''}; }
    location = /.well-known/oauth-authorization-server/accounts { proxy_pass ${upstream}; }
    location / { return 404; }
  }
}`,
  );
  const nginx = spawn(NGINX, ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', 'stderr']);
  const ended = new Promise<void>((resolve) => {
    nginx.once('exit', () => resolve());
    nginx.once('error', () => resolve());
  });
  t.after(async () => {
    nginx.kill();
    await ended;
    await rm(folder, { recursive: true, force: true });
  });
  await eventually(
    () =>
      new Promise<true | undefined>((resolve) => {
        const socket = connect(port, '127.0.0.1', () => {
          socket.destroy();
          resolve(true);
        });
        socket.once('error', () => resolve(undefined));
      }),
    'nginx to listen',
  );
  return `http://127.0.0.1:${port}`;
}

for (const isStripping of [true, false])
  test(`below a path that the proxy ${isStripping ? 'removes' : 'keeps'}, people register, sign in, stay signed in, reset and sign out`, async (t) => {
    if (!existsSync(NGINX) && process.env.CI === undefined)
      return t.skip('nginx is not installed: apt-get install --no-install-recommends nginx');
    const service = await startTestService(t, { PUBLIC_URL: `${SITE}/accounts`, COOKIE_SECURE: 'false' });
    const proxy = await startNginx(t, service.url, isStripping);
    const browser = await openBrowser(t, { ...service, url: proxy });
    const { page, complaints, foreign, leave } = await newVisit(browser, { locale: 'en-US' });
    const missing: string[] = [];
    page.on('response', (response) => {
      if (response.status() >= 400) missing.push(`${response.status()} ${response.url()}`);
    });
    const fill = (label: string, text: string) => page.getByLabel(label).fill(text);
    const signIn = async (password: string): Promise<void> => {
      await fill('Email address', email);
      await page.getByLabel('Password', { exact: true }).fill(password);
      await page.keyboard.press('Enter');
      await page.waitForURL(`${SITE}/accounts/account`);
    };
    const linkOf = async (number: number): Promise<string> => {
      const [link = ''] = /http:\/\/\S+#token=[\w-]+/.exec((await service.mailTo(email, number)).text) ?? [];
      assert.ok(link.startsWith(`${SITE}/accounts/`), link);
      return link;
    };
    const cookiePaths = async () =>
      (await page.context().cookies()).filter(({ name }) => name === 'refresh_token').map(({ path }) => path);
    const email = newEmail();

    await page.goto('/accounts/register');
    await fill('First name', 'Ada');
    await fill('Last name', 'Lovelace');
    await fill('Email address', email);
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
    await page.getByRole('button', { name: 'Create the account' }).click();
    await page.waitForURL(`${SITE}/accounts/check-email`);
    await page.goto(await linkOf(0));
    await page.getByRole('button', { name: 'Confirm my email address' }).click();
    await page.getByRole('link', { name: 'Go to sign-in' }).click();
    await page.waitForURL(/\/accounts\/login/);
    await signIn(PASSWORD);
    assert.deepEqual(await cookiePaths(), ['/accounts/api/v1/auth']);
    await heading(page).waitFor();

    await page.reload();
    await heading(page).waitFor();
    assert.equal(new URL(page.url()).pathname, '/accounts/account');
    await page.getByRole('button', { name: /^Account of/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.waitForURL(/\/accounts\/login/);
    assert.deepEqual(await cookiePaths(), []);

    await page.goto('/accounts/forgot');
    await fill('Email address', email);
    await page.getByRole('button', { name: 'Send the link' }).click();
    await page.goto(await linkOf(1));
    await fill('New password', NEW_PASSWORD);
    await page.getByRole('button', { name: 'Set the password' }).click();
    await page.getByRole('link', { name: 'Go to sign-in' }).click();
    await page.waitForURL(/\/accounts\/login/);
    await signIn(NEW_PASSWORD);
    assert.deepEqual({ missing, foreign, complaints }, { missing: [], foreign: [], complaints: [] });

    const metadata = await fetch(`${proxy}/.well-known/oauth-authorization-server/accounts`);
    assert.equal((await metadata.json()).issuer, `${SITE}/accounts`);
    await leave();
  });
