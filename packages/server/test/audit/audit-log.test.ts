// Reading the audit log: filters, pagination by cursor, the export, permissions; and how long entries are kept.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { auditActions, failureActions } from '@castellan/contract/audit';
import type { Body, TestClient } from '@castellan/testing/client';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { assertRefused } from '@castellan/testing/http/fixture';
import { statementsOf } from '@castellan/testing/statements';
import { addPerson, signedInWith } from '@castellan/testing/users/people';
import { cleanUp } from '../../src/cleanup.ts';
import { deleteOldEntries } from '../../src/modules/audit/store.ts';

// Sealed entries are removed by whole seals: evidence/removal.test.ts.
const service = await startTestService({ after }, { AUDIT_SEALING: 'off' });
const admin = await signIn(service, ADMIN);
const LOG = '/api/v1/audit-logs';

type Entry = {
  id: string;
  actor_id: string | null;
  action: string;
  resource_type: string;
  resource_id: string;
  details: Record<string, unknown>;
  timestamp: string;
};

let kinds = 0;
/** Returns a resource type that no other test's entries have. */
const newKind = () => `kind-${++kinds}`;

/** Inserts entries of this type; `at` is a time as PostgreSQL parses it. */
async function addEntries(kind: string, entries: (Partial<Entry> & { at?: string })[]): Promise<void> {
  await service.sql(
    `insert into audit_logs (id, actor_id, action, resource_type, resource_id, details, "timestamp")
     select coalesce(id, gen_random_uuid()), actor_id, coalesce(action, 'role_created'), $1, coalesce(resource_id, ''),
       coalesce(details, '{}'), coalesce(at, clock_timestamp())
     from jsonb_to_recordset($2::jsonb) as e
       (id uuid, actor_id uuid, action text, resource_id text, details jsonb, at timestamptz)`,
    [kind, JSON.stringify(entries)],
  );
}

async function list(query: string, client: TestClient = admin): Promise<Body> {
  const answer = await client.get(`${LOG}?${query}`);
  assert.equal(answer.status, 200, answer.text);
  return answer.body;
}

async function exported(query: string): Promise<Entry[]> {
  const answer = await admin.get(`${LOG}/export?${query}`);
  assert.equal(answer.status, 200, answer.text);
  return answer.text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

/** Returns the entries of all pages, in order. */
async function readAllPages(
  query: string,
  betweenPages: () => Promise<void> = async () => {},
): Promise<Entry[]> {
  const seen: Entry[] = [];
  let cursor = '';
  for (let page = 0; page < 1_000; page += 1) {
    const { data, next_cursor } = await list(`${query}${cursor}`);
    seen.push(...data);
    if (next_cursor === null) return seen;
    assert.ok(data.length > 0, 'a page before the last one is not empty');
    cursor = `&cursor=${encodeURIComponent(next_cursor)}`;
    await betweenPages();
  }
  throw new Error('the pages do not end');
}

const idsOf = (entries: readonly Entry[]) => entries.map(({ id }) => id);

test('an entry has the fields of the contract; a security event without a known user has an empty target', async () => {
  const answer = await service
    .client()
    .login({ email: 'nobody@example.com', password: 'Wrong#Quartz82Lime' });
  const [entry] = (await list('action=login_failed&size=1')).data;
  assert.equal(entry.details.request_id, answer.headers.get('x-request-id'));
  assert.deepEqual(Object.keys(entry).sort(), [
    'action',
    'actor_email',
    'actor_id',
    'actor_name',
    'actor_type',
    'details',
    'id',
    'resource_id',
    'resource_name',
    'resource_type',
    'timestamp',
  ]);
  const { actor_id, actor_email, resource_type, resource_id, resource_name, details, timestamp } = entry;
  assert.deepEqual(
    [actor_id, actor_email, resource_type, resource_id, resource_name],
    [null, null, 'security_event', '', null],
  );
  assert.equal(details.address, '127.0.0.1');
  assert.equal(details.email, 'nobody@example.com');
  assert.match(timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.ok(Math.abs(Date.parse(timestamp) - Date.now()) < 60_000);
});

test('each filter finds exactly what it names, in the list and in the export alike, and filters combine', async () => {
  const kind = newKind();
  const [actor, target, other] = [randomUUID(), randomUUID(), randomUUID()];
  const at = (hour: number) => `2026-01-01T${String(hour).padStart(2, '0')}:00:00Z`;
  const [a, b, c, d] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
  await addEntries(kind, [
    {
      id: a,
      actor_id: actor,
      action: 'role_created',
      resource_id: target,
      details: { address: '10.0.0.1' },
      at: at(1),
    },
    {
      id: b,
      actor_id: actor,
      action: 'login_failed',
      resource_id: other,
      details: { address: '2001:db8::1' },
      at: at(2),
    },
    {
      id: c,
      actor_id: other,
      action: 'role_deleted',
      resource_id: target,
      details: { address: '10.0.0.1' },
      at: at(3),
    },
    { id: d, action: 'permission_denied', details: { address: '10.0.0.10' }, at: at(4) },
  ]);
  const cases: [string, string[]][] = [
    ['', [d, c, b, a]],
    [`actor_id=${actor}`, [b, a]],
    [`actor_id=${actor.toUpperCase()}`, [b, a]],
    [`resource_id=${target}`, [c, a]],
    [`resource_id=${target.toUpperCase()}`, [c, a]],
    ['action=role_created', [a]],
    ['action=role_created&action=role_deleted', [c, a]],
    ['action=role_created&action=role_created', [a]],
    ['address=10.0.0.1', [c, a]],
    ['address=2001:db8::1', [b]],
    ['result=failure', [d, b]],
    ['result=success', [c, a]],
    ['result=failure&action=role_created', []],
    [`from=${at(2)}`, [d, c, b]],
    [`to=${at(2)}`, [a]],
    [`from=${at(2)}&to=${at(4)}`, [c, b]],
    [`from=${encodeURIComponent('2026-01-01T04:00:00+02:00')}&to=2026-01-01T03:00Z`, [b]],
    [`from=${at(4)}&to=${at(2)}`, []],
    [`actor_id=${actor}&resource_id=${target}&action=role_created&address=10.0.0.1&result=success`, [a]],
    ['resource_id=%25', []],
  ];
  for (const [query, expected] of cases) {
    const full = `resource_type=${kind}&${query}`;
    assert.deepEqual(idsOf((await list(full)).data), expected, query);
    assert.deepEqual(idsOf(await exported(full)), expected, `export: ${query}`);
  }
  assert.deepEqual((await list('resource_type=no-such-type')).data, []);
});

test('every action is a success or a failure, and the result filter uses the same classification', async () => {
  const kind = newKind();
  await addEntries(
    kind,
    auditActions.map((action) => ({ action })),
  );
  const found = async (result: string) =>
    (await exported(`resource_type=${kind}&result=${result}`)).map(({ action }) => action);
  assert.deepEqual((await found('failure')).sort(), [...failureActions].sort());
  assert.equal((await found('success')).length, auditActions.length - failureActions.length);
});

test('an invalid filter is 400 for an id and 422 for the rest, never a 5xx', async () => {
  const times = [
    'yesterday',
    '2026-13-01T00:00:00Z',
    '2026-02-30T00:00:00Z',
    '2026-01-01',
    '2026-01-01T00:00:00',
    '0000-01-01T00:00:00Z',
    '0001-01-01T00:00:00+01:00',
    '9999-12-31T23:59:59-01:00',
    '+010000-01-01T00:00:00Z',
    'infinity',
    '',
  ];
  for (const time of times)
    for (const name of ['from', 'to'])
      for (const path of [LOG, `${LOG}/export`]) {
        const answer = await admin.get(`${path}?${name}=${encodeURIComponent(time)}`);
        assertRefused(answer, 422, 'validation_failed');
        assert.equal(answer.body.errors[0].field, `query.${name}`);
      }
  for (const time of ['0001-01-01T00:00:00Z', '9999-12-31T23:59:59.999Z', '2024-02-29T24:00:00Z'])
    assert.equal((await admin.get(`${LOG}?from=${time}`)).status, 200);
  assertRefused(await admin.get(`${LOG}?actor_id=me`), 400, 'invalid_id');
  for (const query of [
    'action=no_such_action',
    'action=role_created&action=',
    'result=maybe',
    'size=0',
    'size=101',
    `resource_type=${'x'.repeat(101)}`,
    `address=${'1'.repeat(101)}`,
  ])
    assertRefused(await admin.get(`${LOG}?${query}`), 422, 'validation_failed');
});

test('pages contain every entry once, newest first, including entries of the same time', async () => {
  const kind = newKind();
  const moment = '2026-03-04T05:06:07.123456Z';
  await addEntries(kind, [
    ...Array.from({ length: 25 }, () => ({ at: moment })),
    // One microsecond apart: more precise than the timestamps in answers.
    ...Array.from({ length: 9 }, (_, index) => ({ at: `2026-03-04T05:06:07.12345${index}Z` })),
  ]);
  const expected = await service.sql<{ id: string }>(
    'select id from audit_logs where resource_type = $1 order by "timestamp" desc, id desc',
    [kind],
  );
  for (const size of [1, 7, 33, 34, 35]) {
    const seen = await readAllPages(`resource_type=${kind}&size=${size}`);
    assert.deepEqual(
      idsOf(seen),
      expected.map(({ id }) => id),
      `size ${size}`,
    );
  }
});

test('while entries are being added, paging through the log returns each earlier entry exactly once', async () => {
  const kind = newKind();
  await addEntries(
    kind,
    Array.from({ length: 120 }, () => ({})),
  );
  const begun = new Set(
    (await service.sql<Entry>('select id from audit_logs where resource_type = $1', [kind])).map(
      ({ id }) => id,
    ),
  );
  let adding = true;
  const writer = (async () => {
    while (adding) await addEntries(kind, [{}, {}, {}]);
  })();
  // Entries that got their time earlier, but are committed only now.
  const seen = await readAllPages(`resource_type=${kind}&size=10`, () =>
    addEntries(kind, [{ at: new Date(Date.now() - 1_000).toISOString() }]),
  ).finally(() => {
    adding = false;
  });
  await writer;
  assert.equal(new Set(idsOf(seen)).size, seen.length, 'an entry was returned twice');
  assert.deepEqual(
    [...begun].filter((id) => !idsOf(seen).includes(id)),
    [],
  );
  for (const [index, entry] of seen.slice(1).entries())
    assert.ok(entry.timestamp <= (seen[index] as Entry).timestamp, 'newest first');
});

test('a cursor that was never issued is 422, never a 5xx and never a wrong page', async () => {
  const kind = newKind();
  await addEntries(kind, [{}, {}]);
  const { next_cursor } = await list(`resource_type=${kind}&size=1`);
  const [time = '', id = ''] = Buffer.from(next_cursor, 'base64url').toString().split('|');
  const encode = (text: string) => Buffer.from(text).toString('base64url');
  for (const cursor of [
    '',
    'x',
    '!',
    next_cursor.slice(0, -2),
    `${next_cursor}A`,
    `${next_cursor}!`,
    `${next_cursor}==`,
    encode(`${time}|`),
    encode(`|${id}`),
    encode(`${time}|${id}|`),
    encode(`${time}|${id.slice(1)}`),
    encode(`${time}|${id.toUpperCase().replace('A', 'G')}`),
    encode(`2026-02-30T00:00:00.000000Z|${id}`),
    encode(`2026-13-01T00:00:00.000000Z|${id}`),
    encode(`0000-01-01T00:00:00.000000Z|${id}`),
    encode(`2026-01-01T25:00:00.000000Z|${id}`),
    encode(`2026-01-01T00:00:00Z|${id}`),
    encode(`infinity|${id}`),
    encode(`${time}' or true|${id}`),
  ])
    assertRefused(await admin.get(`${LOG}?cursor=${encodeURIComponent(cursor)}`), 422, 'validation_failed');
  assertRefused(await admin.get(`${LOG}?cursor=${'A'.repeat(201)}`), 422, 'validation_failed');
});

test('only holders of audit_log.read can read the log', async () => {
  const { client } = await signedInWith(service, 'audit_log.read');
  const nobody = await signIn(service, await addPerson(service));
  for (const path of [LOG, `${LOG}/export`]) {
    const allowed = await client.get(`${path}?action=login_failed`);
    assert.equal(allowed.status, 200, allowed.text);
    assertRefused(await nobody.get(path), 403, 'permission_denied');
    assertRefused(await service.client().get(path), 401, 'token_missing');
  }
});

test("entries stay readable when the actor's account is deleted", async () => {
  const { client, person } = await signedInWith(service, 'role.create');
  const made = await client.post('/api/v1/roles', { name: `Left behind ${randomUUID()}` });
  assert.equal(made.status, 201, made.text);
  assert.equal((await admin.post(`/api/v1/users/${person.id}/roles`, { role_ids: [] })).status, 200);
  assert.equal((await admin.delete(`/api/v1/users/${person.id}`)).status, 200);
  const { data } = await list(`actor_id=${person.id}&action=role_created`);
  assert.equal(data.length, 1);
  assert.equal(data[0].actor_id, person.id);
  assert.equal(data[0].actor_email, person.email);
  assert.equal(data[0].resource_id, made.body.data.id);
  const [deletion] = (await list(`resource_id=${person.id}&action=user_deleted`)).data;
  assert.equal(deletion.actor_email, ADMIN.email);
  assert.equal(deletion.details.before.email, person.email);
});

test('retention removes entries older than AUDIT_RETENTION_DAYS in small statements; decimals are allowed; 0 keeps all', async () => {
  const kind = newKind();
  const ages = [11, 12.5, 13, 400].map((hours) => ({
    at: new Date(Date.now() - hours * 3_600_000).toISOString(),
  }));
  await addEntries(kind, ages);
  await service.sql(
    `insert into audit_logs (id, action, resource_type, "timestamp")
     select gen_random_uuid(), 'role_created', $1, now() - interval '20 days' from generate_series(1, 2500)`,
    [kind],
  );
  const left = async () =>
    (await service.sql('select from audit_logs where resource_type = $1', [kind])).length;

  await cleanUp(service.service.deps);
  assert.equal(await left(), 2_504, 'without the setting nothing is removed');

  let deleted = 0;
  const texts = await statementsOf(async () => {
    deleted = await deleteOldEntries(service.service.deps.db, 10);
  });
  const deletions = texts.filter((text) => text.includes('delete from audit_logs'));
  assert.ok(deleted >= 2_501 && deletions.length === 3, `${deleted} in ${deletions.length} statements`);
  assert.equal(await left(), 3);

  const halfDay = await service.another({ AUDIT_RETENTION_DAYS: '0.5' });
  await cleanUp(halfDay.service.deps);
  assert.equal(await left(), 1);
});
