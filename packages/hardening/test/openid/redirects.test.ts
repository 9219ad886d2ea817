// Where authorization requests lead: to registered addresses alone, with what the application sent and the issuer, whatever the
// request says otherwise. It must not use a client that normalizes addresses for what the service answers.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { Answer } from '@castellan/testing/client';
import { exchange } from '@castellan/testing/http/raw';
import { addApplication } from '@castellan/testing/openid/tokens';
import { byTurns, scenariosOf } from '@castellan/testing/scenario';
import { formRequest } from '@castellan/testing/service-accounts/token-services';
import { readToken } from '@castellan/testing/sessions/own-tokens';
import { openPair } from '../fixture.ts';
import {
  AUTHORIZE,
  fieldsOf,
  inBrowser,
  LOGOUT,
  locationOf,
  newVerifier,
  parametersOf,
  REDIRECT,
  redeem,
  UNLIMITED,
  visit,
} from './fixture.ts';

const scenario = scenariosOf('http');
const { service, twin, admin } = await openPair({ after }, UNLIMITED);
const application = await addApplication(service, admin, { require_pkce: false });
const { browser, user } = await inBrowser(service);
const verifier = newVerifier();
const issuer = service.service.deps.settings.publicUrl;

const strangers = [
  `${REDIRECT}/`,
  `${REDIRECT}?next=https://evil.example`,
  `${REDIRECT}#`,
  `${REDIRECT};a=b`,
  `${REDIRECT}%00`,
  `${REDIRECT}%20`,
  ` ${REDIRECT}`,
  `${REDIRECT} `,
  `\t${REDIRECT}`,
  `${REDIRECT}\r\nLocation: https://evil.example`,
  `${REDIRECT}\u200b`,
  `${REDIRECT}/../callback`,
  `${REDIRECT}/%2e%2e/%2e%2e/evil`,
  REDIRECT.replace('/callback', '//callback'),
  REDIRECT.replace('/callback', '/./callback'),
  REDIRECT.replace('callback', '%63allback'),
  REDIRECT.replace('callback', 'Callback'),
  REDIRECT.replace('https', 'http'),
  REDIRECT.replace('https', 'HTTPS'),
  REDIRECT.replace('app.', 'APP.'),
  REDIRECT.replace('app.', 'app\u3002'),
  REDIRECT.replace('.com', '.com.'),
  REDIRECT.replace('.com', '.com:443'),
  REDIRECT.replace('.com', '.com:'),
  REDIRECT.replace('.com', '.com.evil.example'),
  REDIRECT.replace('.com', '.com@evil.example'),
  REDIRECT.replace('.com', '.com\\@evil.example'),
  REDIRECT.replace('https://', 'https://evil.example\\'),
  REDIRECT.replace('https://', 'https:'),
  REDIRECT.replace('https://', 'https:\\\\'),
  REDIRECT.replace('https:', ''),
  '/callback',
  '//evil.example/callback',
  'https:evil.example',
  'https://evil.example/callback',
  `https://evil.example/?${REDIRECT}`,
  'javascript:alert(1)//https://app.example.com/callback',
  'data:text/html,<script>alert(1)</script>',
  'about:blank',
  'urn:ietf:wg:oauth:2.0:oob',
];
/** Whatever else is wrong with the request: no error goes to an address that is not registered. */
const companions: Record<string, string>[] = [
  {},
  { prompt: 'none' },
  { response_type: 'token' },
  { response_mode: 'fragment' },
  { response_mode: 'form_post' },
  { request: 'x' },
  { scope: 'unknown' },
  { max_age: 'x' },
];

function assertLeadsNowhere(answer: Answer, what: string): void {
  assert.equal(answer.status, 400, `${what}: ${answer.status} ${locationOf(answer)}`);
  for (const name of ['location', 'refresh', 'link'])
    assert.equal(answer.headers.get(name), null, `${what}: ${name}`);
  assert.doesNotMatch(answer.text, /<(?:script|a|form|meta http-equiv|iframe|base)\b|\bhref=/i, what);
}

scenario(
  'no spelling of a redirect address but the registered one is gone to, by an answer or an error, by GET or a form',
  async (tally) => {
    let turn = 0;
    for (const redirect_uri of strangers)
      for (const also of byTurns(companions, 2, turn++)) {
        const sent = parametersOf(application, verifier, { ...also, redirect_uri });
        for (const answer of [
          await visit(browser, `${AUTHORIZE}?${sent}`),
          await visit(twin.client(), `${AUTHORIZE}?${sent}`),
          await service.client().request('POST', AUTHORIZE, formRequest(sent)),
        ]) {
          assertLeadsNowhere(answer, JSON.stringify(redirect_uri));
          tally.tried();
          tally.held();
        }
      }
  },
);

scenario(
  'a parameter that is sent twice, in any spelling, reaches no reader with another value',
  async (tally) => {
    const good = parametersOf(application, verifier);
    const others: Record<string, string> = {
      redirect_uri: 'https://evil.example/callback',
      client_id: 'castellan',
      state: 'other',
      response_type: 'token',
      scope: 'openid profile',
      code_challenge: 'A'.repeat(43),
      nonce: 'n',
    };
    const spelled = (name: string): string[] => [
      name,
      `%${name.charCodeAt(0).toString(16)}${name.slice(1)}`,
      name.replace('_', '%5f'),
    ];
    for (const [name, value] of Object.entries(others))
      for (const one of spelled(name)) {
        const pair = `${one}=${encodeURIComponent(value)}`;
        const twice = name === 'nonce' ? `${pair}&${pair}` : pair;
        for (const query of [`${good}&${twice}`, `${twice}&${good}`]) {
          assertLeadsNowhere(await visit(browser, `${AUTHORIZE}?${query}`), query);
          assertLeadsNowhere(
            await service.client().request('POST', AUTHORIZE, formRequest(query)),
            `form ${query}`,
          );
          tally.tried(2);
          tally.held(2);
        }
      }
    // Other names are other parameters, which count for nothing.
    for (const name of [
      'redirect_uri[]',
      'redirect_uri[0]',
      'redirect_uri.x',
      'Redirect_uri',
      'redirect_uri%20',
    ])
      for (const separator of ['&', ';', '&amp;', '%26', '&&']) {
        const query = `${good}&x=1${separator}${name}=https://evil.example/callback`;
        const answer = await visit(browser, `${AUTHORIZE}?${query}`);
        assert.equal(answer.status, 303, answer.text);
        assert.ok(locationOf(answer).startsWith(`${REDIRECT}?code=`), query);
        tally.tried();
        tally.held();
      }
    // One in the address and one in the form: the form alone counts.
    const mixed = await service
      .client()
      .request('POST', `${AUTHORIZE}?redirect_uri=https://evil.example/callback`, formRequest(good));
    assert.ok(locationOf(mixed).startsWith(`${issuer}${AUTHORIZE}?interaction=`), mixed.text);
    tally.tried();
    tally.held();
  },
);

const odd = [
  '',
  ' ',
  '+',
  '%',
  '%0d%0a',
  '\r\nset-cookie: a=b\r\n\r\n<html>',
  '"',
  "'",
  '<script>alert(1)</script>',
  '&code=evil&iss=https://evil.example',
  '#code=evil',
  '?a=b;c',
  '\\',
  '\u007f\u0001\u001b[31m',
  '\u2028\u2029\u202e',
  '\ufeff\uffff',
  'e\u0301 \u00e9 \u{1F511}',
  '__proto__',
  'x'.repeat(2_000),
];

scenario(
  'state and nonce come back as they were sent, beside the issuer and nothing else, in a success and in an error',
  async (tally) => {
    for (const text of odd) {
      const sent = { state: text, nonce: text };
      const answer = await visit(browser, `${AUTHORIZE}?${parametersOf(application, verifier, sent)}`);
      assert.equal(answer.status, 303, answer.text);
      assert.ok(locationOf(answer).startsWith(`${REDIRECT}?`));
      const { code = '', state, iss, ...rest } = fieldsOf(answer);
      assert.deepEqual([state ?? '', iss, rest], [text, issuer, {}]);
      assert.deepEqual(answer.headers.getSetCookie(), []);
      const tokens = await redeem(twin, application, { code, code_verifier: verifier });
      assert.equal(tokens.status, 200, tokens.text);
      const { claims } = readToken(tokens.body.id_token);
      assert.deepEqual([(claims as { nonce?: string }).nonce ?? '', claims.iss], [text, issuer]);
      const wrong = { ...sent, response_type: 'token' };
      const refused = await visit(browser, `${AUTHORIZE}?${parametersOf(application, verifier, wrong)}`);
      const { error, error_description, ...told } = fieldsOf(refused);
      assert.equal(error, 'unsupported_response_type');
      assert.match(error_description ?? '', /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
      assert.deepEqual(told, { ...(text === '' ? {} : { state: text }), iss: issuer });
      const posted = { ...sent, response_mode: 'form_post' };
      const page = await visit(browser, `${AUTHORIZE}?${parametersOf(application, verifier, posted)}`);
      assert.equal(page.status, 200, page.text);
      // Every value stands in an attribute, without a character that could end it.
      const values = [...page.text.matchAll(/ value="([^"<>\r\n]*)"/g)].map(([, value = '']) => value);
      assert.equal(values.length, text === '' ? 2 : 3, page.text);
      assert.equal(page.text.match(/<script/g)?.length, 1);
      tally.tried(4);
      tally.held(6);
    }
  },
);

scenario(
  'hosts and addresses that a request names elsewhere change no address that the service answers',
  async (tally) => {
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const forged = [
      [],
      ['x-forwarded-host: evil.example', 'x-forwarded-proto: https', 'x-forwarded-port: 99'],
      ['forwarded: for=1.2.3.4;host=evil.example;proto=https'],
      ['x-forwarded-prefix: //evil.example', 'x-original-url: //evil.example/', 'x-rewrite-url: /evil'],
      ['x-host: evil.example', 'x-forwarded-server: evil.example', 'origin: https://evil.example'],
      ['referer: https://evil.example/'],
    ];
    const hosts = ['evil.example', 'evil.example:99', new URL(issuer).host];
    const targets = [
      [`${AUTHORIZE}?${parametersOf(application, verifier)}`, `${REDIRECT}?code=`],
      [`${AUTHORIZE}?${parametersOf(application, verifier, { prompt: 'login' })}`, `${issuer}/login?`],
      [`${AUTHORIZE}?${parametersOf(application, verifier, { scope: 'x' })}`, `${REDIRECT}?error=`],
      [`${LOGOUT}?client_id=${application.client_id}`, '/sign-out?interaction='],
    ] as const;
    for (const host of hosts)
      for (const lines of forged) {
        const ask = async (target: string): Promise<Answer> => {
          const head = [`GET ${target} HTTP/1.1`, `host: ${host}`, `cookie: ${cookie}`, ...lines];
          const [answer] = await exchange(service.url, `${head.join('\r\n')}\r\nconnection: close\r\n\r\n`);
          return answer ?? assert.fail();
        };
        for (const [target, expected] of targets) {
          const answer = await ask(target);
          assert.equal(answer.status, 303, answer.text);
          const location = locationOf(answer);
          assert.ok(location.startsWith(expected) || location.startsWith(`${issuer}${expected}`), location);
          if (location.startsWith(REDIRECT)) assert.equal(fieldsOf(answer).iss, issuer);
          assert.doesNotMatch(location, /evil/);
          tally.tried();
          tally.held();
        }
        const found = await ask('/.well-known/openid-configuration');
        assert.doesNotMatch(found.text, /evil/);
        assert.equal(found.body.issuer, issuer);
        for (const [name, value] of Object.entries<unknown>(found.body))
          if (name.endsWith('_endpoint') || name === 'jwks_uri')
            assert.ok(String(value).startsWith(`${issuer}/`), `${name}: ${value}`);
        tally.tried();
        tally.held();
      }
  },
);

scenario('no page between a person and an application can be framed', async (tally) => {
  const asking = await visit(
    browser,
    `${AUTHORIZE}?${parametersOf(application, verifier, { prompt: 'login' })}`,
  );
  const id = fieldsOf(asking).interaction;
  const pages: [address: string, status: number][] = [
    [`/login?interaction=${id}`, 200],
    [`/consent?interaction=${id}`, 200],
    [`/sign-out?interaction=${id}`, 200],
    [`${AUTHORIZE}?${parametersOf(application, verifier, { response_mode: 'form_post' })}`, 200],
    [`${AUTHORIZE}?${parametersOf(application, verifier, { redirect_uri: strangers[0] })}`, 400],
    [`${LOGOUT}?client_id=nobody`, 400],
  ];
  for (const [address, status] of pages) {
    const answer = await visit(browser, address);
    assert.equal(answer.status, status, address);
    assert.match(answer.headers.get('content-type') ?? '', /^text\/html/);
    assert.match(answer.headers.get('content-security-policy') ?? '', /frame-ancestors 'none'/);
    assert.match(answer.headers.get('content-security-policy') ?? '', /base-uri 'none'/);
    assert.equal(answer.headers.get('x-frame-options'), 'DENY');
    assert.doesNotMatch(answer.text, new RegExp(user.email));
    tally.tried();
    tally.held(5);
  }
});
