// Values of attributes: what each type takes, merge patches, who may read and write, and races.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ADMIN, newEmail, signIn, startTestService } from '@castellan/testing/harness';
import { assertRefused } from '@castellan/testing/http/fixture';
import { addPerson, eventsOf, signedInWith, tally } from '@castellan/testing/users/people';

const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);
const own = '/api/v1/users/me/attributes';
const valuesOf = (id: string): string => `/api/v1/users/${id}/attributes`;
const declare = async (name: string, fields: object = {}) => {
  const made = await admin.post('/api/v1/user-attributes', { name, label: name, type: 'string', ...fields });
  assert.equal(made.status, 201, made.text);
  return made.body.data;
};

await declare('team', { max_length: 5 });
await declare('ratio', { type: 'number' });
await declare('floor', { type: 'integer' });
await declare('remote', { type: 'boolean' });
await declare('joined', { type: 'date' });
await declare('site', { type: 'url' });
await declare('shirt', { type: 'enum', values: ['S', 'M'] });
await declare('prefs', { type: 'json' });
await declare('salary', { type: 'integer', sensitive: true });
await declare('nick', { self: 'write' });
await declare('grade', { self: 'read' });
await declare('desk', { unique: true });
await declare('essay', { max_length: 4_000 });
await declare('essay_2', { max_length: 4_000 });

test('each type takes its values and refuses others, a field for each', async () => {
  const { id } = await addPerson(service);
  const taken: Record<string, unknown[]> = {
    team: ['Ünïts', '😀😀😀😀😀'],
    ratio: [0, -1.5, 1e300],
    floor: [0, -3, Number.MAX_SAFE_INTEGER],
    remote: [true, false],
    joined: ['2024-02-29', '0001-01-01', '9999-12-31'],
    site: ['https://example.com/a?b#c', 'HTTP://example.com'],
    shirt: ['S', 'M'],
    prefs: [{ a: [1, { b: null }] }, [1, null], 'text', 7, false, {}],
  };
  for (const [name, values] of Object.entries(taken))
    for (const value of values) {
      const answer = await admin.patch(valuesOf(id), { [name]: value });
      assert.deepEqual([answer.status, answer.body.data?.[name]], [200, value], answer.text);
    }
  const refused: Record<string, unknown[]> = {
    team: ['', '  ', 'sixsix', 5, ['a'], { a: 1 }, 'a\nb', '<b>', '\u202eabc'],
    ratio: ['1', true],
    floor: [1.5, '1', Number.MAX_SAFE_INTEGER + 1],
    remote: ['true', 0],
    joined: ['2023-02-29', '2024-1-1', '2024-01-01T00:00:00Z', 20_240_101, '10000-01-01', '2024-00-10'],
    site: [
      'javascript:alert(1)',
      'example.com',
      '//example.com',
      'https://',
      'ftp://example.com',
      'https://a b',
    ],
    shirt: ['s', 'L', ''],
    unknown: ['x', null],
    constructor: ['x'],
  };
  const before = (await admin.get(valuesOf(id))).body.data;
  for (const [name, values] of Object.entries(refused))
    for (const value of values) {
      const answer = await admin.patch(valuesOf(id), { team: 'other', [name]: value });
      assertRefused(answer, 422, 'validation_failed');
      assert.equal(answer.body.errors[0].field, name, answer.text);
    }
  const both = await admin.patch(valuesOf(id), { floor: 'x', shirt: 'x', team: 'fine' });
  assert.deepEqual(both.body.errors.map(({ field }: { field: string }) => field).sort(), ['floor', 'shirt']);
  const raw = (text: string) =>
    admin.request('PATCH', valuesOf(id), { raw: text, headers: { 'content-type': 'application/json' } });
  for (const text of ['{"ratio": 1e400}', '{"prefs": 1e400}', '{"prefs": {"a": [-1e400]}}'])
    assertRefused(await raw(text), 422, 'validation_failed');
  assertRefused(await raw('{"prefs": {"a": "\\u0000"}}'), 400, 'invalid_text');
  assertRefused(await raw('{"prefs": {"\\u0000": 1}}'), 400, 'invalid_text');
  assertRefused(await raw('{"prefs": "\\ud800"}'), 400, 'invalid_text');
  assertRefused(await raw('{"prefs": {"__proto__": {"a": 1}}}'), 400, 'malformed_json');
  assertRefused(await raw(`{"prefs": ${'['.repeat(500)}${']'.repeat(500)}}`), 400, 'malformed_json');
  assert.ok((await raw('["team"]')).status >= 400);
  assert.deepEqual((await admin.get(valuesOf(id))).body.data, before, 'a refused patch changes nothing');
});

test('a text is trimmed and in NFC, and numbers, days and orders of members come back as they went', async () => {
  const { id } = await addPerson(service);
  const answer = await admin.patch(valuesOf(id), { team: '  e\u0301  ', prefs: { b: 1, a: [2, '3'] } });
  assert.equal(answer.body.data.team, 'é');
  assert.deepEqual(answer.body.data.prefs, { b: 1, a: [2, '3'] });
});

test('a merge patch changes what it names, by either media type; null removes; objects of a json are merged', async () => {
  const { id } = await addPerson(service);
  await admin.patch(valuesOf(id), { team: 'a', floor: 1, prefs: { mail: { daily: true }, theme: 'dark' } });
  const merged = await admin.request('PATCH', valuesOf(id), {
    raw: JSON.stringify({ team: null, prefs: { mail: { daily: null, weekly: true }, x: { y: null } } }),
    headers: { 'content-type': 'application/merge-patch+json' },
  });
  assert.equal(merged.status, 200, merged.text);
  assert.deepEqual(merged.body.data, {
    floor: 1,
    prefs: { mail: { weekly: true }, theme: 'dark', x: {} },
  });
  assert.deepEqual((await admin.get(valuesOf(id))).body.data, merged.body.data);
  const post = await admin.request('POST', '/api/v1/user-attributes', {
    raw: '{}',
    headers: { 'content-type': 'application/merge-patch+json' },
  });
  assertRefused(post, 415, 'unsupported_media_type');
});

test('a json has members of any name, also of one that asks other operations for a preview', async () => {
  await declare('dry_run', { type: 'boolean' });
  const person = await addPerson(service);
  const values = { prefs: { dryRun: true, nested: [{ dry_run: 1 }] }, dry_run: true };
  const changed = await admin.patch(valuesOf(person.id), values);
  assert.deepEqual([changed.status, changed.body.data], [200, values], changed.text);
  const invitation = { email: newEmail('json'), first_name: 'Ada', last_name: 'L', attributes: values };
  const invited = await admin.post('/api/v1/users/invitations', invitation);
  assert.equal(invited.status, 201, invited.text);
  const bulk = await admin.post('/api/v1/users/invitations/bulk', {
    invitations: [{ ...invitation, email: newEmail('json') }],
  });
  assert.equal(bulk.body.data?.invited.length, 1, bulk.text);
  const asked = { ...invitation, email: newEmail('json'), dry_run: true };
  assert.equal((await admin.post('/api/v1/users/invitations', asked)).status, 400);
});

test('values have the version of the user, which only a change raises', async () => {
  const { id } = await addPerson(service);
  const read = await admin.get(valuesOf(id));
  const etag = read.headers.get('etag') ?? '';
  assert.equal((await admin.get(`/api/v1/users/${id}`)).headers.get('etag'), etag);
  const changed = await admin.patch(valuesOf(id), { team: 'a' }, { headers: { 'if-match': etag } });
  assert.equal(changed.status, 200, changed.text);
  assert.notEqual(changed.headers.get('etag'), etag);
  const late = await admin.patch(valuesOf(id), { team: 'b' }, { headers: { 'if-match': etag } });
  assertRefused(late, 412, 'precondition_failed');
  assert.deepEqual(late.body.current, { team: 'a' });
  const same = await admin.patch(valuesOf(id), { team: 'a' });
  assert.equal(same.headers.get('etag'), changed.headers.get('etag'));
  assert.deepEqual(await eventsOf(service, same), []);
});

test('the values of a user take at most 16 KiB', async () => {
  const { id } = await addPerson(service);
  // Four bytes a character.
  const half = '😀'.repeat(2_040);
  assert.equal((await admin.patch(valuesOf(id), { essay: half })).status, 200);
  assertRefused(await admin.patch(valuesOf(id), { essay_2: '😀'.repeat(2_050) }), 422, 'validation_failed');
  assert.equal((await admin.patch(valuesOf(id), { essay_2: '😀'.repeat(2_000) })).status, 200);
});

test('the audit log has what changed, and nothing of a sensitive value', async () => {
  const { id } = await addPerson(service);
  await admin.patch(valuesOf(id), { team: 'old', salary: 1_234_567 });
  const answer = await admin.patch(valuesOf(id), { team: 'new', salary: 7_654_321, floor: 2 });
  const [event] = await eventsOf(service, answer);
  assert.equal(event?.action, 'user_attributes_updated');
  assert.deepEqual(event?.details.before, { attributes: { team: 'old', salary: '…' } });
  assert.deepEqual(event?.details.after, { attributes: { team: 'new', salary: '…', floor: 2 } });
  const leaks = await service.sql(
    `select 1 from audit_logs where details::text like '%1234567%' or details::text like '%7654321%'`,
  );
  assert.equal(leaks.length, 0);
});

test('the audit log has the beginning of a long value', async () => {
  const { id } = await addPerson(service);
  const prefs = { theme: 'x'.repeat(3_000) };
  const answer = await admin.patch(valuesOf(id), { essay: 'y'.repeat(4_000), prefs });
  assert.equal(answer.status, 200, answer.text);
  const [event] = await eventsOf(service, answer);
  assert.deepEqual(event?.details.after, {
    attributes: { essay: `${'y'.repeat(499)}…`, prefs: `${JSON.stringify(prefs).slice(0, 499)}…` },
  });
});

test('people read and write those of their own values that they may; others do not exist for them', async () => {
  const {
    client,
    person: { id },
  } = await signedInWith(service, 'self.update_profile');
  await admin.patch(valuesOf(id), { team: 'a', nick: 'Bo', grade: '7' });
  const read = await client.get(own);
  assert.deepEqual([read.body.data, read.body.definitions], [{ nick: 'Bo', grade: '7' }, undefined]);
  const defined = await client.get(`${own}?include=definitions`);
  assert.deepEqual(defined.body.data, read.body.data);
  assert.deepEqual(
    defined.body.definitions.map(({ name, self }: { name: string; self: string }) => [name, self]),
    [
      ['grade', 'read'],
      ['nick', 'write'],
    ],
  );
  assert.deepEqual(
    Object.keys(defined.body.definitions[0]).sort(),
    ['description', 'label', 'max_length', 'name', 'self', 'type', 'values'],
    'how administrators use an attribute is not told',
  );
  assertRefused(await client.get(`${own}?include=activity`), 422, 'validation_failed');
  const changed = await client.patch(own, { nick: 'Bobby' });
  assert.deepEqual([changed.status, changed.body.data], [200, { nick: 'Bobby', grade: '7' }], changed.text);
  const [event] = await eventsOf(service, changed);
  assert.equal(event?.action, 'user_profile_updated');
  const hidden = await client.patch(own, { team: 'b' });
  const unknown = await client.patch(own, { nowhere: 'b' });
  assertRefused(hidden, 422, 'validation_failed');
  const { field: _field, ...told } = hidden.body.errors[0];
  const { field: _other, ...toldOfUnknown } = unknown.body.errors[0];
  assert.deepEqual(told, toldOfUnknown);
  const readOnly = await client.patch(own, { grade: '1' });
  assert.deepEqual([readOnly.status, readOnly.body.errors[0].code], [422, 'not_allowed']);
  const stale = await client.patch(own, { nick: 'x' }, { headers: { 'if-match': '"1"' } });
  assertRefused(stale, 412, 'precondition_failed');
  assert.deepEqual(stale.body.current, { nick: 'Bobby', grade: '7' });
  const without = await signedInWith(service);
  assert.equal((await without.client.get(own)).status, 200);
  assertRefused(await without.client.patch(own, { nick: 'x' }), 403, 'permission_denied');
});

test('administrators need the permission and the standing; service accounts have no values', async () => {
  const person = await addPerson(service);
  const superuser = await addPerson(service, { superuser: true });
  const reader = await signedInWith(service, 'users.read');
  assert.equal((await reader.client.get(valuesOf(person.id))).status, 200);
  assertRefused(await reader.client.patch(valuesOf(person.id), { team: 'a' }), 403, 'permission_denied');
  const writer = await signedInWith(service, 'users.update');
  assertRefused(await writer.client.get(valuesOf(person.id)), 403, 'permission_denied');
  assert.equal((await writer.client.patch(valuesOf(person.id), { team: 'a' })).status, 200);
  assertRefused(await writer.client.patch(valuesOf(superuser.id), { team: 'a' }), 403, 'superuser_required');
  const powerful = await signedInWith(service, 'role.delete');
  assertRefused(
    await writer.client.patch(valuesOf(powerful.person.id), { team: 'a' }),
    403,
    'privilege_escalation',
  );
  assertRefused(
    await admin.patch(valuesOf('00000000-0000-4000-8000-000000000000'), { team: 'a' }),
    404,
    'user_not_found',
  );
  const account = await admin.post('/api/v1/service-accounts', { name: 'Attributes' });
  const key = await admin.post(`/api/v1/service-accounts/${account.body.data.id}/keys`, { name: 'Key' });
  const robot = service.client();
  robot.accessToken = key.body.data.key;
  assertRefused(await robot.get(own), 403, 'user_required');
  assertRefused(await robot.get(valuesOf(account.body.data.id)), 403, 'permission_denied');
});

test('a required attribute refuses administrators who leave it without a value, and nobody else', async () => {
  const {
    client,
    person: { id },
  } = await signedInWith(service, 'self.update_profile');
  const { id: attribute } = await declare('region', { required: true, self: 'write' });
  const missing = await admin.patch(valuesOf(id), { team: 'a' });
  assert.deepEqual(
    [missing.status, missing.body.errors],
    [422, [{ field: 'region', code: 'required', message: 'is required' }]],
  );
  assert.equal((await client.patch(own, { nick: 'x' })).status, 200);
  assert.equal((await admin.patch(valuesOf(id), { team: 'a', region: 'EU' })).status, 200);
  assertRefused(await admin.patch(valuesOf(id), { region: null }), 422, 'validation_failed');
  assert.equal((await admin.delete(`/api/v1/user-attributes/${attribute}?force=true`)).status, 200);
});

test('of fifty who write one unique value at once, one has it', async () => {
  const people = await Promise.all(Array.from({ length: 50 }, () => addPerson(service)));
  const answers = await Promise.all(
    people.map(({ id }, at) => admin.patch(valuesOf(id), { desk: at % 2 === 0 ? 'Window' : 'WINDOW' })),
  );
  assert.deepEqual(tally(answers), { 200: 1, 409: 49 });
  for (const answer of answers.filter(({ status }) => status === 409))
    assert.equal(answer.body.code, 'user_attribute_taken');
});

test('writers of one user lose nothing, and a value never outlives its user or its attribute', async () => {
  const { id } = await addPerson(service);
  const names = ['team', 'floor', 'remote', 'joined', 'shirt', 'nick', 'grade'];
  const values = ['a', 1, true, '2024-01-01', 'S', 'n', 'g'];
  const answers = await Promise.all(
    names.map((name, at) => admin.patch(valuesOf(id), { [name]: values[at] })),
  );
  assert.deepEqual(tally(answers), { 200: names.length });
  assert.equal(Object.keys((await admin.get(valuesOf(id))).body.data).length, names.length);
  assert.equal((await admin.delete(`/api/v1/users/${id}`)).status, 200);
  const { id: fading } = await declare('fading');
  const people = await Promise.all(Array.from({ length: 8 }, () => addPerson(service)));
  const raced = await Promise.all([
    ...people.map((person) => admin.patch(valuesOf(person.id), { fading: 'x' })),
    admin.delete(`/api/v1/user-attributes/${fading}?force=true`),
  ]);
  assert.ok(
    raced.every(({ status }) => status === 200 || status === 422),
    JSON.stringify(tally(raced)),
  );
  const left = await service.sql(
    `select 1 from user_attribute_values v where not exists (select from users u where u.id = v.user_id)
       or not exists (select from user_attributes a where a.id = v.attribute_id)`,
  );
  assert.equal(left.length, 0);
});
