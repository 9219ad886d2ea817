// Begins sign-ins at a provider and brings its answers back: what state and cookie are worth, and to whom. Every failure is a page in words.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startTestService } from '@castellan/testing/harness';
import { startIssuer } from '@castellan/testing/openid/issuer';
import { formRequest } from '@castellan/testing/service-accounts/token-services';
import { keepRequest } from '../../../src/modules/openid/interactions/service.ts';
import { removeEndedSignIns } from '../../../src/modules/provider-sign-in/store.ts';
import {
  accountOf,
  addProvider,
  begin,
  comeBack,
  entriesOf,
  pageOf,
  signInThere,
  somebody,
} from './fixture.ts';

const service = await startTestService({ after });
const issuer = await startIssuer({ after });
const provider = await addProvider(service, issuer, { name: 'Acme' });
const other = await addProvider(service, issuer, { name: 'Another' });
const base = `/api/v1/auth/providers/${provider.slug}`;

/** Begins a sign-in of somebody new, and returns what the issuer answers. */
async function answered(client = service.client(), at = provider) {
  const url = await begin(client, at);
  issuer.person = somebody();
  return { client, url, came: issuer.approve(url) };
}

const failure = (answer: Parameters<typeof pageOf>[0]) => {
  const { result, kind } = pageOf(answer);
  assert.equal(result, 'failed');
  assert.equal(
    answer.headers.getSetCookie().some((cookie) => /^refresh_token=[^;]/.test(cookie)),
    false,
  );
  return kind;
};

test('the sign-in page learns of the active providers', async () => {
  const { status, body } = await service.client().get('/api/v1/auth/providers');
  assert.equal(status, 200);
  assert.deepEqual(body.data, [
    { slug: provider.slug, name: 'Acme', kind: 'oidc' },
    { slug: other.slug, name: 'Another', kind: 'oidc' },
  ]);
});

test('a start sends the browser to the provider with PKCE, nonce and a state of 256 bits, and sets a cookie for ten minutes', async () => {
  const client = service.client();
  const answer = await client.post(`${base}/start`, {});
  const { searchParams, origin } = new URL(answer.body.data.redirect_to);
  assert.equal(origin, issuer.url);
  assert.equal(searchParams.get('redirect_uri'), `http://castellan.test${base}/callback`);
  assert.equal(searchParams.get('code_challenge_method'), 'S256');
  assert.match(searchParams.get('state') ?? '', /^[\w-]{43}$/);
  assert.match(searchParams.get('nonce') ?? '', /^[\w-]{43}$/);
  const [cookie = ''] = answer.headers.getSetCookie().filter((one) => one.startsWith('castellan_provider='));
  assert.match(
    cookie,
    /^castellan_provider=[\w-]{43}; Max-Age=600; Path=\/api\/v1; HttpOnly; Secure; SameSite=Lax$/,
  );
  const [row] = await service.sql<{ text: string }>(
    'select row_to_json(s)::text as text from provider_sign_ins s order by created_at desc limit 1',
  );
  for (const secret of [
    searchParams.get('state'),
    searchParams.get('nonce'),
    client.cookies.get('castellan_provider'),
  ])
    assert.equal(row?.text.includes(secret ?? ''), false);
});

test('a sign-in sets the cookies of a session, goes on to its page, and clears its own cookie', async () => {
  const { client, came } = await answered();
  const answer = await comeBack(client, provider, came);
  assert.deepEqual(pageOf(answer), { result: 'signed_in' });
  assert.equal(answer.headers.get('cache-control'), 'no-store');
  assert.equal(answer.headers.get('referrer-policy'), 'no-referrer');
  assert.equal(client.cookies.has('castellan_provider'), false);
  assert.equal((await accountOf(client))?.email, issuer.person.email);
});

test('only a path of this service is gone on to', async () => {
  const nexts: [next: string, expected: string | undefined][] = [
    ['/account?tab=1#x', '/account?tab=1#x'],
    ['/users/../account', '/account'],
    ['//evil.example', undefined],
    ['/\\evil.example', undefined],
    ['/\t/evil.example', undefined],
    ['/..//evil.example', undefined],
    ['https://evil.example/', undefined],
    ['javascript:alert(1)', undefined],
    ['account', undefined],
  ];
  for (const [next, expected] of nexts) {
    const answer = await signInThere(service.client(), provider, somebody(), { next });
    assert.deepEqual(pageOf(answer), { result: 'signed_in', ...(expected ? { next: expected } : {}) }, next);
  }
  const interaction = 'x'.repeat(43);
  const answer = await signInThere(service.client(), provider, somebody(), { interaction_id: interaction });
  assert.equal(pageOf(answer).next, `/api/v1/oauth/authorize?interaction=${interaction}`);
  const wrong = await signInThere(service.client(), provider, somebody(), { interaction_id: '../evil' });
  assert.deepEqual(pageOf(wrong), { result: 'signed_in' });
});

test('a state counts once', async () => {
  const { client, came } = await answered();
  const cookie = client.cookies.get('castellan_provider') ?? '';
  assert.equal(pageOf(await comeBack(client, provider, came)).result, 'signed_in');
  client.cookies.set('castellan_provider', cookie);
  assert.equal(failure(await comeBack(client, provider, came)), 'expired');
});

test('of ten parallel callbacks with one state, one signs in', async () => {
  const { client, came } = await answered();
  const cookie = client.cookies.get('castellan_provider') ?? '';
  const browsers = Array.from({ length: 10 }, () => {
    const browser = service.client();
    browser.cookies.set('castellan_provider', cookie);
    return browser;
  });
  const asked = issuer.asked.length;
  const answers = await Promise.all(browsers.map((browser) => comeBack(browser, provider, came)));
  const results = answers.map((answer) => pageOf(answer).result).sort();
  assert.deepEqual(results, [...Array(9).fill('failed'), 'signed_in']);
  assert.equal(issuer.asked.slice(asked).filter(({ endpoint }) => endpoint === 'token').length, 1);
});

test('a state in another browser, without its cookie, of another provider or too late signs nobody in, and is not used up by it', async () => {
  const { client, came } = await answered();
  const stranger = service.client();
  await begin(stranger, provider);
  assert.equal(failure(await comeBack(stranger, provider, came)), 'expired');
  // What the stranger has begun goes on: any page can send a browser to a callback.
  assert.equal(stranger.cookies.has('castellan_provider'), true);
  assert.equal(failure(await comeBack(service.client(), provider, came)), 'expired');
  const elsewhere = service.client();
  elsewhere.cookies.set('castellan_provider', client.cookies.get('castellan_provider') ?? '');
  assert.equal(failure(await comeBack(elsewhere, other, came)), 'expired');
  const none = { parameters: new URLSearchParams({ code: 'x' }) };
  assert.equal(failure(await comeBack(elsewhere, provider, none)), 'expired');
  const twice = new URLSearchParams([...came.parameters, ['state', 'x'.repeat(43)]]);
  assert.equal(failure(await comeBack(elsewhere, provider, { parameters: twice })), 'expired');
  // HEAD uses nothing up.
  const head = await client.request('HEAD', `${base}/callback?${came.parameters}`);
  assert.equal(pageOf(head).kind, 'expired');
  await service.sql("update provider_sign_ins set expires_at = now() - interval '1 s' where used_at is null");
  assert.equal(failure(await comeBack(client, provider, came)), 'expired');
});

test('two cookies with different values count as none', async () => {
  const { client, came } = await answered();
  const value = client.cookies.get('castellan_provider');
  const answer = await client.get(`${base}/callback?${came.parameters}`, {
    headers: { cookie: `castellan_provider=${value}; castellan_provider=${'x'.repeat(43)}` },
  });
  assert.equal(failure(answer), 'expired');
});

test('what a provider says of an error is not shown', async () => {
  const { client, url } = await answered();
  const { parameters } = issuer.refuse(url);
  parameters.set('error_description', '<script>alert(1)</script>');
  const answer = await comeBack(client, provider, { parameters });
  assert.equal(failure(answer), 'denied');
  assert.equal(pageOf(answer).request, answer.headers.get('x-request-id'));
  assert.equal(pageOf(answer).provider, provider.slug);
  assert.doesNotMatch(answer.headers.get('location') ?? '', /script/);
  const [entry] = await entriesOf(service, answer);
  assert.equal(entry?.action, 'provider_sign_in_failed');
  assert.equal(entry?.details.reason, 'denied');
  assert.doesNotMatch(JSON.stringify(entry), /script/);
});

test('an answer that cannot be accepted, and a provider that does not answer, sign nobody in', async (t) => {
  t.after(() => {
    issuer.misbehaviour = {};
  });
  for (const [misbehaviour, kind] of [
    [{ signature: 'foreign' }, 'unacceptable'],
    [{ idToken: { nonce: 'another' } }, 'unacceptable'],
    [{ idToken: { aud: 'another' } }, 'unacceptable'],
    [{ response: { iss: 'https://evil.example' } }, 'unacceptable'],
    [{ idToken: { sub: 's'.repeat(401) } }, 'unacceptable'],
    [{ trouble: { token: 'error' } }, 'unavailable'],
  ] as const) {
    issuer.misbehaviour = misbehaviour;
    const { client, came } = await answered();
    assert.equal(failure(await comeBack(client, provider, came)), kind, JSON.stringify(misbehaviour));
    // Nothing more can be made of what was begun.
    assert.equal(failure(await comeBack(client, provider, came)), 'expired');
  }
});

test('repeated parameters are not accepted', async () => {
  const { client, came } = await answered();
  const parameters = new URLSearchParams([...came.parameters, ['code', 'another']]);
  assert.equal(failure(await comeBack(client, provider, { parameters })), 'unacceptable');
});

test('an answer that is posted waits for the browser with the cookie, and counts once', async () => {
  const { client, came } = await answered();
  const form = Object.fromEntries(came.parameters);
  const cookieless = { ...formRequest(form), headers: { ...formRequest(form).headers, cookie: null } };
  const posted = await service.client().request('POST', `${base}/callback`, cookieless);
  assert.equal(posted.status, 303);
  const location = new URL(posted.headers.get('location') ?? '');
  assert.equal(location.href, `http://castellan.test${base}/callback?state=${form.state}`);
  // What somebody else posts later does not count.
  await service
    .client()
    .request('POST', `${base}/callback`, formRequest({ state: form.state ?? '', error: 'x' }));
  const parameters = location.searchParams;
  assert.equal(failure(await comeBack(service.client(), provider, { parameters })), 'expired');
  assert.equal(pageOf(await comeBack(client, provider, { parameters })).result, 'signed_in');
  assert.equal(failure(await comeBack(client, provider, { parameters })), 'expired');
  const none = await service.client().request('POST', `${base}/callback`, formRequest({ code: 'x' }));
  assert.equal(failure(none), 'expired');
});

test('an answer that is posted in another form is refused, in words that fit', async () => {
  for (const [raw, type] of [
    ['{}', 'application/json'],
    ['', undefined],
    ['state=x', 'text/plain'],
  ] as const) {
    const answer = await service
      .client()
      .request('POST', `/api/v1/auth/providers/${provider.slug}/callback`, {
        raw,
        headers: { 'content-type': type ?? null },
      });
    assert.deepEqual(
      [answer.status, answer.body.detail],
      [415, 'Send the body as Content-Type: application/x-www-form-urlencoded.'],
      type,
    );
  }
});

test('an unknown provider, and one that is not active, begin nothing, and end what was begun', async () => {
  const off = await addProvider(service, issuer);
  const { client, came } = await answered(service.client(), off);
  await service.sql('update identity_providers set is_active = false where id = $1', [off.id]);
  assert.equal(failure(await comeBack(client, off, came)), 'unavailable');
  for (const slug of [off.slug, 'nobody']) {
    const answer = await service.client().post(`/api/v1/auth/providers/${slug}/start`, {});
    assert.deepEqual([answer.status, answer.body.code], [404, 'identity_provider_not_found']);
  }
});

test('a provider that cannot be reached answers 503, and when to try again', async () => {
  const away = await addProvider(service, issuer, { issuer: 'http://127.0.0.1:1' });
  const answer = await service.client().post(`/api/v1/auth/providers/${away.slug}/start`, {});
  assert.deepEqual([answer.status, answer.body.code], [503, 'provider_unavailable']);
  assert.match(answer.headers.get('retry-after') ?? '', /^\d+$/);
});

test('what an application asks for is passed on, as far as the record says what it means there', async () => {
  const { db } = service.service.deps;
  const mapped = await addProvider(service, issuer, { acr_mapping: '{"https://acme/mfa":"aal2"}' });
  const { id } = await keepRequest(db, {
    kind: 'interaction',
    applicationId: null,
    parameters: { acr_values: 'phr aal2', prompt: 'login', max_age: '60', login_hint: 'ada@example.com' },
  });
  const askedOf = async (at: typeof provider) => {
    const { searchParams } = new URL(await begin(service.client(), at, { interaction_id: id }));
    return ['acr_values', 'prompt', 'max_age', 'login_hint'].map((name) => searchParams.get(name));
  };
  assert.deepEqual(await askedOf(mapped), ['https://acme/mfa', 'login', '60', 'ada@example.com']);
  assert.deepEqual(await askedOf(provider), [null, 'login', '60', 'ada@example.com']);
  for (const [prompt, expected] of [
    ['select_account', 'login'],
    ['consent select_account', 'login'],
    ['consent', null],
  ] as const) {
    const asking = await keepRequest(db, {
      kind: 'interaction',
      applicationId: null,
      parameters: { prompt },
    });
    const url = new URL(await begin(service.client(), provider, { interaction_id: asking.id }));
    assert.equal(url.searchParams.get('prompt'), expected, prompt);
  }
});

test('sign-ins that have ended are removed, and those that wait stay', async () => {
  const { db } = service.service.deps;
  await begin(service.client(), provider);
  await service.sql(
    "update provider_sign_ins set expires_at = now() - interval '1 s' where used_at is not null",
  );
  assert.ok((await removeEndedSignIns(db, 1_000)) > 0);
  const left = await service.sql('select from provider_sign_ins where expires_at < now()');
  assert.equal(left.length, 0);
  assert.ok((await service.sql('select from provider_sign_ins')).length > 0);
});

test('ends of sign-ins are counted', async () => {
  const { providerSignIns } = service.service.deps;
  const count = (result: string) =>
    providerSignIns.counts().find((one) => one.result === result)?.signIns ?? 0;
  const before = [count('signed_in'), count('expired')];
  const { client, came } = await answered();
  await comeBack(client, provider, came);
  await comeBack(client, provider, came);
  assert.deepEqual(
    [count('signed_in'), count('expired')],
    before.map((number) => number + 1),
  );
});

test('a start needs the CSRF token', async () => {
  const answer = await service.client().post(`${base}/start`, {}, { headers: { 'x-csrf-token': null } });
  assert.deepEqual([answer.status, answer.body.code], [403, 'csrf_invalid']);
});

test('starts and returns are counted together, per address, and a browser is answered with a page', async () => {
  const limited = await service.another({ RATE_LIMIT_PROVIDER_START: '3/hour' });
  const client = limited.client();
  await begin(client, provider);
  const url = await begin(client, provider);
  issuer.person = somebody();
  assert.equal(pageOf(await comeBack(client, provider, issuer.approve(url))).result, 'signed_in');
  assert.equal(failure(await comeBack(client, provider, issuer.approve(url))), 'limited');
  const posted = await client.request('POST', `${base}/callback`, formRequest({ state: 'x' }));
  assert.equal(failure(posted), 'limited');
  assert.equal((await client.post(`${base}/start`, {})).status, 429);
});
