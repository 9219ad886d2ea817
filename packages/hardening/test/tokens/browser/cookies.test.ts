// The cookie of a browser session where a token is asked for, and cookies that a neighbouring site tossed into the browser.
// The cookie tells applications who is signed in: it must open, renew, end and reveal nothing else.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { type FoundBrowser, findBrowserSession } from '@castellan/server/modules/sessions/browser/session';
import { ADMIN, signIn } from '@castellan/testing/harness';
import { routesOf } from '@castellan/testing/http/fixture';
import { scenariosOf } from '@castellan/testing/scenario';
import { addUser } from '@castellan/testing/sessions/accounts';
import { openPair } from '../../fixture.ts';
import { assertUniformRefusal, entryPoints, openBrowser } from '../entry-points.ts';

const scenario = scenariosOf('tokens');
const { service, twin, admin } = await openPair({ after });
const made = await admin.post('/api/v1/applications', { client_id: 'wiki', name: 'Wiki' });
assert.equal(made.status, 201, made.text);
for (const one of [service, twin]) await one.service.deps.keyRing.load();
const NAME = 'castellan_sso';

const cookieOf = async (who: Parameters<typeof signIn>[1]): Promise<string> =>
  (await signIn(service, who)).cookies.get(NAME) ?? '';

const find = (cookie: string): Promise<FoundBrowser> =>
  findBrowserSession(twin.service.deps, { cookie, address: '127.0.0.1' });

scenario('the cookie of a browser passes for no token, at any operation that takes one', async (tally) => {
  const value = await cookieOf(ADMIN);
  assert.match(value, /^[\w-]{64}$/);
  const browser = await openBrowser(service);
  for (const entryPoint of entryPoints)
    for (const { url } of [service, twin]) {
      const answer = await entryPoint.present(url, browser, value);
      const code = entryPoint.kind === 'access' ? 'token_invalid' : 'refresh_token_invalid';
      assertUniformRefusal(answer, code, entryPoint.name);
      tally.tried();
      tally.held();
    }
  assert.ok((await find(`${NAME}=${value}`)).session, 'it still tells who is signed in');
  tally.held();
});

scenario('beside no access token, the cookie opens no operation of any route', async (tally) => {
  const browser = service.client();
  await browser.login(ADMIN);
  const cookie = `${NAME}=${browser.cookies.get(NAME)}`;
  for (const { method, path, config } of await routesOf(service)) {
    if (config.access === 'public' || config.csrf === false) continue;
    const { headers } = await browser.get('/api/v1/auth/csrf-token', { headers: { authorization: null } });
    assert.equal(headers.get('set-cookie')?.includes(NAME) ?? false, false);
    const answer = await browser.request(method, path, {
      headers: { authorization: null },
      ...(method === 'GET'
        ? {}
        : { raw: '{}', headers: { authorization: null, 'content-type': 'application/json' } }),
    });
    assert.equal(answer.status, 401, `${method} ${path} with ${cookie.length} characters: ${answer.text}`);
    tally.tried();
    tally.held(2);
  }
});

scenario(
  'who may introspect and revoke tokens learns nothing of the cookie and cannot end it',
  async (tally) => {
    const value = await cookieOf(await addUser(service));
    for (const operation of ['introspect', 'revoke'])
      for (const hint of ['access_token', 'refresh_token', 'browser', undefined]) {
        const answer = await admin.post(`/api/v1/oauth/${operation}`, undefined, {
          raw: new URLSearchParams({ token: value, ...(hint && { token_type_hint: hint }) }).toString(),
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
        });
        assert.equal(answer.status, 200, answer.text);
        if (operation === 'introspect') assert.deepEqual(answer.body, { active: false });
        assert.ok((await find(`${NAME}=${value}`)).session);
        tally.tried();
        tally.held(3);
      }
  },
);

scenario('a cookie that a neighbouring site tossed in makes nobody somebody else', async (tally) => {
  const value = await cookieOf(await addUser(service));
  const tossed = await cookieOf(await addUser(service));
  for (const other of [tossed, 'x', `${value}x`, value.toUpperCase(), value.slice(1)])
    for (const cookie of [
      `${NAME}=${value}; ${NAME}=${other}`,
      `${NAME}=${other}; ${NAME}=${value}`,
      `${NAME}=${other};${NAME}=${value};${NAME}=${other}`,
    ]) {
      assert.deepEqual(await find(cookie), { session: null, reason: 'missing' }, cookie.length.toString());
      tally.tried();
      tally.held();
    }
  assert.ok((await find(`${NAME}=${value}; ${NAME}=${value}`)).session);
  tally.held();
});
