// Measures the first paint of the console in Chromium against a running service; prints a Markdown table.
// `CASTELLAN_URL=… CASTELLAN_EMAIL=… CASTELLAN_PASSWORD=… node bench/console.ts`, about a minute. Fill the service before:
// `castellan demo --users 12000`, and start it with RATE_LIMIT_NEW_ACCESS_TOKEN=off, because each visit takes a new access token.
// CHROMIUM names the browser (/usr/bin/chromium), BENCH_ROUNDS the rounds (5).
import { openBrowser } from '@castellan/testing/e2e/browser';
import { markdown, median } from './report/table.ts';

const {
  CASTELLAN_URL: url = 'http://localhost:8000',
  CASTELLAN_EMAIL: email = 'admin@example.com',
  CASTELLAN_PASSWORD: password = '',
  BENCH_ROUNDS: rounds = '5',
} = process.env;

type Browser = Awaited<ReturnType<typeof openBrowser>>;
type BrowserContextOptions = NonNullable<Parameters<Browser['newContext']>[0]>;

type Condition = { name: string; cpu: number; network: { latency: number; bitsPerSecond: number } | null };
const conditions: readonly Condition[] = [
  { name: 'slow 4G, CPU×4', cpu: 4, network: { latency: 150, bitsPerSecond: 1_600_000 } },
  { name: 'no throttling', cpu: 1, network: null },
];

/** What is opened, with the element whose appearance ends the measurement. */
const visits = [
  { path: '/users', until: '[data-row]', isSignedIn: true },
  // The page shows its frame before; its fields work from then on.
  { path: '/login', until: '[name="email"]', isSignedIn: false },
] as const;

type Figures = { fcp: number; lcp: number; rows: number; cls: number; requests: number };

/** Runs in the page before its own scripts. */
const observe = (until: string): string => `
  window.figures = { fcp: 0, lcp: 0, rows: 0, cls: 0 };
  const watch = (type, take) =>
    new PerformanceObserver((list) => list.getEntries().forEach(take)).observe({ type, buffered: true });
  watch('paint', ({ name, startTime }) => { if (name === 'first-contentful-paint') figures.fcp = startTime; });
  watch('largest-contentful-paint', ({ startTime }) => { figures.lcp = startTime; });
  watch('layout-shift', ({ value, hadRecentInput }) => { if (!hadRecentInput) figures.cls += value; });
  const observer = new MutationObserver(() => {
    if (!document.querySelector(${JSON.stringify(until)})) return;
    observer.disconnect();
    requestAnimationFrame(() => setTimeout(() => { figures.rows = performance.now(); }));
  });
  observer.observe(document, { childList: true, subtree: true });`;

async function measure(
  browser: Browser,
  { path, until }: (typeof visits)[number],
  { cpu, network }: Condition,
  state: BrowserContextOptions,
): Promise<Figures> {
  // A new context has an empty cache.
  const context = await browser.newContext(state);
  const page = await context.newPage();
  const devtools = await context.newCDPSession(page);
  await devtools.send('Emulation.setCPUThrottlingRate', { rate: cpu });
  if (network) {
    const bytes = network.bitsPerSecond / 8;
    await devtools.send('Network.enable');
    await devtools.send('Network.emulateNetworkConditions', {
      offline: false,
      latency: network.latency,
      downloadThroughput: bytes,
      uploadThroughput: bytes,
    });
  }
  await page.addInitScript(observe(until));
  let requests = 0;
  page.on('request', (request) => {
    if (request.url().includes('/api/')) requests += 1;
  });
  await page.goto(path, { waitUntil: 'commit' });
  await page.locator(until).first().waitFor({ timeout: 60_000 });
  const beforeRows = requests;
  await page.waitForLoadState('networkidle');
  const figures = await page.evaluate<Omit<Figures, 'requests'>>('figures');
  await context.close();
  return { ...figures, requests: beforeRows };
}

/** Returns cookies and storage of a signed-in browser. */
async function signIn(browser: Browser): Promise<BrowserContextOptions> {
  const context = await browser.newContext({ baseURL: url });
  const page = await context.newPage();
  await page.goto('/login');
  await page.locator('[name="email"]').fill(email);
  await page.locator('[name="password"]').fill(password);
  await page.keyboard.press('Enter');
  await page.waitForURL('**/overview');
  // By then the browser remembers which list the person may read.
  await page.waitForLoadState('networkidle');
  const storageState = await context.storageState();
  await context.close();
  return { baseURL: url, storageState };
}

const ends: (() => unknown)[] = [];
const browser = await openBrowser({ after: (end) => void ends.push(end) });
try {
  const signedIn = await signIn(browser);
  const rows: string[][] = [];
  for (const visit of visits)
    for (const condition of conditions) {
      const all: Figures[] = [];
      for (let round = 0; round < Number(rounds); round += 1)
        all.push(await measure(browser, visit, condition, visit.isSignedIn ? signedIn : { baseURL: url }));
      const of = (name: keyof Figures): number => median(all.map((figures) => figures[name]));
      const seconds = (name: 'fcp' | 'lcp' | 'rows'): string => (of(name) / 1_000).toFixed(2);
      rows.push([
        visit.path,
        condition.name,
        seconds('fcp'),
        seconds('lcp'),
        seconds('rows'),
        of('cls').toFixed(3),
        String(of('requests')),
      ]);
    }
  process.stdout.write(
    `${markdown(['Page', 'Condition', 'FCP, s', 'LCP, s', 'First rows, s', 'CLS', 'API requests before them'], rows)}\n`,
  );
} finally {
  for (const end of ends) await end();
}
