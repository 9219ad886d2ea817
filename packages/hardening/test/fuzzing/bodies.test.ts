// Malformed bodies for every operation that takes one: repeated keys, depth, types, codings, bytes that are not text.
// It must not judge the values of fields.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { Answer } from '@castellan/testing/client';
import type { Entry, Kind } from '@castellan/testing/conformance/requests';
import { allowed, resolve, takesForm } from '@castellan/testing/conformance/requests';
import { newEmail, PASSWORD, signIn } from '@castellan/testing/harness';
import { readRaw, sendRaw } from '@castellan/testing/http/fixture';
import { byTurns, scenariosOf } from '@castellan/testing/scenario';
import { addPerson, addRole } from '@castellan/testing/users/people';
import fc from 'fast-check';
import { noJson, oddTypes, packedAs } from './odd-bodies.ts';
import { sendAll, throughOperations } from './operations.ts';
import { openTarget, type Shot, type Who } from './target.ts';

const scenario = scenariosOf('fuzzing');
const target = await openTarget({ after });
const { service } = target;
const unsafe = target.entries.filter(({ method }) => method !== 'GET');
// Forms have tests of their own.
// Sign-in by passkey at this address, and leaving in this service, are refused before the body is read.
const isOff = ({ name, path }: Entry): boolean =>
  path.startsWith('/api/v1/auth/login/passkey') || name === 'DELETE /api/v1/users/me';
const withBody = unsafe.filter((entry) => entry.operation.requestBody && !takesForm(entry) && !isOff(entry));
const superuser: readonly Who[] = ['a superuser'];
// RFC 7396: the type of a PATCH.
const isOddFor =
  ({ method }: Entry) =>
  (type: string): boolean =>
    method !== 'PATCH' || type !== 'application/merge-patch+json';
const numberOf = (entry: Entry): number => target.entries.indexOf(entry);
const JSON_TYPE = { 'content-type': 'application/json' };

/** Returns a valid request, always the same one, with ids that exist. */
function plain(entry: Entry, records: Record<Kind, string[]>): { shot: Shot; json: unknown } {
  const [draft] = fc.sample(allowed(entry, target.document, true), { seed: 1, numRuns: 1 });
  assert.ok(draft);
  const resolved = { ...resolve(draft, records), cookies: {} };
  const { 'idempotency-key': _key, ...headers } = target.shotOf(entry, resolved).headers;
  const json = resolved.body && 'json' in resolved.body ? resolved.body.json : {};
  return { shot: { ...target.shotOf(entry, resolved), headers: { ...headers, ...JSON_TYPE } }, json };
}

scenario(
  'a body of any type but JSON, or a compressed one, is refused by every operation before it is read',
  async (tally) => {
    await throughOperations(target, tally, superuser, async (who, entry, records) => {
      if (!withBody.includes(entry)) return;
      const { shot } = plain(entry, records);
      const before = await counts();
      const wrongType = byTurns(oddTypes.filter(isOddFor(entry)), 6, numberOf(entry)).map((type) => ({
        ...shot,
        headers: { ...shot.headers, 'content-type': type },
      }));
      const packed = byTurns(packedAs(String(shot.body)), 2, numberOf(entry)).map(([coding, body]) => ({
        ...shot,
        headers: { ...shot.headers, 'content-encoding': coding },
        body,
      }));
      const aimed = [...wrongType, ...packed].map((one) => ({
        shot: one,
        check: (answer: Answer) =>
          assert.equal(
            answer.status,
            // The standards of these operations have 400 for a wrong type.
            /^\/api\/v1\/(access\/v1|oauth\/(?!interactions\/|device$))/.test(entry.path) ? 400 : 415,
            `${entry.name} ${JSON.stringify(one.headers)}: ${answer.text}`,
          ),
      }));
      await sendAll(target, tally, { who, entry }, aimed);
      assert.deepEqual(await counts(), before, entry.name);
      tally.held();
    });
  },
);

/** Returns counts and a hash that a body that was not read cannot change. */
const counts = () =>
  service.sql(
    `select (select count(*) from users) as users, (select count(*) from roles) as roles,
      (select count(*) from role_groups) as role_groups, (select count(*) from permissions) as permissions,
      (select count(*) from permission_groups) as permission_groups, (select count(*) from outbox) as mails,
      (select md5(string_agg(row (u.*)::text, ',' order by id)) from users u) as rows`,
  );

scenario(
  'bytes that are not UTF-8, text that is not JSON and nesting beyond 32 levels are refused by every operation',
  (tally) =>
    throughOperations(target, tally, superuser, async (who, entry, records) => {
      if (!withBody.includes(entry)) return;
      const { shot } = plain(entry, records);
      const before = await counts();
      const aimed = byTurns(noJson, 12, numberOf(entry)).map((body) => ({
        shot: { ...shot, body },
        check: ({ status, body: said }: Answer) =>
          assert.equal(
            `${status} ${said.code}`,
            '400 malformed_json',
            `${entry.name}: ${String(body).slice(0, 99)}`,
          ),
      }));
      await sendAll(target, tally, { who, entry }, aimed);
      assert.deepEqual(await counts(), before, entry.name);
      tally.held();
    }),
);

scenario(
  'a hundred thousand brackets and a body over the limit are refused quickly by every operation',
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
      const aimed = byTurns(bodies, 1, numberOf(entry)).map((body) => ({
        shot: { ...shot, body },
        check: ({ status }: Answer) =>
          assert.ok(
            [400, 413, ...(who === 'a superuser' ? [] : [403])].includes(status),
            `${entry.name}: ${status}`,
          ),
      }));
      await sendAll(target, tally, { who, entry }, aimed);
      // A check that is not linear would take minutes, and a volley fails after 60 s.
      tally.held();
    }),
);

scenario('of repeated keys the last one counts, for validation and for the operation', (tally) =>
  throughOperations(target, tally, superuser, async (who, entry, records) => {
    if (!withBody.includes(entry)) return;
    const { shot, json } = plain(entry, records);
    if (typeof json !== 'object' || json === null || Array.isArray(json)) return;
    for (const [key, value] of Object.entries(json)) {
      const others = JSON.stringify(json).slice(1, -1);
      const escaped = `"\\u${key.charCodeAt(0).toString(16).padStart(4, '0')}${key.slice(1)}"`;
      for (const again of byTurns([JSON.stringify(key), escaped], 1, numberOf(entry))) {
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
        // And the reverse: the answer does not mention the overwritten value.
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

scenario('of a repeated password or rank the last one counts, and nobody gains rights', async (tally) => {
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
  'a body in chunks of one byte is accepted, and one with a wrong length is refused',
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
