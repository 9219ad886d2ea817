// Spellings of a path: those that the router accepts for a guarded route are guarded, all others are no route. Hosts,
// prefixes and methods named elsewhere in a request change neither its route nor a link in an answer or mail.
// It must not use a client that normalizes paths.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { Answer } from '@castellan/testing/client';
import { ADMIN, newEmail, PASSWORD, signIn, startTestService } from '@castellan/testing/harness';
import { ABSENT_ID, routesOf } from '@castellan/testing/http/fixture';
import { exchange } from '@castellan/testing/http/raw';
import { byTurns, scenariosOf } from '@castellan/testing/scenario';
import { assertError, assertProper } from './answers.ts';
import { BODY, change, rawCaller, takeChange } from './caller.ts';

const scenario = scenariosOf('http');
const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);
const caller = await rawCaller(admin);
const routes = await routesOf(service);
const guarded = routes.filter(({ config }) => config.access !== 'public');

const LAST = /\/([^/]+)$/;
const hex = (char: string): string => `%${char.charCodeAt(0).toString(16)}`;

/** Other spellings of a route that the router accepts: the guard must apply to them as well. */
const aliases: Record<string, (path: string) => string> = {
  'letters in percent': (path) => path.replace('/api', '/%61pi'),
  'the last letter in percent': (path) => path.replace(/[a-z\d]$/, hex),
  'percent in capitals': (path) => path.replace(/[a-z\d]$/, (char) => hex(char).toUpperCase()),
  'a query': (path) => `${path}?a=/../&b=//&access_token=x&_method=GET`,
  'an empty query': (path) => `${path}?`,
  'two question marks': (path) => `${path}??x=?`,
  'a fragment': (path) => `${path}#/../health/live`,
  'an absolute address': (path) => `http://evil.example${path}`,
  'an absolute address with everything': (path) => `HTTPS://root@evil.example:99${path}?x`,
};

/**
 * Other paths. Where the last part of a route is an id, a changed one is also an id: guarded, and refused as invalid.
 */
const strangers: Record<string, (path: string) => string> = {
  'a double slash first': (path) => `/${path}`,
  'a double slash inside': (path) => path.replace('/v1/', '/v1//'),
  'a dot': (path) => path.replace('/v1/', '/v1/./'),
  'two dots': (path) => path.replace('/v1/', '/v1/auth/../'),
  'two dots in percent': (path) => path.replace('/v1/', '/v1/auth/%2e%2e/'),
  'two dots out of a public page': (path) => `/docs/..${path}`,
  'two dots out of a public page in percent': (path) => `/docs/%2e%2e%2f${path.slice(1)}`,
  'a slash in percent': (path) => path.replace('/v1/', '/v1%2f'),
  'a slash in percent, capital': (path) => path.replace('/v1/', '/v1%2F'),
  'a backslash': (path) => path.replace('/v1/', '/v1\\'),
  'a backslash in percent': (path) => path.replace('/v1/', '/v1%5c'),
  'a parameter inside': (path) => path.replace('/v1/', '/v1;a=b/'),
  'a parameter behind': (path) => `${path};a=b`,
  'a slash behind': (path) => `${path}/`,
  'two slashes behind': (path) => `${path}//`,
  'a dot behind': (path) => `${path}/.`,
  'a NUL behind': (path) => `${path}%00`,
  'a line end behind': (path) => `${path}%0d%0aX-Injected:%201`,
  'a space behind': (path) => `${path}%20`,
  'an ending': (path) => `${path}.json`,
  'a question mark in percent': (path) => `${path}%3f`,
  'a hash in percent': (path) => `${path}%23`,
  'capitals in front': (path) => path.replace('/api', '/API'),
  'a full-width letter': (path) => path.replace('/api', '/%ef%bd%81pi'),
  'a long s': (path) => path.replace('/api', '/ap%c4%b1'),
  'percent twice': (path) => path.replace('/api', '/%2561pi'),
  'another scheme': (path) => `ftp://evil.example${path}`,
  'an asterisk in front': (path) => `*${path}`,
};
const unreadable: Record<string, (path: string) => string> = {
  'an overlong slash': (path) => path.replace('/v1/', '/v1%c0%af'),
  'an overlong dot': (path) => path.replace('/v1/', '/v1/%c0%ae/'),
  'an overlong letter': (path) => path.replace('/api', '/%c1%a1pi'),
  'half a percent': (path) => `${path}%`,
  'percent of no digits': (path) => `${path}%zz`,
  'a surrogate': (path) => `${path}%ed%a0%80`,
  'percent u': (path) => path.replace('/api', '/%u0061pi'),
};

const ask = async (method: string, target: string, fields: string): Promise<Answer> => {
  const answers = await exchange(
    service.url,
    `${method} ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${fields}\r\n`,
  );
  assert.equal(answers.length, 1, `${method} ${target}`);
  return answers[0] as Answer;
};

scenario('every other spelling of a guarded route has the same guard', async (tally) => {
  for (const [number, { method, path, config }] of guarded.entries())
    for (const [what, spell] of byTurns(Object.entries(aliases), 3, number)) {
      const answer = await ask(method, spell(path), caller.csrf);
      tally.tried();
      const code = config.errorShape?.codeOf('token_missing') ?? 'token_missing';
      tally.held(assertError(answer, 401, code, `${method} ${path}, ${what}`));
      if (method === 'GET' || config.csrf === false) continue;
      const forged = await ask(method, spell(path), caller.bearer);
      tally.tried();
      tally.held(assertError(forged, 403, 'csrf_invalid', `${method} ${path}, ${what}`));
    }
});

scenario(
  'no altered path reaches a guarded route: it has no route, or an invalid id behind the guard',
  async (tally) => {
    const before = await service.sql('select count(*) from audit_logs where actor_id is not null');
    for (const [number, { method, path, url }] of guarded.entries())
      for (const [what, spell] of byTurns(Object.entries(strangers), 8, number)) {
        const label = `${method} ${spell(path)}, ${what}`;
        const answer = await ask(method, spell(path), caller.csrf);
        tally.tried();
        // `/users/list;a=b` fits `/users/:user_id`, and `/roles/` fits `/roles/:role_id`.
        const codes: readonly string[] = ['route_not_found', 'token_missing', 'method_not_allowed'];
        assert.ok(codes.includes(answer.body?.code), `${label}: ${answer.text}`);
        tally.held(1 + assertProper(answer, label));
        if (answer.body.code !== 'token_missing') continue;
        const mine = await ask(method, spell(path.replace(LAST, '/$1')), caller.fields);
        tally.tried();
        assert.ok(
          ['invalid_id', 'invalid_text'].includes(mine.body?.code),
          `${label} of ${url}: ${mine.text}`,
        );
        tally.held();
      }
    assert.deepEqual(await service.sql('select count(*) from audit_logs where actor_id is not null'), before);
    tally.held();
  },
);

scenario('a path that is not UTF-8 is refused as malformed, on every route', async (tally) => {
  for (const [number, { method, path }] of routes.entries())
    for (const [what, spell] of byTurns(Object.entries(unreadable), 2, number)) {
      const answer = await ask(method, spell(path), caller.fields);
      tally.tried();
      // Only paths of the API have the parts that some of these change.
      if (spell(path) === path) continue;
      tally.held(assertError(answer, 400, 'malformed_request', `${method} ${path}, ${what}`));
    }
});

scenario('headers that name another path, host or method are ignored', async (tally) => {
  const headers = [
    'X-Original-URL: /health/live',
    'X-Rewrite-URL: /health/live',
    'X-Forwarded-Prefix: /api/v1',
    'X-Forwarded-Path: /health/live',
    'X-Forwarded-Uri: /health/live',
    'X-Original-URI: /health/live',
    'X-HTTP-Method-Override: GET',
    'X-HTTP-Method: GET',
    'X-Method-Override: GET',
    'X-Forwarded-Method: GET',
    'X-Forwarded-User: admin@example.com',
    'X-Remote-User: admin@example.com',
    'X-User-Id: 1',
    'X-Forwarded-For: 127.0.0.1',
    'X-Custom-IP-Authorization: 127.0.0.1',
    'X-Middleware-Subrequest: middleware',
  ];
  for (const header of headers) {
    const read = await ask('GET', '/api/v1/users/me', `${header}\r\n`);
    tally.held(assertError(read, 401, 'token_missing', header));
    // The method is that of the request line, for the guard and for the handler.
    const forged = await ask('PUT', '/api/v1/users/me?_method=GET', `${header}\r\n${caller.bearer}`);
    tally.held(assertError(forged, 403, 'csrf_invalid', header));
    const override = header.replace(': GET', ': DELETE');
    const live = await ask('GET', '/health/live?_method=DELETE', `${override}\r\n`);
    assert.equal(live.status, 200, header);
    const [changed] = await exchange(
      service.url,
      change(`${header}\r\n${caller.fields}Connection: close\r\nContent-Length: ${BODY.length}\r\n`, BODY),
    );
    assert.equal(changed?.status, 200, header);
    assert.equal(await takeChange(service, ADMIN.email), true, header);
    tally.tried(4);
    tally.held(3);
  }
});

scenario(
  'links in mails and every answer name the public address, whatever host the request names',
  async (tally) => {
    const lies = [
      'Host: evil.example',
      'Host: castellan.test:99',
      'Host: castellan.test.evil.example',
      'Host: a\r\nX-Forwarded-Host: evil.example',
      'Host: a\r\nX-Host: evil.example\r\nX-Forwarded-Server: evil.example',
      'Host: a\r\nForwarded: host=evil.example;proto=https',
      'Host: a\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Port: 99',
      'Host: a\r\nOrigin: https://evil.example\r\nReferer: https://evil.example/',
    ];
    const targets = ['', 'http://evil.example'];
    for (const [index, [lie, origin]] of lies
      .flatMap((one) => targets.map((target) => [one, target] as const))
      .entries()) {
      const email = newEmail(`host-${index}`);
      const body = JSON.stringify({ email, password: PASSWORD, first_name: 'Ada', last_name: 'L' });
      const [answer] = await exchange(
        service.url,
        `POST ${origin}/api/v1/auth/register HTTP/1.1\r\n${lie}\r\nConnection: close\r\n${caller.csrf}` +
          `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      );
      tally.tried();
      assert.equal(answer?.status, 201, `${lie}: ${answer?.text}`);
      const { text } = await service.mailTo(email);
      assert.deepEqual([...new Set(text.match(/https?:\/\/[^/\s]+/g))], ['http://castellan.test'], lie);
      assert.doesNotMatch(text + answer.text, /evil/);
      for (const path of ['/docs/openapi.json', '/.well-known/jwks.json', '/nothing', '/forgot']) {
        const [found] = await exchange(
          service.url,
          `GET ${origin}${path} HTTP/1.1\r\n${lie}\r\nAccept: application/problem+json\r\nConnection: close\r\n\r\n`,
        );
        tally.tried();
        const told = `${found?.text}${JSON.stringify([...(found?.headers ?? [])])}`;
        assert.doesNotMatch(told, /evil\.example|castellan\.test:99/, `${path}, ${lie}`);
        assert.equal(found?.headers.get('location'), null);
        tally.held(2);
      }
      tally.held(3);
    }
  },
);

scenario('a path without a route, and the asterisk, are 404 for every caller', async (tally) => {
  for (const target of [
    '*',
    '//',
    '/..',
    '/api',
    '/api/',
    '/api/v1',
    '/api/v1/auth',
    '/api/v2/users/me',
    '/api/v1/users/me/x',
    '/nothing',
    `/${ABSENT_ID}`,
  ])
    for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE'])
      for (const fields of ['', caller.fields]) {
        tally.tried();
        tally.held(
          assertError(await ask(method, target, fields), 404, 'route_not_found', `${method} ${target}`),
        );
      }
});
