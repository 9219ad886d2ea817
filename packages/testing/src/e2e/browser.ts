// Drives a real browser against one service, which it reaches under the service's public URL.
// Everything that the console or the network reports is kept, so that a test can check it.
import { existsSync } from 'node:fs';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import type { Hooks, TestService } from '../harness.ts';

const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';

export type Visit = { page: Page; complaints: string[]; foreign: string[] };

/**
 * Starts the browser. Throws when there is no Chromium. `PUBLIC_URL` of the service, if there is one, must be
 * http://castellan.test, which is the harness's default.
 */
export async function openBrowser(t: Hooks, service?: TestService): Promise<Browser> {
  if (!existsSync(executablePath))
    throw new Error(`there is no Chromium at ${executablePath}: install it, or name another in CHROMIUM`);
  const browser = await chromium.launch({
    executablePath,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      ...(service ? [`--host-resolver-rules=MAP castellan.test:80 ${new URL(service.url).host}`] : []),
    ],
  });
  t.after(() => browser.close());
  return browser;
}

/** Opens a page for a new visitor, who has no cookies. */
export async function newVisit(browser: Browser, options: BrowserContextOptions = {}): Promise<Visit> {
  const context = await browser.newContext({ baseURL: 'http://castellan.test', ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const visit: Visit = { page, complaints: [], foreign: [] };
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) visit.complaints.push(message.text());
  });
  page.on('pageerror', (error) => visit.complaints.push(String(error)));
  page.on('request', (request) => {
    const { protocol, hostname } = new URL(request.url());
    if (protocol !== 'data:' && hostname !== 'castellan.test') visit.foreign.push(request.url());
  });
  return visit;
}
