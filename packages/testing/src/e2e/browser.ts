// Drives a real browser against one service, which it reaches under the service's public URL: one of NAMES.
// Everything that the console or the network reports is kept, so that a test can check it.
import { existsSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { pipeline } from 'node:stream';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import type { Hooks, TestService } from '../harness.ts';

const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';

/** The harness's default. */
const ORIGIN = 'http://castellan.test';

/** A service at this origin has passkeys: without HTTPS, browsers have them for `localhost` and the names below it only. */
export const PASSKEY_ORIGIN = 'http://accounts.localhost';

/** What resolves to the service. */
const NAMES = ['castellan.test:80', '*.localhost:80', '127.0.0.1:80'];

/** Hosts with their ports, and where each resolves to. The first that matches counts. */
type Hosts = Readonly<Record<string, string>>;

export type Visit = {
  page: Page;
  complaints: string[];
  foreign: string[];
  /** Ends the visit. */
  leave(): Promise<void>;
};

type KeptBrowser = {
  browser: Browser;
  /** Lets this service answer for NAMES until `t` ends. */
  show(t: Hooks, service: TestService): void;
};

let kept: Promise<KeptBrowser> | null | undefined;

/**
 * Lets the files of this process share a browser that starts with the first and closes with `t`, because a new one
 * compiles the console again. The files must run one after the other.
 */
export function keepBrowser(t: Hooks): void {
  kept = null;
  t.after(async () => (await kept)?.browser.close());
}

/**
 * Starts the browser, or returns the one that the process shares. Throws when there is no Chromium. The host of `PUBLIC_URL`
 * of the service, if there is one, must be one of NAMES.
 */
export async function openBrowser(t: Hooks, service?: TestService): Promise<Browser> {
  if (service && kept !== undefined) {
    kept ??= startKept();
    const { browser, show } = await kept;
    show(t, service);
    return browser;
  }
  const browser = await launch(service ? allTo(new URL(service.url).host) : {});
  t.after(() => browser.close());
  return browser;
}

/** Starts a browser for several services. It takes every certificate. */
export async function openBrowserFor(t: Hooks, hosts: Hosts): Promise<Browser> {
  const browser = await launch(hosts, ['--ignore-certificate-errors']);
  t.after(() => browser.close());
  return browser;
}

const allTo = (host: string): Hosts => Object.fromEntries(NAMES.map((name) => [name, host]));

async function launch(hosts: Hosts, args: readonly string[] = []): Promise<Browser> {
  const rules = Object.entries(hosts).map(([name, host]) => `MAP ${name} ${host}`);
  if (!existsSync(executablePath))
    throw new Error(`there is no Chromium at ${executablePath}: install it, or name another in CHROMIUM`);
  return chromium.launch({
    executablePath,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      ...args,
      `--host-resolver-rules=${rules.join(',')}`,
    ],
  });
}

/** Starts a browser that reaches its service through a port of this process, because its rules for hosts cannot change. */
async function startKept(): Promise<KeptBrowser> {
  let shown = { host: '127.0.0.1', port: 0 };
  const open = new Set<Socket>();
  const entrance: Server = createServer((incoming) => {
    const outgoing = connect(shown);
    open.add(incoming);
    // Either side may end the connection, in any way.
    pipeline(incoming, outgoing, incoming, () => open.delete(incoming));
  });
  // The browser would use a connection again, and so ask the service before.
  const lead = (to: typeof shown): void => {
    shown = to;
    for (const socket of open) socket.destroy();
  };
  await new Promise<void>((resolve) => entrance.listen(0, '127.0.0.1', resolve));
  const address = entrance.address();
  if (address === null || typeof address === 'string') throw new Error('the entrance has no port');
  const browser = await launch(allTo(`127.0.0.1:${address.port}`));
  browser.on('disconnected', () => entrance.close());
  return {
    browser,
    show: (t, { url }) => {
      const before = shown;
      const { hostname, port } = new URL(url);
      lead({ host: hostname, port: Number(port) });
      t.after(async () => lead(before));
    },
  };
}

/** Opens a separate window for a new visitor, who has no cookies. `baseURL`: the public URL of the service. */
export async function newVisit(browser: Browser, options: BrowserContextOptions = {}): Promise<Visit> {
  const page = await openWindow(browser, options);
  return { ...watched(page, options.baseURL), leave: () => page.context().close() };
}

async function openWindow(browser: Browser, options: BrowserContextOptions): Promise<Page> {
  const context = await browser.newContext({ baseURL: ORIGIN, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  return page;
}

/** A small page of the service, on which windows wait for their next visitor. */
export const WAITING_PAGE = `${ORIGIN}/docs/errors`;
const VIEWPORT = { width: 1280, height: 720 };

/** Windows without a visitor. */
const vacant = new WeakMap<Browser, Page[]>();

/**
 * Opens WAITING_PAGE for a new visitor, in a window that an earlier one has left: cookies, storage, routes and other
 * tabs are gone, but the browser still has the compiled code, so that a page takes half the CPU time.
 */
export async function nextVisit(browser: Browser): Promise<Visit> {
  const pages = vacant.get(browser) ?? [];
  vacant.set(browser, pages);
  const page = pages.pop() ?? (await openWindow(browser, { locale: 'en-US', viewport: VIEWPORT }));
  if (page.url() !== WAITING_PAGE) await page.goto(WAITING_PAGE);
  const leave = async (): Promise<void> => {
    try {
      await vacate(page);
      pages.push(page);
    } catch {
      // The page hangs, crashed or was closed. The next visitor gets another window.
      await page.context().close();
    }
  };
  return { ...watched(page), leave };
}

const watchedEvents = ['console', 'dialog', 'pageerror', 'request', 'response'] as const;

async function vacate(page: Page): Promise<void> {
  const context = page.context();
  for (const event of watchedEvents) page.removeAllListeners(event);
  for (const other of context.pages()) if (other !== page) await other.close();
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  await context.setOffline(false);
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'no-preference' });
  await page.setViewportSize(VIEWPORT);
  page.setDefaultTimeout(60_000);
  // Before the storage is cleared, because the page that is left may still write to it.
  await page.goto(WAITING_PAGE);
  await page.evaluate('localStorage.clear(), sessionStorage.clear()');
  await context.clearCookies();
}

/** Chromium says so of most pages of tests, because ORIGIN is neither HTTPS nor localhost. */
const OPENER_POLICY_IGNORED = 'The Cross-Origin-Opener-Policy header has been ignored';

function watched(page: Page, origin = ORIGIN): Omit<Visit, 'leave'> {
  const { hostname: own } = new URL(origin);
  const complaints: string[] = [];
  const foreign: string[] = [];
  page.on('console', (message) => {
    if (!['error', 'warning'].includes(message.type())) return;
    if (!message.text().startsWith(OPENER_POLICY_IGNORED)) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('request', (request) => {
    const { protocol, hostname } = new URL(request.url());
    if (protocol !== 'data:' && hostname !== own) foreign.push(request.url());
  });
  return { page, complaints, foreign };
}
