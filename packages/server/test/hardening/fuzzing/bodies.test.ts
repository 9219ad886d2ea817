// Bodies that are odd before anybody reads a field of them, on every operation that may have one: keys that come twice,
// depth, types, codings, bytes that are no text. It must not judge what a field says.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import fc from 'fast-check';
import type { Answer } from '../../client.ts';
import type { Entry, Kind } from '../../conformance/requests.ts';
import { allowed, resolve } from '../../conformance/requests.ts';
import { newEmail, PASSWORD, signIn } from '../../harness.ts';
import { readRaw, sendRaw } from '../../http/fixture.ts';
import { addPerson, addRole } from '../../users/people.ts';
import { scenariosOf } from '../scenario.ts';
import { noJson, oddTypes, packedAs } from './odd-bodies.ts';
import { sendAll, throughOperations } from './operations.ts';
import { openTarget, type Shot, type Who } from './target.ts';

const scenario = scenariosOf('fuzzing');
const target = await openTarget({ after });
const { service } = target;
const unsafe = target.entries.filter(({ method }) => method !== 'GET');
const withBody = unsafe.filter(({ operation }) => operation.requestBody);
const superuser: readonly Who[] = ['a superuser'];
const JSON_TYPE = { 'content-type': 'application/json' };

/** A request that is as it should be; always the same one, and ids that exist. */
function plain(entry: Entry, records: Record<Kind, string[]>): { shot: Shot; json: unknown } {
  const [draft] = fc.sample(allowed(entry, target.document, true), { seed: 1, numRuns: 1 });
  assert.ok(draft);
  const resolved = { ...resolve(draft, records), cookies: {} };
  const { 'idempotency-key': _key, ...headers } = target.shotOf(entry, resolved).headers;
  const json = resolved.body && 'json' in resolved.body ? resolved.body.json : {};
  return { shot: { ...target.shotOf(entry, resolved), headers: { ...headers, ...JSON_TYPE } }, json };
}

scenario(
  'a body of any type but JSON, or that is packed, is refused by every operation before it is read',
  async (tally) => {
    await throughOperations(target, tally, superuser, async (who, entry, records) => {
      if (!withBody.includes(entry)) return;
      const { shot } = plain(entry, records);
      const before = await counts();
      const wrongType = oddTypes.map((type) => ({
        ...shot,
        headers: { ...shot.headers, 'content-type': type },
      }));
      const packed = packedAs(String(shot.body)).map(([coding, body]) => ({
        ...shot,
        headers: { ...shot.headers, 'content-encoding': coding },
        body,
      }));
      const aimed = [...wrongType, ...packed].map((one) => ({
        shot: one,
        check: (answer: Answer) =>
          assert.equal(answer.status, 415, `${entry.name} ${JSON.stringify(one.headers)}: ${answer.text}`),
      }));
      await sendAll(target, tally, who, entry, aimed);
      assert.deepEqual(await counts(), before, entry.name);
      tally.held();
    });
  },
);

/** What a body that nobody read cannot have changed. */
const counts = () =>
  service.sql(
    `select (select count(*) from users) as users, (select count(*) from roles) as roles,
      (select count(*) from role_groups) as role_groups, (select count(*) from permissions) as permissions,
      (select count(*) from permission_groups) as permission_groups, (select count(*) from outbox) as mails,
      (select md5(string_agg(row (u.*)::text, ',' order by id)) from users u) as rows`,
  );

scenario(
  'bytes that are no UTF-8, text that is no JSON and nesting beyond 32 levels are refused by every operation',
  (tally) =>
    throughOperations(target, tally, superuser, async (who, entry, records) => {
      if (!withBody.includes(entry)) return;
      const { shot } = plain(entry, records);
      const before = await counts();
      const aimed = noJson.map((body) => ({
        shot: { ...shot, body },
        check: ({ status, body: said }: Answer) =>
          assert.equal(
            `${status} ${said.code}`,
            '400 malformed_json',
            `${entry.name}: ${String(body).slice(0, 99)}`,
          ),
      }));
      await sendAll(target, tally, who, entry, aimed);
      assert.deepEqual(await counts(), before, entry.name);
      tally.held();
    }),
);

scenario(
  'a hundred thousand brackets and a body over the limit cost no operation more than a refusal',
  (tally) =>
    throughOperations(target, tally, ['a superuser', 'an ordinary user'], async (who, entry, records) => {
      if (!withBody.includes(entry)) return;
      const { shot } = plain(entry, records);
      const bodies = [
        '['.repeat(100_000),
        '['.repeat(50_000) + ']'.repeat(50_000),
        `{"a":${'['.repeat(500_000)}${']'.repeat(500_000)}}`,
        `"${'x'.repeat(1_100_000)}"`,
      ];
      const started = performance.now();
      const aimed = bodies.map((body) => ({
        shot: { ...shot, body },
        check: ({ status }: Answer) =>
          assert.ok(
            [400, 413, ...(who === 'a superuser' ? [] : [403])].includes(status),
            `${entry.name}: ${status}`,
          ),
      }));
      await sendAll(target, tally, who, entry, aimed);
      // Each takes some milliseconds; a walk that is not linear takes minutes.
      assert.ok(performance.now() - started < 20_000);
      tally.held();
    }),
);

scenario('of keys that come twice the last one counts, for the check as for the operation', (tally) =>
  throughOperations(target, tally, superuser, async (who, entry, records) => {
    if (!withBody.includes(entry)) return;
    const { shot, json } = plain(entry, records);
    if (typeof json !== 'object' || json === null || Array.isArray(json)) return;
    for (const [key, value] of Object.entries(json)) {
      const others = JSON.stringify(json).slice(1, -1);
      const escaped = `"\\u${key.charCodeAt(0).toString(16).padStart(4, '0')}${key.slice(1)}"`;
      for (const again of [JSON.stringify(key), escaped]) {
        const last = await target.send(who, entry, { ...shot, body: `{${others},${again}:{"odd":[[]]}}` });
        const alone = { ...json, [key]: { odd: [[]] } };
        const same = await target.send(who, entry, { ...shot, body: JSON.stringify(alone) });
        assert.deepEqual(
          [last.status, last.body.code, last.body.errors],
          [same.status, same.body.code, same.body.errors],
          `${entry.name}: ${key}`,
        );
        tally.tried(2);
        tally.held();
        // And the other way round: nothing speaks of the one that was overwritten.
        const first = await target.send(who, entry, { ...shot, body: `{${again}:{"odd":[[]]},${others}}` });
        const told: { field: string; code: string }[] = first.body?.errors ?? [];
        if (value === null || typeof value !== 'object')
          assert.ok(!told.some(({ field, code }) => field === key && code === 'wrong_type'), first.text);
        tally.tried();
        tally.held();
      }
    }
  }),
);

scenario('a password or a rank that comes twice is the last one, and raises nobody', async (tally) => {
  const client = service.client();
  for (const [first, last] of [
    [PASSWORD, 'ReplacementPassword!42'],
    ['ReplacementPassword!42', PASSWORD],
  ] as const) {
    const email = newEmail();
    const raw = `{"email":"${email}","password":"${first}","first_name":"Ada","last_name":"Lovelace",
      "pass\\u0077ord":"${last}","is_superuser":true,"is_superuser":false,"role_id":[],"role_id":["x"],"verified":true}`;
    const made = await client.request('POST', '/api/v1/auth/register', { raw, headers: JSON_TYPE });
    assert.equal(made.status, 201, made.text);
    assert.deepEqual([made.body.data.is_superuser, made.body.data.verified], [false, false]);
    await service.sql('update users set verified = true where email = $1', [email]);
    assert.equal((await service.client().login({ email, password: first })).status, 422);
    await signIn(service, { email, password: last });
    tally.tried(3);
    tally.held(4);
  }
  const role = await addRole(service, 'users.update', 'users.read', 'user.read', 'user.update');
  const person = await addPerson(service, { roles: [role] });
  const admin = await signIn(service, person);
  const other = await addPerson(service);
  const bodies = [
    '{"is_superuser":true,"is_superuser":false}',
    '{"is_superuser":false,"is_superuser":true}',
    '{"is_superuser":false,"is\\u005fsuperuser":true}',
    '{"first_name":"x","is_superuser":true,"first_name":"y"}',
    '{"roles":["Admin"],"permissions":["users.delete"],"is_superuser":true}',
    '{"Is_Superuser":true,"is_superuser ":true,"isSuperuser":true,"is_superuser\\u200b":true}',
  ];
  for (const raw of bodies)
    for (const id of [person.id, other.id]) {
      const ways = [
        [`/api/v1/users/${id}`, raw],
        ['/api/v1/users/bulk-update', `{"user_ids":["${id}"],"updates":${raw}}`],
        ['/api/v1/users/bulk-update', `{"users":[{"id":"${id}",${raw.slice(1)}]}`],
      ] as const;
      for (const [path, body] of ways) {
        const answer = await admin.request('PUT', path, { raw: body, headers: JSON_TYPE });
        assert.ok([200, 400, 403].includes(answer.status), answer.text);
        tally.tried();
      }
    }
  const raised = await service.sql('select id from users where id = any($1) and is_superuser', [
    [person.id, other.id],
  ]);
  assert.deepEqual(raised, []);
  tally.held();
});

scenario(
  'a body in chunks of one byte is the same body, and one that lies about its length is none',
  async (tally) => {
    const browser = service.client();
    const token = (await browser.get('/api/v1/auth/csrf-token')).body.data.csrf_token;
    const { email } = await addPerson(service);
    const body = JSON.stringify({ email, password: PASSWORD });
    const head = (more: string): string =>
      `POST /api/v1/auth/login HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/json\r\n` +
      `Cookie: csrf_token=${browser.cookies.get('csrf_token')}\r\nX-CSRF-Token: ${token}\r\n${more}\r\n\r\n`;
    const chunked = `${[...body].map((one) => `1\r\n${one}\r\n`).join('')}0\r\n\r\n`;
    const cases: [message: string, statuses: number[]][] = [
      [`${head('Transfer-Encoding: chunked')}${chunked}`, [200]],
      [`${head(`Content-Length: ${body.length - 5}`)}${body}`, [400]],
      [`${head('Transfer-Encoding: gzip, chunked')}${chunked}`, [400, 415]],
      [`${head(`Content-Length: ${body.length}\r\nTransfer-Encoding: chunked`)}${chunked}`, [400]],
      [`${head('Transfer-Encoding: chunked')}zz\r\n${body}\r\n0\r\n\r\n`, [400]],
      [`${head('Content-Length: -1')}${body}`, [400]],
      [`${head('Content-Length: 0')}`, [400]],
    ];
    for (const [message, statuses] of cases) {
      const answer = readRaw(await sendRaw(service.url, message));
      assert.ok(statuses.includes(answer.status), `${message.slice(-200)}: ${answer.status} ${answer.text}`);
      tally.tried();
      tally.held();
    }
  },
);
