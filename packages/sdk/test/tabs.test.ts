// Tabs of one browser, simulated in one process: a shared storage, real Web Locks and real BroadcastChannels.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Environment, openChannel } from '../src/environment.ts';
import {
  BASE_URL,
  CSRF,
  createHost,
  createService,
  createStorage,
  createTab,
  type FakeService,
  gate,
  hang,
  ME,
  REFRESH,
  refusal,
  signedInTab,
  USER,
} from './fixture.ts';

type Hooks = { after(hook: () => void): void };
let browsers = 0;

/** Returns a function that opens tabs of one new browser. They are closed when the test ends. */
function openBrowser(t: Hooks, service: FakeService, without: Partial<Environment> = {}) {
  browsers += 1;
  const name = `browser ${browsers} `;
  const storage = createStorage();
  const locks: Environment['locks'] = {
    request: (lock: string, ...rest: [never]) => navigator.locks.request(name + lock, ...rest),
    query: async () => {
      const { held = [] } = await navigator.locks.query();
      return { held: held.map((lock) => ({ name: lock.name?.replace(name, '') ?? '' })) };
    },
  };
  const openNamed: Environment['openChannel'] = (channel, onMessage) =>
    openChannel(name + channel, onMessage);
  return () => {
    const tab = createTab(service, {
      ...createHost(service),
      storage,
      locks,
      openChannel: openNamed,
      ...without,
    });
    t.after(() => tab.close());
    return tab;
  };
}

type Tab = ReturnType<ReturnType<typeof openBrowser>>;

/** Waits for a state; a message between tabs takes a moment. Fails only by the timeout of the test run. */
const becomes = (tab: Tab, state: string): Promise<void> =>
  new Promise((resolve) => {
    const look = () => tab.auth.state === state && resolve();
    tab.auth.subscribe(look);
    look();
  });

async function signedInTabs(open: () => Tab, count: number): Promise<Tab[]> {
  const tabs = Array.from({ length: count }, open);
  await tabs[0]?.auth.signIn(USER);
  await Promise.all(tabs.map((tab) => becomes(tab, 'authenticated')));
  return tabs;
}

const readAll = (tabs: Tab[]) => Promise.allSettled(tabs.map((tab) => tab.get('/api/v1/users/me')));
const statuses = (results: PromiseSettledResult<unknown>[]) => results.map(({ status }) => status);

test('a sign-in in one tab signs the others in, and they send nothing', async (t) => {
  const service = createService();
  const tabs = await signedInTabs(openBrowser(t, service), 3);
  assert.deepEqual(new Set(statuses(await readAll(tabs))), new Set(['fulfilled']));
  assert.equal(service.count(REFRESH), 0);
});

test('five tabs with expired tokens cause one refresh', async (t) => {
  const service = createService();
  const tabs = await signedInTabs(openBrowser(t, service), 5);
  service.expireTokens();
  assert.deepEqual(new Set(statuses(await readAll(tabs))), new Set(['fulfilled']));
  assert.equal(service.count(REFRESH), 1);
});

test('five tabs of a session that was revoked cause one refresh and are all signed out', async (t) => {
  const service = createService();
  const tabs = await signedInTabs(openBrowser(t, service), 5);
  service.endSession();
  assert.deepEqual(new Set(statuses(await readAll(tabs))), new Set(['rejected']));
  await Promise.all(tabs.map((tab) => becomes(tab, 'anonymous')));
  assert.equal(service.count(REFRESH), 1);
});

test('a new tab takes the token of another one', async (t) => {
  const service = createService();
  const open = openBrowser(t, service);
  await signedInTabs(open, 2);
  const tab = open();
  assert.equal(await tab.auth.restore(), 'authenticated');
  await tab.get('/api/v1/users/me');
  assert.equal(service.count(REFRESH), 0);
});

test('a new tab refreshes if the token of the other one has expired, too', async (t) => {
  const service = createService();
  const open = openBrowser(t, service);
  await signedInTabs(open, 1);
  const tab = open();
  await tab.auth.restore();
  service.expireTokens();
  await tab.get('/api/v1/users/me');
  assert.equal(service.count(REFRESH), 1);
});

test('a tab that gets an expired token of another tab refreshes within the same request', async (t) => {
  const service = createService();
  const open = openBrowser(t, service);
  await signedInTabs(open, 1);
  service.expireTokens();
  const tab = open();
  await tab.get('/api/v1/users/me');
  assert.equal(service.count(REFRESH), 1);
});

test('a sign-out reaches all tabs, as a separate event', async (t) => {
  const service = createService();
  const [first, second] = await signedInTabs(openBrowser(t, service), 2);
  const events: string[] = [];
  second?.auth.subscribe(({ type }) => void events.push(type));
  await first?.auth.signOut();
  await becomes(second!, 'anonymous');
  assert.deepEqual(events, ['signed_out']);
  assert.equal(await second?.auth.restore(), 'anonymous');
  assert.equal(service.count(REFRESH), 0);
});

test('another user who signs in in one tab changes the subject of all', async (t) => {
  const service = createService();
  const [first, second] = await signedInTabs(openBrowser(t, service), 2);
  const changed = new Promise((resolve) => second?.auth.subscribe(resolve));
  service.signInAs('u-2');
  await first?.auth.signIn(USER);
  assert.deepEqual(await changed, {
    type: 'subject_changed',
    state: 'authenticated',
    subject: 'u-2',
    formerSubject: 'u-1',
  });
});

test('a token renewed in one tab does not bring back the session that another one ended', async (t) => {
  const service = createService();
  const [first, second] = await signedInTabs(openBrowser(t, service), 2);
  const { opened, open } = gate();
  const token = service.issueToken();
  service.next(ME, () => refusal(401, 'token_expired'));
  service.next(REFRESH, async ({ init }) => {
    await Promise.race([opened, hang(init.signal)]);
    return new Response(JSON.stringify({ data: { access_token: token } }), {
      headers: { 'content-type': 'application/json' },
    });
  });
  const late = second!.get('/api/v1/users/me');
  while (service.count(REFRESH) === 0) await new Promise(setImmediate);
  await first?.auth.signOut();
  open();
  await assert.rejects(late, { status: 401 });
  await becomes(second!, 'anonymous');
  assert.equal(first?.auth.state, 'anonymous');
});

test('the tabs share one CSRF token', async (t) => {
  const service = createService();
  const tabs = await signedInTabs(openBrowser(t, service), 3);
  const write = () => Promise.all(tabs.map((tab) => tab.post('/api/v1/roles', { body: { name: 'A' } })));
  await write();
  assert.equal(service.count(CSRF), 1);
  service.replaceCsrf();
  await write();
  assert.equal(service.count(CSRF), 2);
});

/** Returns a tab of the newest browser that sends and answers what the test tells it. */
function openFalseTab(t: Hooks, onMessage: (message: Message) => void = () => {}) {
  const prefix = `browser ${browsers} castellan:${BASE_URL}:`;
  const { opened: closed, open: close } = gate();
  void navigator.locks.request(`${prefix}present`, { mode: 'shared' }, () => closed);
  const channel = new BroadcastChannel(prefix);
  channel.onmessage = ({ data }: MessageEvent<Message>) => onMessage(data);
  t.after(() => {
    close();
    channel.close();
  });
  return channel;
}
type Message = { type: string; id?: string; key?: string; to?: string };

test('a tab that does not answer delays a refresh and does not prevent it', async (t) => {
  const service = createService();
  const [tab] = await signedInTabs(openBrowser(t, service), 1);
  openFalseTab(t);
  service.expireTokens();
  await tab?.get('/api/v1/users/me');
  assert.equal(service.count(REFRESH), 1);
});

test('a request ends although the other tabs hold tokens that have expired, too', async (t) => {
  const service = createService();
  const [tab] = await signedInTabs(openBrowser(t, service), 1);
  const dead = [service.issueToken({ iat: 9 }), service.issueToken({ iat: 9 })];
  let questions = 0;
  const other = openFalseTab(t, ({ type, id, key }) => {
    if (type !== 'ask') return;
    const token = dead[questions % 2];
    questions += 1;
    other.postMessage({ type: 'answer', to: id, held: { key, token }, ended: null });
  });
  service.expireTokens();
  // A tab that asks without end would keep this test running.
  service.next(ME, ...Array.from({ length: 9 }, () => () => refusal(401, 'token_expired')));
  await assert.rejects(tab!.get('/api/v1/users/me'), { code: 'token_expired' });
  assert.deepEqual([questions, service.count(REFRESH), service.count(ME)], [1, 1, 3]);
});

test('a token of another tab that is older than that of this one is not adopted', async (t) => {
  const service = createService();
  const old = service.issueToken();
  const [tab] = await signedInTabs(openBrowser(t, service), 1);
  const other = openFalseTab(t, ({ type, id, key }) => {
    if (type === 'ask') other.postMessage({ type: 'answer', to: id, held: { key, token: old }, ended: null });
  });
  service.expireTokens();
  await tab?.get('/api/v1/users/me');
  assert.deepEqual([service.count(REFRESH), service.count(ME)], [1, 2]);
});

test('a token of another user under the same sign-in ends the session in all tabs', async (t) => {
  const service = createService();
  const tabs = await signedInTabs(openBrowser(t, service), 2);
  const { opened: asked, open: ask } = gate();
  const other = openFalseTab(t, ({ type, id, key }) => {
    if (type !== 'ask') return;
    const token = service.issueToken({ sub: 'u-2' });
    other.postMessage({ type: 'answer', to: id, held: { key, token }, ended: null });
    ask();
  });
  service.next(ME, () => refusal(401, 'token_expired'));
  await assert.rejects(tabs[0]!.get('/api/v1/users/me'), { code: 'token_expired' });
  await asked;
  await Promise.all(tabs.map((tab) => becomes(tab, 'anonymous')));
});

test('a tab learns from another one that the session is over, and does not refresh', async (t) => {
  const service = createService();
  const [tab] = await signedInTabs(openBrowser(t, service), 1);
  const other = openFalseTab(t, ({ type, id }) => {
    if (type === 'ask') other.postMessage({ type: 'answer', to: id, held: null, ended: 'signed_out' });
  });
  service.expireTokens();
  await assert.rejects(tab!.get('/api/v1/users/me'), { status: 401 });
  assert.equal(tab?.auth.state, 'anonymous');
  assert.equal(service.count(REFRESH), 0);
});

test('a token of an ended session and messages of other kinds are ignored', async (t) => {
  const service = createService();
  const [tab] = await signedInTabs(openBrowser(t, service), 1);
  const { opened: answered, open: answer } = gate();
  let key: string | undefined;
  const other = openFalseTab(t, (message) => {
    if (message.type === 'ended') key = message.key;
    if (message.type === 'answer') answer();
  });
  await tab?.auth.signOut();
  while (key === undefined) await new Promise(setImmediate);
  for (const message of [null, 'text', 5, {}, { type: 'other' }]) other.postMessage(message);
  other.postMessage({ type: 'token', key, token: service.issueToken() });
  // Messages arrive in order: the answer to a question follows what was sent before.
  other.postMessage({ type: 'ask', id: 'q', key });
  await answered;
  assert.equal(tab?.auth.state, 'anonymous');
});

test('without Web Locks, tabs share what they have renewed', async (t) => {
  const service = createService();
  const tabs = await signedInTabs(openBrowser(t, service, { locks: null }), 3);
  service.expireTokens();
  await tabs[0]?.get('/api/v1/users/me');
  assert.deepEqual(new Set(statuses(await readAll(tabs))), new Set(['fulfilled']));
  assert.equal(service.count(REFRESH), 1);
});

test('without BroadcastChannel, each tab refreshes for itself', async (t) => {
  const service = createService();
  const open = openBrowser(t, service, { openChannel: null });
  const first = open();
  await first.auth.signIn(USER);
  const second = open();
  await second.auth.restore();
  service.expireTokens();
  assert.deepEqual(new Set(statuses(await readAll([first, second]))), new Set(['fulfilled']));
  assert.equal(service.count(REFRESH), 3);
});

test('stored values are named after the service, so that clients of two services do not mix', async (t) => {
  const storage = createStorage();
  const service = createService();
  const tab = await signedInTab(service, { ...createHost(service), storage });
  t.after(() => tab.close());
  assert.deepEqual([...storage.values.keys()].sort(), [
    'castellan:https://accounts.example.com:csrf',
    'castellan:https://accounts.example.com:session',
  ]);
});
