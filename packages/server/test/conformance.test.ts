// Compares the service with its OpenAPI document: the document must describe the answer to every generated request.
// CONFORMANCE_SEED repeats a run. CONFORMANCE_RUNS sets the number of requests of each kind per operation and caller.
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { after, test } from 'node:test';
import type { Answer } from '@castellan/testing/client';
import { describedBy, lowerCase, queryOf } from '@castellan/testing/conformance/described';
import { type Caller, existingRecords, openWorld } from '@castellan/testing/conformance/records';
import {
  allowed,
  type Draft,
  type Entry,
  nearMiss,
  operationsOf,
  resolve,
} from '@castellan/testing/conformance/requests';
import { rounds } from '@castellan/testing/scenario';
import fc from 'fast-check';

const seed = Number(process.env.CONFORMANCE_SEED ?? randomInt(2 ** 31));
// About 800 requests in all, 3,000 in a full run; every run has another seed.
const numRuns = Number(process.env.CONFORMANCE_RUNS ?? rounds(3, 10));
// The timeouts of the statements of one request add up to less.
const HANGS_AFTER_MS = 60_000;

const world = await openWorld({ after });
const { service, document, callers } = world;
const assertDescribed = describedBy(document);

const [{ password_hash: passwordHash } = {}] = await service.sql<{ password_hash: string }>(
  'select password_hash from users where id = $1',
  [callers['a superuser'].person.id],
);

async function send(caller: Caller, { method, path }: Entry, draft: Draft): Promise<Answer> {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(draft.params[name] ?? ''));
  const query = queryOf(draft.query);
  const content = draft.body
    ? { 'content-type': 'application/json', ...lowerCase(draft.headers) }
    : lowerCase(draft.headers);
  const request = caller.client.request(method, query ? `${filled}?${query}` : filled, {
    headers: content,
    ...(draft.body
      ? { raw: 'raw' in draft.body ? draft.body.raw : (JSON.stringify(draft.body.json) ?? '') }
      : {}),
  });
  const { promise: hung, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error('no answer')), HANGS_AFTER_MS);
  const answer = await Promise.race([request, hung]).finally(() => clearTimeout(timer));
  // Some requests end the session that sends them; refusing an invalid value ends none.
  if (answer.status < 400 || answer.status === 401 || answer.status >= 500) await signInAgain(caller);
  return answer;
}

/** Signs in again if necessary. */
async function signInAgain({ person, client }: Caller): Promise<void> {
  if ((await client.get('/api/v1/auth/sessions')).status === 200) return;
  // A request may have changed the password.
  await service.sql('update users set password_hash = $2 where id = $1', [person.id, passwordHash]);
  const again = await client.login(person);
  assert.equal(again.status, 200, again.text);
}

for (const entry of operationsOf(document)) {
  let known: ReturnType<typeof existingRecords> | undefined;
  for (const [who, caller] of Object.entries(callers))
    test(`${entry.name}: every answer to ${who} is described`, async () => {
      known ??= existingRecords(world);
      const records = await known;
      // A request of the other caller may have ended this caller's session.
      await signInAgain(caller);
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
          // Not shrunk, because the earlier requests have changed the records.
          { seed, numRuns, endOnFailure: true },
        );
    });
}
