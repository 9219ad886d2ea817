// Pages of other sites, other people and other applications, against what a person does between an application and a code. What an
// attacker begins or takes opens nothing. It must not decide what a person may: it compares what the database holds.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { Answer, TestClient } from '@castellan/testing/client';
import { addApplication } from '@castellan/testing/openid/tokens';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { FORM_TYPE, formRequest } from '@castellan/testing/service-accounts/token-services';
import { readToken } from '@castellan/testing/sessions/own-tokens';
import { openPair } from '../fixture.ts';
import {
  AUTHORIZE,
  fieldsOf,
  inBrowser,
  isSessionLive,
  LOGOUT,
  locationOf,
  newVerifier,
  parametersOf,
  REDIRECT,
  redeem,
  UNLIMITED,
  visit,
} from './fixture.ts';

const scenario = scenariosOf('tokens');
const { service, twin, admin } = await openPair({ after }, UNLIMITED);
const application = await addApplication(service, admin, { first_party: false });
const other = await addApplication(service, admin);
await addApplication(twin, admin);
const verifier = newVerifier();
const at = (index: number) => (index % 2 ? service : twin);

const begin = async (browser: TestClient, changed = {}, by = verifier): Promise<string> =>
  fieldsOf(await visit(browser, `${AUTHORIZE}?${parametersOf(application, by, changed)}`)).interaction ?? '';
const resume = (browser: TestClient, id: string): Promise<Answer> =>
  visit(browser, `${AUTHORIZE}?interaction=${id}`);
const act = (browser: TestClient, id: string, name: string, body: object): Promise<Answer> =>
  browser.post(`/api/v1/oauth/interactions/${id}/${name}`, body, { headers: { authorization: null } });

const bodies: Readonly<Record<string, object>> = {
  consent: { decision: 'allow' },
  account: { decision: 'switch' },
  reauthenticate: { password: 'a password of somebody' },
  'sign-out': { decision: 'sign_out' },
  cancel: {},
};

scenario(
  'a page of another site can answer for nobody: every step needs the CSRF token of the browser, and a body that forms cannot send',
  async (tally) => {
    const victim = await inBrowser(service);
    const attacker = await inBrowser(service);
    const tokenOf = async ({ browser }: typeof victim): Promise<string> =>
      (await browser.get('/api/v1/auth/csrf-token')).body.data.csrf_token;
    const foreign = await tokenOf(attacker);
    const own = await tokenOf(victim);
    const id = await begin(victim.browser);
    const asked = locationOf(await visit(victim.browser, `${LOGOUT}?client_id=${application.client_id}`));
    const signOut = asked.split('interaction=')[1] ?? '';
    for (const [name, body] of Object.entries(bodies)) {
      const path = `/api/v1/oauth/interactions/${name === 'sign-out' ? signOut : id}/${name}`;
      const send = (headers: Record<string, string | null>, raw = JSON.stringify(body)) =>
        victim.browser.request('POST', path, {
          raw,
          headers: { authorization: null, 'content-type': 'application/json', ...headers },
        });
      const sent = [
        await send({ 'x-csrf-token': null }),
        await send({ 'x-csrf-token': '' }),
        await send({ 'x-csrf-token': foreign }),
        await send({ 'x-csrf-token': null, origin: 'https://evil.example' }),
        await send({ 'x-csrf-token': null, 'content-type': 'text/plain' }),
        await send({ 'x-csrf-token': null, 'content-type': FORM_TYPE }, 'decision=allow'),
        await send({ 'x-csrf-token': own, 'content-type': FORM_TYPE }, 'decision=allow'),
        await send({ 'x-csrf-token': own, 'content-type': 'text/plain' }),
        await visit(victim.browser, `${path}?decision=allow`),
      ];
      for (const answer of sent) {
        assert.ok([403, 404, 405, 415].includes(answer.status), `${name}: ${answer.status} ${answer.text}`);
        assert.equal(answer.headers.get('access-control-allow-origin'), null);
        tally.tried();
        tally.held();
      }
    }
    const consents = await service.sql('select from consents where user_id = $1', [victim.user.id]);
    assert.equal(consents.length, 0);
    assert.ok(await isSessionLive(service, victim.sessionId));
    assert.ok(locationOf(await resume(victim.browser, id)).includes('/consent?'));
    tally.held(3);
  },
);

scenario(
  'a request that two people go on with gives one code, for the account of the browser that gets it, not of the one that began',
  async (tally) => {
    for (let round = 0; round < rounds(3, 30); round += 1) {
      const [victim, attacker] = [await inBrowser(service), await inBrowser(service)];
      // The attacker agrees for themselves, and leaves the page to the victim.
      const id = await begin(attacker.browser);
      assert.equal((await act(attacker.browser, id, 'consent', { decision: 'allow' })).status, 200);
      assert.equal((await act(attacker.browser, id, 'account', { decision: 'continue' })).status, 200);
      const opened = await resume(victim.browser, id);
      assert.ok(locationOf(opened).includes('/consent?'), locationOf(opened));
      assert.equal((await act(victim.browser, id, 'consent', { decision: 'allow' })).status, 200);
      // Both go on at once, at two instances.
      const [mine, theirs] = await Promise.all([
        resume(victim.browser.at(at(round).url), id),
        resume(attacker.browser.at(at(round + 1).url), id),
      ]);
      const owners = [victim, attacker];
      let granted = 0;
      for (const [index, answer] of [mine, theirs].entries()) {
        const { code } = fieldsOf(answer);
        if (code === undefined) {
          assert.equal(answer.status, 400, answer.text);
          continue;
        }
        granted += 1;
        const tokens = await redeem(service, application, { code, code_verifier: verifier });
        assert.equal(readToken(tokens.body.id_token).claims.sub, owners[index]?.user.id);
        tally.held();
      }
      assert.equal(granted, 1);
      assert.equal((await resume(attacker.browser, id)).status, 400);
      tally.tried(2);
      tally.held(3);
    }
  },
);

scenario(
  'a stolen code is refused to other applications, other verifiers and other addresses, at both instances, and stays good for its own',
  async (tally) => {
    const victim = await inBrowser(service);
    const attacker = await inBrowser(service);
    const agreed = await begin(victim.browser);
    assert.equal((await act(victim.browser, agreed, 'consent', { decision: 'allow' })).status, 200);
    await resume(victim.browser, agreed);
    for (let round = 0; round < rounds(3, 30); round += 1) {
      const where = at(round);
      const answer = await visit(victim.browser, `${AUTHORIZE}?${parametersOf(application, verifier)}`);
      const { code = '' } = fieldsOf(answer);
      assert.ok(code, locationOf(answer));
      const right = { code, code_verifier: verifier };
      const refused = [
        // Injected: the attacker's session at the application has another verifier.
        await redeem(where, application, { code, code_verifier: newVerifier() }),
        await redeem(where, application, { code }),
        await redeem(where, application, { code, code_verifier: '' }),
        await redeem(where, other, right),
        await redeem(where, application, { ...right, redirect_uri: `${REDIRECT}/` }),
        await redeem(where, application, { ...right, redirect_uri: 'https://evil.example/callback' }),
        await redeem(where, application, { ...right, code: code.toLowerCase() }),
        await redeem(where, application, { ...right, code: `${code} ` }),
      ];
      for (const { status, body, text } of refused) {
        assert.ok(status === 400 && ['invalid_grant', 'invalid_request'].includes(body.error), text);
        tally.tried();
        tally.held();
      }
      const tokens = await redeem(at(round + 1), application, right);
      assert.equal(tokens.status, 200, tokens.text);
      assert.equal(readToken(tokens.body.id_token).claims.sub, victim.user.id);
      tally.held(2);
    }
    assert.notEqual(attacker.user.id, victim.user.id);
  },
);

scenario(
  'no other site, no other person and no other application signs a browser out: the page asks, and only its own answer counts',
  async (tally) => {
    const [victim, attacker] = [await inBrowser(service), await inBrowser(service)];
    const idTokenOf = async ({ browser }: typeof victim): Promise<string> => {
      const sent = parametersOf(other, verifier);
      const { code = '' } = fieldsOf(await visit(browser, `${AUTHORIZE}?${sent}`));
      return (await redeem(service, other, { code, code_verifier: verifier })).body.id_token;
    };
    const foreign = await idTokenOf(attacker);
    const own = await idTokenOf(victim);
    const requests: Record<string, string>[] = [
      {},
      { client_id: application.client_id },
      { id_token_hint: foreign },
      { id_token_hint: foreign, client_id: other.client_id },
      { logout_hint: victim.user.email },
    ];
    for (const sent of requests) {
      const query = new URLSearchParams(sent).toString();
      const got = await visit(victim.browser, `${LOGOUT}?${query}`);
      assert.equal(got.status, 303, got.text);
      assert.match(locationOf(got), /\/sign-out\?interaction=/);
      assert.deepEqual(got.headers.getSetCookie(), []);
      // The attacker answers the page that the victim is shown, and the reverse.
      const id = locationOf(got).split('interaction=')[1] ?? '';
      await act(attacker.browser, id, 'sign-out', { decision: 'stay' });
      // A form of another site, even with the cookie: it is kept for a navigation, and ends nothing.
      const posted = await victim.browser.request('POST', LOGOUT, formRequest(query));
      assert.equal(posted.status, 303, posted.text);
      assert.deepEqual(posted.headers.getSetCookie(), []);
      assert.ok(await isSessionLive(service, victim.sessionId), query);
      tally.tried(3);
      tally.held(5);
    }
    // A hint of the session itself does, once it is a navigation of its browser.
    const withHint = formRequest({ id_token_hint: own });
    const kept = await attacker.browser.request('POST', LOGOUT, withHint);
    const id = locationOf(kept).split('interaction=')[1] ?? '';
    assert.ok(await isSessionLive(service, victim.sessionId));
    const ended = await visit(victim.browser.at(twin.url), `${LOGOUT}?interaction=${id}`);
    assert.equal(ended.status, 303, ended.text);
    assert.equal(await isSessionLive(service, victim.sessionId), false);
    assert.ok(await isSessionLive(service, attacker.sessionId));
    tally.tried(2);
    tally.held(4);
  },
);
