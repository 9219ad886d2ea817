// What the change feed and the seals of the audit log add must not show where nobody uses them: instances with and without them, on one
// database, answer every request with the same bytes.
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { after, test } from 'node:test';
import type { Answer, TestClient } from '@castellan/testing/client';
import { lowerCase, queryOf } from '@castellan/testing/conformance/described';
import { existingRecords, openWorld } from '@castellan/testing/conformance/records';
import {
  allowed,
  type Draft,
  type Entry,
  nearMiss,
  operationsOf,
  resolve,
} from '@castellan/testing/conformance/requests';
import fc from 'fast-check';

const seed = Number(process.env.CONFORMANCE_SEED ?? randomInt(2 ** 31));
/** Something may change between two requests: a session is used, an entry is written. */
const ATTEMPTS = 4;

const world = await openWorld({ after });
const { document, callers } = world;
const { client: admin } = callers['a superuser'];
const without = await world.service.another({ AUDIT_SEALING: 'off', FEED: 'off' });
const records = await existingRecords(world);

/** Each of its answers is another one: a random token. */
const RANDOM = ['GET /api/v1/auth/csrf-token'];
/** The setting turns it off. */
const OFF = ['GET /api/v1/access/feed'];
const entries = operationsOf(document).filter(({ name }) => ![...RANDOM, ...OFF].includes(name));

async function send(client: TestClient, { method, path }: Entry, draft: Draft): Promise<Answer> {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(draft.params[name] ?? ''));
  const query = queryOf(draft.query);
  const headers = draft.body
    ? { 'content-type': 'application/json', ...lowerCase(draft.headers) }
    : lowerCase(draft.headers);
  const raw = draft.body && ('raw' in draft.body ? draft.body.raw : JSON.stringify(draft.body.json));
  return client.request(method, query ? `${filled}?${query}` : filled, {
    headers,
    ...(typeof raw === 'string' ? { raw } : {}),
  });
}

/** Besides the time: what counts the requests of the client. */
const COUNTING = ['date', 'x-request-id', 'ratelimit-remaining', 'ratelimit-reset'];

/** All that an answer says, without its time, its own id and the count of requests. */
function textOf({ status, headers, text }: Answer): string {
  const own = headers.get('x-request-id') ?? '';
  const lines = [...headers]
    .filter(([name]) => !COUNTING.includes(name))
    .map(([name, value]) => `${name}: ${value}`);
  const whole = [`${status}`, ...lines.sort(), '', text].join('\n');
  return own === '' ? whole : whole.replaceAll(own, '<request id>');
}

const at = (client: TestClient, instance: { url: string }): TestClient => client.at(instance.url);

for (const entry of entries)
  test(`${entry.name} answers with the same bytes`, async () => {
    const isRead = entry.method === 'GET';
    const [valid] = fc.sample(allowed(entry, document), { seed, numRuns: 1 });
    const [wrong] = fc.sample(nearMiss(entry, document), { seed, numRuns: 1 });
    assert.ok(valid && wrong);
    const stranger = world.service.client();
    const cases: [TestClient, Draft][] = [
      [stranger, valid],
      ...(isRead ? [[admin, valid] as [TestClient, Draft]] : []),
      [admin, wrong],
    ];
    for (const [client, draft] of cases) {
      const request = resolve(draft, records);
      let pair: [string, string] = ['', ''];
      for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
        const first = await send(at(client, world.service), entry, request);
        // What was changed cannot be changed again: only refusals can be compared.
        if (!isRead && first.status < 400) break;
        const second = await send(at(client, without), entry, request);
        pair = [textOf(first), textOf(second)];
        if (pair[0] === pair[1]) break;
      }
      assert.equal(pair[1], pair[0], `CONFORMANCE_SEED=${seed}`);
    }
  });
