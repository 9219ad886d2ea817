// The session of a browser: sign-in, refresh, CSRF tokens, sign-out.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import type { Environment } from '../src/environment.ts';
import type { SessionEvent } from '../src/session/session.ts';
import {
  CSRF,
  createHost,
  createService,
  createStorage,
  createTab,
  gate,
  hang,
  json,
  ME,
  REFRESH,
  refusal,
  signedInTab,
  USER,
} from './fixture.ts';

const LOGIN = 'POST /api/v1/auth/login';
const LOGOUT = 'POST /api/v1/auth/logout';

/** Returns the types of the events that follow. */
function eventsOf(tab: ReturnType<typeof createTab>): string[] {
  const types: string[] = [];
  tab.auth.subscribe(({ type, state }: SessionEvent) => void types.push(`${type}: ${state}`));
  return types;
}

test('a sign-in sends the CSRF token, then requests carry the access token', async () => {
  const service = createService();
  const tab = createTab(service);
  const events = eventsOf(tab);
  assert.equal(tab.auth.state, 'unknown');
  assert.deepEqual(await tab.auth.signIn(USER), { id: 'u-1' });
  assert.equal(tab.auth.subject, 'u-1');
  assert.deepEqual(events, ['authenticated: authenticated']);
  await tab.get('/api/v1/users/me');
  const [csrf, login, me] = service.requests;
  assert.equal(csrf?.path, '/api/v1/auth/csrf-token');
  assert.equal(login?.headers.get('x-csrf-token'), 'csrf-1');
  assert.equal(login?.init.credentials, 'include');
  assert.match(me?.headers.get('authorization') ?? '', /^Bearer head\./);
  assert.equal(me?.headers.get('x-csrf-token'), null, 'a GET needs no CSRF token');
});

test('20 requests with an expired token cause one refresh and are all repeated', async () => {
  const service = createService();
  const tab = await signedInTab(service);
  const events = eventsOf(tab);
  service.expireTokens();
  const results = await Promise.all(Array.from({ length: 20 }, () => tab.get('/api/v1/users/me')));
  assert.equal(results.length, 20);
  assert.equal(service.count(REFRESH), 1);
  assert.equal(service.count(ME), 40);
  assert.deepEqual(events, [], 'a renewed token is no event');
});

test('a 401 of the refresh is not repeated and ends the session', async () => {
  const service = createService();
  const tab = await signedInTab(service);
  const events = eventsOf(tab);
  service.endSession();
  await assert.rejects(tab.get('/api/v1/users/me'), { code: 'token_expired', status: 401 });
  assert.equal(service.count(REFRESH), 1);
  assert.deepEqual(events, ['session_ended: anonymous']);
  await assert.rejects(tab.get('/api/v1/users/me'), { status: 401 });
  assert.equal(service.count(REFRESH), 1, 'nobody is signed in, so nothing is refreshed');
});

test('a token that is refused although it is new ends the request, not in a loop', async () => {
  const service = createService();
  const tab = await signedInTab(service);
  service.always(ME, () => refusal(401, 'token_revoked'));
  await assert.rejects(tab.get('/api/v1/users/me'), { code: 'token_revoked' });
  assert.equal(service.count(REFRESH), 1);
  assert.equal(service.count(ME), 2);
});

test('without a session restore sends nothing; with one it sends one refresh', async () => {
  const service = createService();
  const storage = createStorage();
  const first = createTab(service, { ...createHost(service), storage });
  const events = eventsOf(first);
  assert.equal(await first.auth.restore(), 'anonymous');
  assert.deepEqual(events, ['anonymous: anonymous']);
  assert.equal(service.requests.length, 0);
  await first.auth.signIn(USER);

  const reloaded = createTab(service, { ...createHost(service), storage });
  assert.equal(await reloaded.auth.restore(), 'authenticated');
  assert.equal(service.count(REFRESH), 1);
  await reloaded.get('/api/v1/users/me');
});

test('a restore that ends after a sign-in keeps the new session', async () => {
  const service = createService();
  const storage = createStorage();
  await signedInTab(service, { ...createHost(service), storage });
  service.endSession();
  const { opened, open } = gate();
  let tasks = 0;
  const locks: Environment['locks'] = {
    // As in a browser, where the result of a task arrives later than the task ends.
    request: async (name: string, task: unknown) => {
      if (typeof task !== 'function') return new Promise(() => {});
      const result = await task();
      if (name.endsWith('refresh')) {
        tasks += 1;
        await opened;
      }
      return result;
    },
    query: async () => ({}),
  };
  const reloaded = createTab(service, { ...createHost(service), storage, locks });
  const restored = reloaded.auth.restore();
  while (tasks === 0) await new Promise(setImmediate);
  await reloaded.auth.signIn(USER);
  open();
  assert.equal(await restored, 'authenticated');
  assert.equal(reloaded.auth.subject, 'u-1');
});

test('a request of a reloaded page gets its token by itself', async () => {
  const service = createService();
  const storage = createStorage();
  await signedInTab(service, { ...createHost(service), storage });
  const reloaded = createTab(service, { ...createHost(service), storage });
  await reloaded.get('/api/v1/users/me');
  assert.equal(service.count(REFRESH), 1);
});

test('a refresh waits after 429 and 503 and keeps the session', async () => {
  const service = createService();
  const host = createHost(service);
  const tab = await signedInTab(service, host);
  service.expireTokens();
  service.next(
    REFRESH,
    () => refusal(429, 'rate_limited', { 'retry-after': '7' }),
    () => refusal(503, 'overloaded', { 'retry-after': '2' }),
  );
  await tab.get('/api/v1/users/me');
  assert.deepEqual(host.sleeps, [7_000, 2_000]);
  assert.equal(tab.auth.state, 'authenticated');
});

test('a refresh that fails without 401 keeps the session, and the next request tries again', async () => {
  const service = createService();
  const tab = await signedInTab(service);
  const failures = [
    () => Promise.reject(new TypeError('fetch failed')),
    () => refusal(500, 'internal_error'),
    () => refusal(403, 'permission_denied'),
    () => new Response('<html>', { status: 502 }),
  ];
  for (const failure of failures) {
    service.expireTokens();
    service.next(REFRESH, failure, failure, failure);
    await assert.rejects(tab.get('/api/v1/users/me'));
    assert.equal(tab.auth.state, 'authenticated');
    service.clear(REFRESH);
  }
  await tab.get('/api/v1/users/me');
});

test('a 401 that is not of the service fails the refresh and keeps the session', async () => {
  const service = createService();
  const tab = await signedInTab(service);
  service.expireTokens();
  service.next(
    REFRESH,
    () => new Response('<html>', { status: 401 }),
    () => refusal(401, 'token_missing'),
  );
  await assert.rejects(tab.get('/api/v1/users/me'), { code: 'malformed_response', status: 401 });
  await assert.rejects(tab.get('/api/v1/users/me'), { code: 'token_missing' });
  assert.equal(tab.auth.state, 'authenticated');
  await tab.get('/api/v1/users/me');
});

test('a refusal longer than the client waits is not asked for again before it is over', async () => {
  const service = createService();
  const host = createHost(service);
  const tab = await signedInTab(service, host);
  service.expireTokens();
  service.next(REFRESH, () => refusal(429, 'rate_limited', { 'retry-after': '60' }));
  for (let i = 0; i < 3; i++)
    await assert.rejects(tab.get('/api/v1/users/me'), { code: 'rate_limited', retryAfterMs: 60_000 });
  assert.equal(service.count(REFRESH), 1);
  await host.sleep(45_000);
  await tab.get('/api/v1/users/me');
  assert.equal(host.sleeps.at(-1), 15_000, 'the rest is short enough to wait for');
  assert.equal(service.count(REFRESH), 2);
});

test('the body of a POST is sent again after a refresh', async () => {
  const service = createService();
  const tab = await signedInTab(service);
  service.expireTokens();
  const body = { name: 'Editors', description: 'They edit.' };
  const answer = await tab.post('/api/v1/roles', { body });
  assert.deepEqual(answer.data, { echo: JSON.stringify(body) });
  const [first, second] = service.requests.filter((one) => one.path === '/api/v1/roles');
  assert.equal(first?.body, second?.body);
  assert.equal(first?.headers.get('idempotency-key'), second?.headers.get('idempotency-key'));
});

test('a caller that gives up does not end the refresh that others wait for', async () => {
  const service = createService();
  const tab = await signedInTab(service);
  service.expireTokens();
  const { opened, open } = gate();
  service.next(REFRESH, async ({ init }) => {
    await Promise.race([opened, hang(init.signal)]);
    return new Response(JSON.stringify({ data: { access_token: service.issueToken() } }), {
      headers: { 'content-type': 'application/json' },
    });
  });
  const controller = new AbortController();
  const aborted = tab.get('/api/v1/users/me', { signal: controller.signal });
  const patient = tab.get('/api/v1/users/me');
  while (service.count(REFRESH) === 0) await new Promise(setImmediate);
  controller.abort(new Error('closed'));
  await assert.rejects(aborted, { message: 'closed' });
  open();
  await patient;
  assert.equal(service.count(REFRESH), 1);
});

test('a token that arrives after the sign-out does not bring the session back', async () => {
  const service = createService();
  const tab = await signedInTab(service);
  const token = service.issueToken();
  const { opened, open } = gate();
  service.next(ME, () => refusal(401, 'token_expired'));
  service.next(REFRESH, async () => {
    await opened;
    return new Response(JSON.stringify({ data: { access_token: token } }), {
      headers: { 'content-type': 'application/json' },
    });
  });
  const late = tab.get('/api/v1/users/me');
  while (service.count(REFRESH) === 0) await new Promise(setImmediate);
  await tab.auth.signOut();
  open();
  await assert.rejects(late, { status: 401 });
  assert.equal(tab.auth.state, 'anonymous');
  assert.equal(tab.auth.subject, null);
});

/** Holds the next sign-in back until `open` is called. The service signs this user in then. */
function holdSignIn(service: ReturnType<typeof createService>, subject: string): () => void {
  const { opened, open } = gate();
  service.next(LOGIN, async () => {
    await opened;
    service.signInAs(subject);
    return json(200, { data: { access_token: service.issueToken(), user: { id: subject } } });
  });
  return open;
}

test('a sign-out waits for a sign-in that has begun, and ends it', async () => {
  const service = createService();
  const tab = createTab(service);
  const open = holdSignIn(service, 'u-1');
  const signIn = tab.auth.signIn(USER);
  while (service.count(LOGIN) === 0) await new Promise(setImmediate);
  const signOut = tab.auth.signOut();
  open();
  await Promise.all([signIn, signOut]);
  assert.equal(tab.auth.state, 'anonymous');
  assert.equal(service.count(LOGOUT), 1);
});

test('of two sign-ins at once, the last one decides who is signed in', async () => {
  const service = createService();
  const tab = createTab(service);
  const open = holdSignIn(service, 'u-1');
  service.next(LOGIN, () => {
    service.signInAs('u-2');
    return json(200, { data: { access_token: service.issueToken(), user: { id: 'u-2' } } });
  });
  const both = [tab.auth.signIn(USER), tab.auth.signIn(USER)];
  while (service.count(LOGIN) === 0) await new Promise(setImmediate);
  // The second one would be answered by now if it did not wait.
  for (let i = 0; i < 20; i++) await new Promise(setImmediate);
  open();
  assert.deepEqual(await Promise.all(both), [{ id: 'u-1' }, { id: 'u-2' }]);
  assert.equal(tab.auth.subject, 'u-2');
  assert.equal((await tab.post('/api/v1/roles', { body: { name: 'A' } })).message, 'done');
});

test('a sign-in that fails does not keep the next one from running', async () => {
  const service = createService();
  const tab = createTab(service);
  service.next(LOGIN, () => refusal(401, 'invalid_credentials'));
  const first = tab.auth.signIn(USER);
  const second = tab.auth.signIn(USER);
  await assert.rejects(first, { code: 'invalid_credentials' });
  assert.deepEqual(await second, { id: 'u-1' });
});

test('a sign-in that waits for another one ends with its signal', async () => {
  const service = createService();
  const tab = createTab(service);
  const open = holdSignIn(service, 'u-1');
  const first = tab.auth.signIn(USER);
  const reason = new Error('closed');
  const controller = new AbortController();
  const second = tab.auth.signIn(USER, { signal: controller.signal });
  controller.abort(reason);
  await assert.rejects(second, (error) => error === reason);
  open();
  await first;
  await tab.auth.signOut();
  assert.equal(service.count(LOGIN), 1);
});

test('a password change whose token has expired refreshes in its turn', async () => {
  const service = createService();
  const tab = await signedInTab(service);
  service.expireTokens();
  await tab.auth.changePassword({ current_password: 'a', new_password: 'b' });
  assert.equal(service.count(REFRESH), 1);
});

test('a sign-out ends the session here even if the call fails, and rejects', async () => {
  const service = createService();
  const tab = await signedInTab(service);
  const events = eventsOf(tab);
  service.next(LOGOUT, () => refusal(500, 'internal_error'));
  await assert.rejects(tab.auth.signOut(), { code: 'internal_error' });
  assert.deepEqual(events, ['signed_out: anonymous']);
  await tab.auth.signOut();
  assert.equal(service.count(LOGOUT), 1, 'there is no session left to end');
});

test('an aborted sign-out has ended the session here when it rejects', async () => {
  const service = createService();
  const tab = await signedInTab(service);
  await assert.rejects(tab.auth.signOut({ signal: AbortSignal.abort(new Error('closed')) }), {
    message: 'closed',
  });
  assert.equal(tab.auth.state, 'anonymous');
});

test('a storage that is full does not keep anybody from signing in, writing and signing out', async () => {
  const service = createService();
  const storage = createStorage();
  const tab = createTab(service, {
    ...createHost(service),
    storage: {
      ...storage,
      setItem: () => {
        throw new DOMException('full', 'QuotaExceededError');
      },
    },
  });
  await tab.auth.signIn(USER);
  await tab.post('/api/v1/roles', { body: { name: 'A' } });
  assert.equal(service.count(CSRF), 1);
  service.expireTokens();
  await tab.get('/api/v1/users/me');
  await tab.auth.signOut();
  assert.equal(await tab.auth.restore(), 'anonymous');
  assert.equal(service.count(REFRESH), 1);
});

test('signing out of a session that is over succeeds', async () => {
  const service = createService();
  const tab = await signedInTab(service);
  service.endSession();
  await tab.auth.signOut();
  assert.equal(tab.auth.state, 'anonymous');
});

test('a password change adopts the new session', async () => {
  const service = createService();
  const tab = await signedInTab(service);
  const before = service.requests.at(-1);
  await tab.auth.changePassword({ current_password: 'a', new_password: 'b' });
  await tab.get('/api/v1/users/me');
  assert.notEqual(
    before?.headers.get('authorization'),
    service.requests.at(-1)?.headers.get('authorization'),
  );
  assert.equal(service.count(REFRESH), 0);
});

test('a renewed token of another user ends the session', async () => {
  const service = createService();
  const tab = await signedInTab(service);
  const events = eventsOf(tab);
  service.expireTokens();
  service.signInAs('u-2');
  await assert.rejects(tab.post('/api/v1/roles', { body: { name: 'Editors' } }), { code: 'token_expired' });
  assert.equal(service.count('POST /api/v1/roles'), 1);
  assert.deepEqual(events, ['session_ended: anonymous']);
  assert.equal(tab.auth.subject, null);
});

/** Loads a page anew in a tab whose storage stays, and restores its session. */
async function loadAnew(service: ReturnType<typeof createService>, kept: Partial<Environment>) {
  const tab = createTab(service, { ...createHost(service), ...kept });
  const events: SessionEvent[] = [];
  tab.auth.subscribe((event) => void events.push(event));
  await tab.auth.restore();
  tab.close();
  return events.map(({ type, subject, formerSubject }) => ({ type, subject, formerSubject }));
}

test('a page that is loaded anew and finds the session of another user says so, once', async () => {
  const service = createService();
  const kept = { storage: createStorage(), tabStorage: createStorage() };
  await signedInTab(service, { ...createHost(service), ...kept });
  const same = { type: 'authenticated', subject: 'u-1', formerSubject: null };
  assert.deepEqual(await loadAnew(service, kept), [same]);
  // A neighbouring site replaced the cookie, or another tab signed in while this one showed another site.
  service.signInAs('u-2');
  const changed = { type: 'subject_changed', subject: 'u-2', formerSubject: 'u-1' };
  assert.deepEqual(await loadAnew(service, kept), [changed]);
  assert.deepEqual(await loadAnew(service, kept), [{ ...same, subject: 'u-2' }]);
  const another = { ...kept, tabStorage: createStorage() };
  assert.deepEqual(await loadAnew(service, another), [{ ...same, subject: 'u-2' }], 'a new tab had nobody');
});

test('after the end of a session, the next user of the tab is no change', async () => {
  const service = createService();
  const kept = { storage: createStorage(), tabStorage: createStorage() };
  for (const end of [
    (tab: ReturnType<typeof createTab>) => tab.auth.signOut(),
    async (tab: ReturnType<typeof createTab>) => {
      service.endSession();
      await assert.rejects(tab.get('/api/v1/users/me'));
    },
  ]) {
    service.signInAs('u-1');
    const tab = await signedInTab(service, { ...createHost(service), ...kept });
    await end(tab);
    assert.equal(kept.tabStorage.values.size, 0, 'nothing of the user stays');
    service.signInAs('u-2');
    const next = createTab(service, { ...createHost(service), ...kept });
    const events = eventsOf(next);
    await next.auth.signIn(USER);
    assert.deepEqual(events, ['authenticated: authenticated']);
    await next.auth.signOut();
  }
});

test('a full storage of the tab remembers nobody, rather than a former user', async () => {
  const service = createService();
  const kept = { storage: createStorage(), tabStorage: createStorage() };
  await signedInTab(service, { ...createHost(service), ...kept });
  kept.tabStorage.setItem = () => {
    throw new Error('QuotaExceededError');
  };
  service.signInAs('u-2');
  assert.equal((await loadAnew(service, kept))[0]?.type, 'subject_changed');
  assert.equal((await loadAnew(service, kept))[0]?.type, 'authenticated');
});

test('a request is not repeated as another user who signs in before it', async () => {
  const service = createService();
  const tab = await signedInTab(service);
  const events = eventsOf(tab);
  service.expireTokens();
  const { opened, open } = gate();
  service.next(REFRESH, async () => {
    await opened;
    return refusal(401, 'refresh_token_invalid');
  });
  const write = tab.post('/api/v1/roles', { body: { name: 'Editors' } });
  while (service.count(REFRESH) === 0) await new Promise(setImmediate);
  service.signInAs('u-2');
  await tab.auth.signIn(USER);
  open();
  await assert.rejects(write, { code: 'session_changed' });
  assert.equal(service.count('POST /api/v1/roles'), 1);
  assert.deepEqual(events, ['subject_changed: authenticated']);
  assert.equal(tab.auth.subject, 'u-2');
});

test('a response that arrives after another user has signed in is dropped', async () => {
  const service = createService();
  const tab = await signedInTab(service);
  const { opened, open } = gate();
  service.next(ME, async () => {
    await opened;
    return json(200, { data: { id: 'u-1' } });
  });
  const read = tab.get('/api/v1/users/me');
  while (service.count(ME) === 0) await new Promise(setImmediate);
  service.signInAs('u-2');
  await tab.auth.signIn(USER);
  open();
  await assert.rejects(read, { code: 'session_changed', status: 0 });
});

test('a response that arrives after the same user has signed in again is delivered', async () => {
  const service = createService();
  const tab = await signedInTab(service);
  const { opened, open } = gate();
  service.next(ME, async () => {
    await opened;
    return json(200, { data: { id: 'u-1' } });
  });
  const read = tab.get('/api/v1/users/me');
  while (service.count(ME) === 0) await new Promise(setImmediate);
  await tab.auth.signIn(USER);
  open();
  assert.deepEqual((await read).data, { id: 'u-1' });
});

test('the CSRF token is fetched once, and again only after csrf_invalid', async () => {
  const service = createService();
  const tab = await signedInTab(service);
  await Promise.all(Array.from({ length: 5 }, () => tab.post('/api/v1/roles', { body: { name: 'A' } })));
  assert.equal(service.count(CSRF), 1);
  service.replaceCsrf();
  await Promise.all(Array.from({ length: 5 }, () => tab.post('/api/v1/roles', { body: { name: 'A' } })));
  assert.equal(service.count(CSRF), 2);
  service.next('POST /api/v1/roles', () => refusal(403, 'permission_denied'));
  await assert.rejects(tab.post('/api/v1/roles', { body: { name: 'A' } }), { code: 'permission_denied' });
  assert.equal(service.count(CSRF), 2);
});

test('a request is repeated once after csrf_invalid', async () => {
  const service = createService();
  const tab = await signedInTab(service);
  service.always('POST /api/v1/roles', () => refusal(403, 'csrf_invalid'));
  await assert.rejects(tab.post('/api/v1/roles', { body: { name: 'A' } }), { code: 'csrf_invalid' });
  assert.equal(service.count('POST /api/v1/roles'), 2);
});

test('a failing listener does not keep the others from their events', async (t) => {
  const service = createService();
  const tab = createTab(service);
  const thrown = new Promise((resolve) => {
    t.mock.method(globalThis, 'queueMicrotask', (task: () => void) => {
      try {
        task();
      } catch (error) {
        resolve(error);
      }
    });
  });
  tab.auth.subscribe(() => {
    throw new Error('of a listener');
  });
  const events = eventsOf(tab);
  await tab.auth.signIn(USER);
  assert.deepEqual(events, ['authenticated: authenticated']);
  assert.match(String(await thrown), /of a listener/);
});

test('no secret is stored or shown', async () => {
  const service = createService();
  const storage = createStorage();
  const tab = await signedInTab(service, { ...createHost(service), storage });
  service.always(ME, () => refusal(401, 'token_revoked'));
  const error = await tab.get('/api/v1/users/me').then(
    () => assert.fail('it is refused'),
    (reason: unknown) => reason,
  );
  const shown = [
    JSON.stringify([...storage.values]),
    inspect(tab, { depth: 9, showHidden: true }),
    inspect(tab.auth, { depth: 9 }),
    String(tab),
    JSON.stringify(tab),
    inspect(error, { depth: 9 }),
  ].join('\n');
  assert.doesNotMatch(shown, /head\.|refresh_token=|Vexing/);
});

test('a response whose token could not be sent in a header is malformed, and its token is not quoted', async () => {
  const service = createService();
  service.next(
    CSRF,
    () =>
      new Response('{"data":{"csrf_token":"a\\nb-secret"}}', {
        headers: { 'content-type': 'application/json' },
      }),
  );
  const error = await createTab(service)
    .auth.signIn(USER)
    .catch((reason: unknown) => reason);
  assert.match(inspect(error), /malformed_response/);
  assert.doesNotMatch(inspect(error), /b-secret/);
});
