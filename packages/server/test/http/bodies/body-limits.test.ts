// The size limit of each operation's body, compared with what its fields in the OpenAPI document need.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import type { JsonSchema, OpenApiDocument } from '@castellan/openapi';
import type { Answer } from '@castellan/testing/client';
import { type Entry, operationsOf, takesForm } from '@castellan/testing/conformance/requests';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { ABSENT_ID, assertRefused, isUnsafe } from '@castellan/testing/http/fixture';

const service = await startTestService({ after }, { SELF_DELETION_DAYS: '14' });
const admin = await signIn(service, ADMIN);
const document: OpenApiDocument = (await admin.get('/docs/openapi.json')).body;
// The limits of forms are tested with the operations that take them.
// Sign-in by passkey is refused at this address before its body is read.
const operations = operationsOf(document).filter(
  (entry) => isUnsafe(entry) && !takesForm(entry) && !entry.path.startsWith('/api/v1/auth/login/passkey'),
);
const withBody = operations.filter(({ operation }) => operation.requestBody);

const BULK = new Set([
  'PUT /api/v1/users/bulk-update',
  'POST /api/v1/users/invitations/bulk',
  'POST /api/v1/role-groups/bulk',
  'POST /api/v1/access/changes',
  'POST /api/v1/access/v1/evaluations',
]);
const ids = Array.from({ length: 1_000 }, () => randomUUID());

type Field = { name: string; schema: JsonSchema };

/** Returns the body itself, without a name, and its fields at every depth. */
function fieldsOf({ operation }: Entry): Field[] {
  const walk = (name: string, schema: JsonSchema): Field[] => {
    if (typeof schema.$ref === 'string')
      return walk(name, document.components.schemas?.[schema.$ref.split('/').at(-1) ?? ''] as JsonSchema);
    const branches = [schema.anyOf ?? [], schema.allOf ?? []].flat() as JsonSchema[];
    const properties = Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>);
    return [
      { name, schema },
      ...branches.flatMap((branch) => walk(name, branch)),
      ...(schema.items ? walk(name, schema.items as JsonSchema) : []),
      ...properties.flatMap(([key, property]) => walk(key, property)),
    ];
  };
  const schema = operation.requestBody?.content['application/json']?.schema;
  return schema ? walk('', schema) : [];
}

const listsOf = (entry: Entry): Field[] => fieldsOf(entry).filter(({ schema }) => schema.type === 'array');

function limitOf(entry: Entry): { bytes: number; named: string; values: number } {
  if (BULK.has(entry.name)) return { bytes: 1_048_576, named: '1 MiB', values: 50_000 };
  if (entry.operation['x-access'] === 'public') return { bytes: 16_384, named: '16 KiB', values: 200 };
  return { bytes: 131_072, named: '128 KiB', values: 2_000 };
}

const send = ({ method, path }: Entry, json: unknown): Promise<Answer> =>
  admin.request(method, path.replaceAll(/\{\w+\}/g, ABSENT_ID), { json });
const padded = (bytes: number) => ({ pad: 'x'.repeat(bytes - JSON.stringify({ pad: '' }).length) });

test('every operation refuses a body over its limit with 413 and names the limit', async () => {
  assert.ok(operations.length > 40);
  for (const entry of operations) {
    const { bytes, named } = limitOf(entry);
    const refused = await send(entry, padded(bytes + 1));
    assertRefused(refused, 413, 'body_too_large');
    assert.equal(refused.body.detail, `The request body is larger than ${named}.`, entry.name);
    // Without a required body the operation would be executed.
    if (withBody.includes(entry)) assert.notEqual((await send(entry, padded(bytes))).status, 413, entry.name);
  }
});

test('every operation refuses a body of more values than its limit and names the limit', async () => {
  for (const entry of withBody) {
    const { values } = limitOf(entry);
    const refused = await send(entry, { pad: Array(values).fill(0) });
    assertRefused(refused, 413, 'body_too_large');
    assert.match(refused.body.detail, new RegExp(`more than ${values.toLocaleString('en-US')} values`));
    const full = await send(entry, { pad: Array(values - 1).fill(0) });
    assert.notEqual(full.status, 413, entry.name);
  }
});

test('every list of ids accepts 1,000', async () => {
  let lists = 0;
  // A public operation takes no list of ids, and its body is short.
  for (const entry of withBody.filter(({ operation }) => operation['x-access'] !== 'public'))
    for (const { name } of listsOf(entry)) {
      const answer = await send(entry, name ? { [name]: ids } : ids);
      assert.notEqual(answer.status, 413, `${entry.name} ${name}: ${answer.text}`);
      lists += 1;
    }
  assert.ok(lists > 15);
});

test('every body with 1,000 ids and the longest texts, each character decomposed and escaped, fits its limit', () => {
  // A schema allows four times the characters of a text, because decomposition (UAX #15) may need as many.
  const lengthOf = ({ name, schema: { maxLength } }: Field): number =>
    Number(maxLength ?? (name.endsWith('password') ? 128 * 8 : 254));
  const bytesOf = (field: Field): number => {
    if (field.schema.type === 'array') return ids.length * 39;
    if (field.schema.type !== 'string') return 6;
    if (field.schema.format === 'uuid') return 38;
    // Tokens are ASCII.
    return lengthOf(field) * (field.name.endsWith('token') ? 1 : '\\u1f80'.length);
  };
  // A list of ids has several names, and may be the whole body; one of them is sent.
  const listOf = ({ name, schema }: Field): string =>
    schema.type === 'array' ? name.replace(/^(role|permission)(_ids?|s)$/, '$1s') : name;
  for (const entry of withBody.filter(({ name }) => !BULK.has(name))) {
    const fields = new Map(fieldsOf(entry).map((field) => [listOf(field), field]));
    // The members of a passkey have no limits of their own.
    if (fields.has('passkey')) continue;
    if (fields.size > 1) fields.delete('');
    const needed = [...fields.values()].reduce(
      (sum, field) => sum + bytesOf(field) + field.name.length + 6,
      0,
    );
    assert.ok(needed <= limitOf(entry).bytes, `${entry.name} needs ${needed} bytes`);
  }
});

test('a record can be sent back as it was read, with all its fields', async () => {
  for (const [path, below, item] of [
    ['permission-groups', 'permissions', (id: string, at: number) => ({ name: `act${at}`, group_id: id })],
    ['role-groups', 'roles', (id: string, at: number) => ({ name: `Held ${at}`, role_group_id: id })],
  ] as const) {
    const made = await admin.post(`/api/v1/${path}`, { name: `back-${below}` });
    const id = made.body.data.id;
    for (let at = 0; at < 100; at += 1)
      assert.equal((await admin.post(`/api/v1/${below}`, item(id, at))).status, 201);
    const read = await admin.get(`/api/v1/${path}/${id}`);
    const answer = await admin.put(`/api/v1/${path}/${id}`, { ...read.body.data, description: 'new' });
    assert.equal(answer.status, 200, answer.text);
  }
  const me = (await admin.get('/api/v1/users/me')).body.data;
  assert.notEqual((await admin.put('/api/v1/users/me', me)).status, 413);
});

test('the document states the limit of every body', () => {
  for (const entry of withBody) {
    const { named, values } = limitOf(entry);
    assert.ok(
      entry.operation.description.includes(
        `The body may have at most ${named} and ${values.toLocaleString('en-US')} values`,
      ),
      entry.name,
    );
  }
});
