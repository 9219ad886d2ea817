// The service against its own OpenAPI document: whatever is sent, each answer is one that the document describes.
// CONFORMANCE_SEED repeats a run, CONFORMANCE_RUNS sets the requests of each kind per operation and caller.
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { after, test } from 'node:test';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import fc from 'fast-check';
import type { OpenApiDocument } from '../src/platform/http/reference/openapi.ts';
import { answersOf } from '../src/platform/http/reference/shared-answers.ts';
import type { Answer, TestClient } from './client.ts';
import {
  allowed,
  type Draft,
  type Entry,
  type Kind,
  nearMiss,
  operationsOf,
  resolve,
} from './conformance/requests.ts';
import { signIn, startTestService } from './harness.ts';
import { addPerson, addRole, type Person } from './users/people.ts';

const seed = Number(process.env.CONFORMANCE_SEED ?? randomInt(2 ** 31));
// Some 3,000 requests in all.
const numRuns = Number(process.env.CONFORMANCE_RUNS ?? 10);
// The statements' own time-outs add up to less.
const HANGS_AFTER_MS = 20_000;

const service = await startTestService(
  { after },
  { CONCURRENT_SESSION_LIMIT: '0', ACCOUNT_LOCKOUT_ATTEMPTS: '1000' },
);
const document: OpenApiDocument = (await service.client().get('/docs/openapi.json')).body;

// The callers' own ids are never generated: nobody locks himself out.
type Caller = { person: Person; client: TestClient };
const callers: Record<string, Caller> = {};
for (const [name, superuser] of [
  ['a superuser', true],
  ['an ordinary user', false],
] as const) {
  const person = await addPerson(service, { superuser });
  callers[name] = { person, client: await signIn(service, person) };
}

const [{ password_hash: passwordHash } = {}] = await service.sql<{ password_hash: string }>(
  'select password_hash from users where id = $1',
  [callers['a superuser']?.person.id],
);

/** What there is to name in a request; topped up, because requests delete. */
async function existingRecords(): Promise<Record<Kind, string[]>> {
  const client = callers['a superuser']?.client as TestClient;
  const role = await addRole(service, 'role.read');
  const person = await addPerson(service, { roles: [role] });
  await signIn(service, person);
  await addPerson(service, { verified: false });
  await addPerson(service, { superuser: true });
  for (const path of ['role-groups', 'permission-groups']) {
    const parent = await client.post(`/api/v1/${path}`, { name: `Parent ${role}` });
    await client.post(`/api/v1/${path}`, { name: `Child ${role}`, parent_id: parent.body.data?.id });
    if (path === 'permission-groups')
      await client.post('/api/v1/permissions', { name: 'act', group_id: parent.body.data?.id });
  }
  const mine = Object.values(callers).map((one) => one.person.id);
  const column = async (text: string) =>
    (await service.sql<{ value: string }>(text, text.includes('$1') ? [mine] : [])).map(({ value }) => value);
  const newest = 'order by created_at desc limit 12';
  return {
    user: await column(`select id as value from users where id <> all($1) ${newest}`),
    email: await column(`select email as value from users where id <> all($1) ${newest}`),
    role: await column(`select id as value from roles ${newest}`),
    role_group: await column(`select id as value from role_groups ${newest}`),
    permission: await column(`select id as value from permissions ${newest}`),
    permission_group: await column(`select id as value from permission_groups ${newest}`),
    session: await column(`select id as value from sessions where revoked_at is null ${newest}`),
  };
}

const ajv = addFormats.default(new Ajv2020({ strict: false, validateSchema: false, allErrors: true }));
ajv.addSchema(document, 'openapi');
const validators = new Map<string, ValidateFunction>();
function validatorOf(schema: object): ValidateFunction {
  const key = JSON.stringify(schema);
  // References of the document are relative to the document.
  const absolute = JSON.parse(key.replaceAll('"$ref":"#', '"$ref":"openapi#'));
  const known = validators.get(key) ?? ajv.compile(absolute);
  validators.set(key, known);
  return known;
}

function assertDescribed({ operation }: Entry, answer: Answer): void {
  const { status, body, text, headers } = answer;
  assert.ok(status < 500, 'a failure of the service');
  const described = new Map(answersOf(operation, document)).get(String(status));
  assert.ok(described, `status ${status} is not described`);
  assert.match(headers.get('x-request-id') ?? '', /./);
  const codes = described['x-error-codes'];
  if (codes) assert.ok(codes.includes(body?.code), `code ${body?.code} is not described under ${status}`);
  if (!described.content) {
    assert.equal(text, '');
    return;
  }
  const type = headers.get('content-type')?.split(';')[0] ?? '';
  const media = described.content[type];
  assert.ok(media, `content type ${type} is not described under ${status}`);
  const validate = validatorOf(media.schema);
  assert.ok(validate(/[/+]json$/.test(type) ? body : text), ajv.errorsText(validate.errors));
}

/** A value as it stands in a query: an array is its name repeated. */
const queryOf = (query: Record<string, unknown>): string =>
  new URLSearchParams(
    Object.entries(query).flatMap(([name, value]) =>
      [value].flat().map((one): [string, string] => [name, String(one)]),
    ),
  ).toString();

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

const lowerCase = (headers: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
const isAlive = async (client: TestClient): Promise<boolean> =>
  (await client.get('/api/v1/auth/sessions')).status === 200;

for (const entry of operationsOf(document))
  for (const [who, caller] of Object.entries(callers))
    test(`${entry.name}: every answer to ${who} is described`, async () => {
      const records = await existingRecords();
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
