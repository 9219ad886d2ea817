// What an authorization request leads to by who is there: how long ago and how strongly they proved who they are, what their account
// must do first, from where they come, and how often they ask.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Answer, TestClient } from '@castellan/testing/client';
import { signIn } from '@castellan/testing/harness';
import { addAppUser, codeOf, enrol, forgetStep } from '@castellan/testing/second-factors/app';
import { ageProofs, requireOfRole } from '@castellan/testing/second-factors/requirements';
import { formRequest } from '@castellan/testing/service-accounts/token-services';
import type { AuditEntry } from '@castellan/testing/sessions/audit-events';
import { readToken } from '@castellan/testing/sessions/own-tokens';
import { statementsOf } from '@castellan/testing/statements';
import { addRole } from '@castellan/testing/users/people';
import { loadRequest, verdictOf } from '../../../src/modules/openid/authorize/loading.ts';
import { readParameters } from '../../../src/modules/openid/authorize/parameters.ts';
import { startWithAdmin } from '../../applications/fixture.ts';
import { addApplication, addSignedIn, exchange, type TestApplication } from '../fixture.ts';
import {
  AUTHORIZE,
  act,
  ask,
  interactionOf,
  ledTo,
  parametersOf,
  read,
  resume,
  type Sent,
  verifier,
} from './fixture.ts';

const { service, admin } = await startWithAdmin(
  { after },
  { RATE_LIMIT_AUTHORIZE: 'off', TRUSTED_PROXIES: '127.0.0.1', VALIDATE_TOKEN_IP: 'true' },
);
const web = await addApplication(admin, [service]);
const ISSUER = service.service.deps.settings.publicUrl;
const none = { prompt: 'none' };

const errorOf = (answer: Answer): string | undefined => ledTo(answer).fields.error;
const codeIn = (answer: Answer): string => {
  const { code } = ledTo(answer).fields;
  assert.ok(code, `${answer.status} ${answer.headers.get('location')} ${answer.text}`);
  return code;
};
const claimsOf = (token: string) => readToken(token).claims as unknown as Record<string, unknown>;

/** Returns the entries of one action that one person caused. */
const eventsBy = (action: string, { id }: { id: string }): Promise<AuditEntry[]> =>
  service.sql<AuditEntry>('select details from audit_logs where action = $1 and actor_id = $2', [action, id]);

/** Returns the claims of the ID token that an answer brings. */
async function idTokenOf(application: TestApplication, answer: Answer): Promise<Record<string, unknown>> {
  const tokens = await exchange(service, application, { code: codeIn(answer), verifier });
  assert.equal(tokens.status, 200, tokens.text);
  return claimsOf(tokens.body.id_token);
}

test('a signed-in person costs two statements, and one for the audit log', async () => {
  const { client } = await addSignedIn(service);
  codeIn(await ask(client, web));
  const all = await statementsOf(async () => codeIn(await ask(client, web)));
  const sent = all.filter((text) => !/^(begin|commit)\b/.test(text));
  assert.equal(sent.length, 3, sent.join('\n---\n'));
  assert.match(sent[0] ?? '', /select clock_timestamp\(\) as moment/);
  assert.match(sent[1] ?? '', /insert into access_grants/);
  assert.match(sent[2] ?? '', /audit/);
});

test('max_age is exact to the millisecond, by the clock of the database', async () => {
  const { client, sessionId } = await addSignedIn(service);
  await service.sql(`update sessions set created_at = '2026-01-01 12:00:00.789' where id = $1`, [sessionId]);
  const parameters = readParameters(parametersOf(web, { max_age: '60' }));
  assert.ok(typeof parameters !== 'string');
  const { deps } = service.service;
  const about = {
    requestId: 'x',
    address: '127.0.0.1',
    userAgent: null,
    acceptLanguage: null,
    secure: false,
  };
  const cookie = [...client.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const loaded = await loadRequest(
    deps,
    { ...about, cookie, gone: new AbortController().signal },
    parameters,
  );
  const { found, session, outcome } = loaded;
  assert.ok(found.application && session && 'checked' in outcome);
  assert.equal(session.auth_time.toISOString().slice(-5), '.789Z');
  const judgedAfter = (ms: number) => {
    found.now = new Date(session.auth_time.getTime() + ms);
    assert.ok(found.application);
    return verdictOf(deps, loaded, { application: found.application, request: outcome.checked });
  };
  assert.ok('granted' in (await judgedAfter(60_000)));
  assert.deepEqual(await judgedAfter(60_001), { step: 'reauthenticate', error: 'login_required' });
});

test('default_max_age counts where the request has no max_age', async () => {
  const strict = await addApplication(admin, [service], { default_max_age: 60 });
  const { client, person } = await addSignedIn(service);
  codeIn(await ask(client, strict, none));
  await ageProofs(service, person, 120);
  assert.equal(errorOf(await ask(client, strict, none)), 'login_required');
  codeIn(await ask(client, strict, { ...none, max_age: '1000' }));
  const id = interactionOf(await ask(client, strict));
  assert.equal((await read(client, id)).body.data.step, 'reauthenticate');
  assert.equal((await act(client, id, 'reauthenticate', { password: person.password })).status, 200);
  const { auth_time } = await idTokenOf(strict, await resume(client, id));
  assert.ok(Number(auth_time) > Date.now() / 1_000 - 100);
});

test('a password that must be changed: the page leads through it, and on to the application', async () => {
  const { client, person } = await addSignedIn(service);
  await service.sql('update users set must_change_password = true where id = $1', [person.id]);
  assert.equal(errorOf(await ask(client, web, none)), 'interaction_required');
  const led = await ask(client, web);
  assert.equal(ledTo(led).address, `${ISSUER}/login`);
  const id = interactionOf(led);
  assert.equal((await read(client, id)).body.data.step, 'change_password');
  assert.equal(interactionOf(await resume(client, id)), id);
  const changed = await client.post('/api/v1/auth/change_password', {
    current_password: person.password,
    new_password: 'Vexing#Quartz82Lime',
  });
  assert.equal(changed.status, 200, changed.text);
  codeIn(await resume(client, id));
});

test('an account that needs a second factor: the page leads through it, and on to the application', async () => {
  const role = await addRole(service);
  const { client } = await addSignedIn(service, { roles: [role] });
  await requireOfRole(service, role, 'aal2');
  assert.equal(errorOf(await ask(client, web, none)), 'interaction_required');
  const id = interactionOf(await ask(client, web));
  const { data } = (await read(client, id)).body;
  assert.deepEqual([data.step, data.required_acr], ['step_up', 'aal2']);
  assert.equal(interactionOf(await resume(client, id)), id);
  await enrol(client);
  const { acr } = await idTokenOf(web, await resume(client, id));
  assert.equal(acr, 'aal2');
});

const essential = (...values: string[]): Sent => ({
  claims: JSON.stringify({ id_token: { acr: { essential: true, values } } }),
});

test('acr: wished for, it is asked of those who can; essential, it is refused to those who cannot', async () => {
  const { client } = await addSignedIn(service);
  assert.equal((await idTokenOf(web, await ask(client, web, { acr_values: 'aal2' }))).acr, 'aal1');
  for (const prompt of [undefined, 'none'])
    assert.equal(
      errorOf(await ask(client, web, { ...essential('aal2'), prompt })),
      'unmet_authentication_requirements',
    );
  codeIn(await ask(client, web, essential('phr', 'aal1')));
  // One value that should be in a list is demanded, too.
  const unlisted = { claims: JSON.stringify({ id_token: { acr: { essential: true, values: 'aal2' } } }) };
  assert.equal(errorOf(await ask(client, web, unlisted)), 'unmet_authentication_requirements');
  // Without values, `claims` demands no level: those of acr_values are wished for.
  const anyLevel = { claims: JSON.stringify({ id_token: { acr: { essential: true } } }) };
  codeIn(await ask(client, web, { ...anyLevel, acr_values: 'aal2' }));

  const user = await addAppUser(service);
  const { acr, amr } = await idTokenOf(web, await ask(user.client, web, essential('aal2')));
  assert.deepEqual([acr, amr], ['aal2', ['pwd', 'otp', 'mfa']]);
  // More than what is demanded was proved: the token names what was demanded (OpenID Connect Core, 5.5.1.1).
  for (const [values, told] of [
    [['aal1'], 'aal1'],
    [['phr', 'aal1'], 'aal1'],
    [['aal1', 'aal2'], 'aal2'],
  ] as const)
    assert.equal((await idTokenOf(web, await ask(user.client, web, essential(...values)))).acr, told);
  assert.equal((await idTokenOf(web, await ask(user.client, web, { acr_values: 'aal1' }))).acr, 'aal2');
  await service.sql(
    `update session_tokens set acr = 'aal1', amr = '{pwd}' where user_id = $1 and kind = 'browser'`,
    [user.id],
  );
  codeIn(await ask(user.client, web, { ...none, acr_values: 'aal2' }));
  assert.equal(
    errorOf(await ask(user.client, web, { ...none, ...essential('aal2') })),
    'unmet_authentication_requirements',
  );
  for (const changed of [{ acr_values: 'phr aal2' }, essential('aal2')]) {
    await service.sql(`update session_tokens set acr = 'aal1', amr = '{pwd}' where user_id = $1`, [user.id]);
    await forgetStep(service, user);
    const id = interactionOf(await ask(user.client, web, changed));
    const { data } = (await read(user.client, id)).body;
    assert.deepEqual([data.step, data.required_acr], ['step_up', 'aal2']);
    const proved = await act(user.client, id, 'reauthenticate', { totp: codeOf(user.secret) });
    assert.equal(proved.status, 200, proved.text);
    assert.equal((await idTokenOf(web, await resume(user.client, id))).acr, 'aal2');
  }
});

test('CONSENT_DAYS asks again; without it, nobody is asked twice', async () => {
  const forgetful = await service.another({ CONSENT_DAYS: '30' });
  const foreign = await addApplication(admin, [service, forgetful], { first_party: false });
  const { client } = await addSignedIn(service);
  const id = interactionOf(await ask(client, foreign));
  assert.equal((await act(client, id, 'consent', { decision: 'allow' })).status, 200);
  codeIn(await resume(client, id));
  const there = client.at(forgetful.url);
  const age = (days: number) =>
    service.sql(
      'update consents set agreed_at = now() - make_interval(days => $1) where application_id = $2',
      [days, foreign.id],
    );
  await age(29);
  codeIn(await ask(there, foreign, none));
  await age(31);
  assert.equal(errorOf(await ask(there, foreign, none)), 'consent_required');
  codeIn(await ask(client, foreign, none));
});

test('resource leads to a token for that API, with what the person holds and was asked', async () => {
  const made = async (path: string, body: object) => {
    const answer = await admin.post(`/api/v1/${path}`, body);
    assert.equal(answer.status, 201, answer.text);
    return answer.body.data;
  };
  const { id: group_id } = await made('permission-groups', { name: 'parcels' });
  const ids: string[] = [];
  for (const name of ['read', 'send']) ids.push((await made('permissions', { name, group_id })).id);
  const [parcels, letters] = [
    await made('api-resources', {
      identifier: 'https://parcels.example.com',
      name: 'Parcels',
      permission_group_ids: [group_id],
    }),
    await made('api-resources', {
      identifier: 'https://letters.example.com',
      name: 'Letters',
      permission_group_ids: [group_id],
    }),
  ];
  const resources = [parcels, letters].map(({ id }) => ({ resource_id: id, permission_ids: ids }));
  const application = await addApplication(admin, [service], { resources });
  const { client } = await addSignedIn(service, { roles: [await addRole(service, 'parcels.read')] });
  const asked = { scope: 'openid parcels.read parcels.send', resource: parcels.identifier };
  const code = codeIn(await ask(client, application, asked));
  const foreign = await exchange(service, application, { code, verifier }, { resource: letters.identifier });
  assert.deepEqual([foreign.status, foreign.body.error], [400, 'invalid_target']);
  const answer = await exchange(service, application, { code, verifier }, { resource: parcels.identifier });
  assert.equal(answer.status, 200, answer.text);
  const { aud, scope, client_id } = claimsOf(answer.body.access_token);
  assert.deepEqual(
    [aud, scope, client_id],
    ['https://parcels.example.com', 'parcels.read', application.client_id],
  );
  const both = `${parametersOf(application, asked)}&resource=${encodeURIComponent(letters.identifier)}`;
  const second = codeIn(await client.get(`${AUTHORIZE}?${both}`));
  const letter = await exchange(
    service,
    application,
    { code: second, verifier },
    { resource: letters.identifier },
  );
  assert.equal(claimsOf(letter.body.access_token).aud, letters.identifier);
});

test('id_token_hint with a pairwise subject: the person it names is led on, another one is not', async () => {
  const pairwise = await addApplication(admin, [service], { subject_type: 'pairwise' });
  const [ada, eve] = [await addSignedIn(service), await addSignedIn(service)];
  const tokens = await exchange(service, pairwise, {
    code: codeIn(await ask(ada.client, pairwise)),
    verifier,
  });
  const hint = { id_token_hint: tokens.body.id_token };
  assert.notEqual(claimsOf(hint.id_token_hint).sub, ada.person.id);
  codeIn(await ask(ada.client, pairwise, { ...none, ...hint }));
  assert.equal(errorOf(await ask(eve.client, pairwise, { ...none, ...hint })), 'login_required');
  const id = interactionOf(await ask(eve.client, pairwise, hint));
  assert.equal((await read(eve.client, id)).body.data.step, 'select_account');
  assert.equal((await act(eve.client, id, 'account', { decision: 'continue' })).status, 200);
  const [kept] = await service.sql<{ parameters: Record<string, string> }>(
    'select parameters from application_requests where application_id = $1',
    [pairwise.id],
  );
  assert.equal(kept?.parameters.hint_sub, claimsOf(hint.id_token_hint).sub);
  assert.ok(!JSON.stringify(kept).includes(hint.id_token_hint));
  assert.equal(errorOf(await resume(eve.client, id)), 'login_required');
  assert.equal(errorOf(await ask(ada.client, web, { ...none, ...hint })), 'invalid_request');
  // What is kept of a hint cannot be sent.
  codeIn(await ask(eve.client, pairwise, { ...none, hint_sub: String(claimsOf(hint.id_token_hint).sub) }));
});

test('claims that name a sub, for the ID token or userinfo: only that person is led on', async () => {
  const [ada, eve] = [await addSignedIn(service), await addSignedIn(service)];
  for (const place of ['id_token', 'userinfo'])
    for (const sub of [{ value: ada.person.id }, { values: ['somebody', ada.person.id] }]) {
      const named = { ...none, claims: JSON.stringify({ [place]: { sub } }) };
      codeIn(await ask(ada.client, web, named));
      assert.equal(errorOf(await ask(eve.client, web, named)), 'login_required', place);
    }
  codeIn(await ask(eve.client, web, { ...none, claims: '{"userinfo":{"sub":null}}' }));
});

test('an ID token of 6 KiB is a hint, also in a request that waits', async () => {
  const mappings = Array.from({ length: 20 }, (_, index) => ({
    name: `${'x'.repeat(240)}${index}`,
    from: 'superuser',
    as: 'boolean',
    in: ['id_token'],
  }));
  const wordy = await addApplication(admin, [service], { claims: mappings });
  const ada = await addSignedIn(service);
  const { body } = await exchange(service, wordy, { code: codeIn(await ask(ada.client, wordy)), verifier });
  assert.ok(body.id_token.length > 6_144, String(body.id_token.length));
  const id = interactionOf(await ask(service.client(), wordy, { id_token_hint: body.id_token }));
  codeIn(await resume(ada.client, id));
  assert.equal((await ask(ada.client, wordy, { id_token_hint: 'x'.repeat(12_289) })).status, 414);
});

test('in another network nobody is signed in, the event says why, and the session goes on', async () => {
  const { client, person, sessionId } = await addSignedIn(service);
  const far = { headers: { 'x-forwarded-for': '203.0.113.9' } };
  const answer = await client.get(`${AUTHORIZE}?${parametersOf(web, none)}`, far);
  assert.equal(errorOf(answer), 'login_required');
  const led = await client.get(`${AUTHORIZE}?${parametersOf(web)}`, far);
  assert.equal(ledTo(led).address, `${ISSUER}/login`);
  const events = await eventsBy('application_sign_in_refused', person);
  assert.deepEqual(
    events.map(({ details }) => [details.reason, details.session_id, details.application_id]),
    events.map(() => ['other_network', sessionId, web.id]),
  );
  assert.ok(events.length > 0);
  codeIn(await ask(client, web, none));
});

test('RATE_LIMIT_AUTHORIZE counts a browser session, else an address, and a stranger before any statement', async () => {
  const limited = await service.another({ RATE_LIMIT_AUTHORIZE: '3/minute' });
  const { client, person } = await addSignedIn(service);
  const repeat = async (who: TestClient, times: number): Promise<number[]> => {
    const statuses = [];
    for (let made = 0; made < times; made += 1) statuses.push((await ask(who, web, none)).status);
    return statuses;
  };
  const there = client.at(limited.url);
  assert.deepEqual(await repeat(there, 4), [303, 303, 303, 429]);
  const refused = await ask(there, web, none);
  assert.ok(Number(refused.headers.get('retry-after')) > 0);
  assert.equal(refused.headers.get('location'), null);
  assert.equal((await eventsBy('rate_limited', person)).length, 1);
  // Another session of the same address, and the same one elsewhere.
  assert.deepEqual(await repeat((await addSignedIn(service)).client.at(limited.url), 1), [303]);
  assert.deepEqual(await repeat(client, 1), [303]);
  const stranger = limited.client();
  const form = formRequest(Object.fromEntries(new URLSearchParams(parametersOf(web))));
  assert.equal((await client.at(limited.url).request('POST', AUTHORIZE, form)).status, 303);
  assert.deepEqual(await repeat(stranger, 3), [303, 303, 429]);
  assert.deepEqual(await statementsOf(() => repeat(stranger, 3)), []);
});

test('pages are told the language that the application asks for, if they have it', async () => {
  const stranger = service.client();
  const languageOf = async (changed: Sent): Promise<string | undefined> => {
    const answer = await ask(stranger, web, changed);
    assert.match(interactionOf(answer), /^[\w-]{43}$/);
    return ledTo(answer).fields.ui_locales;
  };
  assert.equal(await languageOf({}), undefined);
  assert.equal(await languageOf({ ui_locales: 'fr it' }), undefined);
  assert.equal(await languageOf({ ui_locales: 'fr de-AT en' }), 'de');
  const id = interactionOf(await ask(stranger, web, { ui_locales: 'en', prompt: 'create' }));
  assert.equal(ledTo(await resume(stranger, id)).fields.ui_locales, 'en');
});

test('the page of a request without an answer is in the language of the application, else of the browser', async () => {
  const client: TestClient = await signIn(service, (await addSignedIn(service)).person);
  const wrong = parametersOf(web, { redirect_uri: 'https://evil.example/cb' });
  const german = /<html lang="de">.*Diese Anwendung hat eine Anfrage gesendet.*nicht eingetragen/s;
  const english = /<html lang="en">.*This application sent a request.*is not registered/s;
  const pages: [query: string, language: string | null, expected: RegExp][] = [
    [wrong, 'de-AT,en;q=0.5', german],
    [wrong, 'fr', english],
    [wrong, null, english],
    [`${wrong}&ui_locales=fr+de`, 'en', german],
    [`${wrong}&ui_locales=en`, 'de', english],
  ];
  for (const [query, language, expected] of pages) {
    const answer = await client.get(`${AUTHORIZE}?${query}`, { headers: { 'accept-language': language } });
    assert.equal(answer.status, 400);
    assert.match(answer.text, expected);
    assert.ok(answer.text.includes(answer.headers.get('x-request-id') ?? ' '));
  }
});
