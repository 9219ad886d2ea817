// The service against its own OpenAPI document: whatever is sent, each answer is one that the document describes.
// CONFORMANCE_SEED repeats a run, CONFORMANCE_RUNS sets the requests of each kind per operation and caller.
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { after, test } from 'node:test';
import fc from 'fast-check';
import type { Answer, TestClient } from './client.ts';
import { describedBy, lowerCase, queryOf } from './conformance/described.ts';
import { type Caller, existingRecords, openWorld } from './conformance/records.ts';
import { allowed, type Draft, type Entry, nearMiss, operationsOf, resolve } from './conformance/requests.ts';

const seed = Number(process.env.CONFORMANCE_SEED ?? randomInt(2 ** 31));
// Some 3,000 requests in all.
const numRuns = Number(process.env.CONFORMANCE_RUNS ?? 10);
// The statements' own time-outs add up to less.
const HANGS_AFTER_MS = 20_000;

const world = await openWorld({ after });
const { service, document, callers } = world;
const assertDescribed = describedBy(document);

const [{ password_hash: passwordHash } = {}] = await service.sql<{ password_hash: string }>(
  'select password_hash from users where id = $1',
  [callers['a superuser'].person.id],
);

async function send({ person, client }: Caller, { method, path }: Entry, draft: Draft): Promise<Answer> {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(draft.params[name] ?? ''));
  const query = queryOf(draft.query);
  const content = draft.body
    ? { 'content-type': 'application/json', ...lowerCase(draft.headers) }
    : lowerCase(draft.headers);
  const request = client.request(method, query ? `${filled}?${query}` : filled, {
    headers: content,
    ...(draft.body
      ? { raw: 'raw' in draft.body ? draft.body.raw : (JSON.stringify(draft.body.json) ?? '') }
      : {}),
  });
  const { promise: hung, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error('no answer')), HANGS_AFTER_MS);
  const answer = await Promise.race([request, hung]).finally(() => clearTimeout(timer));
  // Some requests end the session that sends them.
  if (!(await isAlive(client))) {
    // And one may have changed the password.
    await service.sql('update users set password_hash = $2 where id = $1', [person.id, passwordHash]);
    const again = await client.login(person);
    assert.equal(again.status, 200, again.text);
  }
  return answer;
}

const isAlive = async (client: TestClient): Promise<boolean> =>
  (await client.get('/api/v1/auth/sessions')).status === 200;

for (const entry of operationsOf(document))
  for (const [who, caller] of Object.entries(callers))
    test(`${entry.name}: every answer to ${who} is described`, async () => {
      const records = await existingRecords(world);
      for (const drafts of [allowed(entry, document), nearMiss(entry, document)])
        await fc.assert(
          fc.asyncProperty(drafts, async (draft) => {
            const answer = await send(caller, entry, resolve(draft, records));
            try {
              assertDescribed(entry, answer);
            } catch (error) {
              const requestId = answer.headers.get('x-request-id') ?? '';
              const logged = service.logLines.filter((line) => line.includes(requestId)).join('');
              throw new Error(
                `CONFORMANCE_SEED=${seed}: ${(error as Error).message}\n${answer.status} ${answer.text}\n${logged}`,
              );
            }
          }),
          // Not made smaller: what was sent before has changed the records.
          { seed, numRuns, endOnFailure: true },
        );
    });
