// Attributes of new users: created, invited, invited in bulk.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ADMIN, newEmail, PASSWORD, signIn, startTestService } from '@castellan/testing/harness';
import { assertRefused } from '@castellan/testing/http/fixture';
import { eventsOf, tally } from '@castellan/testing/users/people';

const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);
const users = '/api/v1/users';
const declare = async (name: string, fields: object = {}) => {
  const made = await admin.post('/api/v1/user-attributes', { name, label: name, type: 'string', ...fields });
  assert.equal(made.status, 201, made.text);
  return made.body.data;
};
await declare('team');
await declare('badge', { type: 'integer', unique: true, sensitive: true });
const person = (attributes?: object) => ({
  email: newEmail('attributes'),
  password: PASSWORD,
  first_name: 'Ada',
  last_name: 'L',
  ...(attributes && { attributes }),
});
const { password: _password, ...invited } = person();
const invitation = (attributes?: object) => ({
  ...invited,
  email: newEmail('invited'),
  ...(attributes && { attributes }),
});
const valuesOf = async (id: string) => (await admin.get(`${users}/${id}/attributes`)).body.data;

test('a new user has its attributes, which the audit log tells', async () => {
  const created = await admin.post(users, person({ team: ' Blue ', badge: 7 }));
  assert.equal(created.status, 201, created.text);
  assert.deepEqual(await valuesOf(created.body.data.id), { team: 'Blue', badge: 7 });
  const [event] = await eventsOf(service, created);
  assert.deepEqual(event?.details.after?.attributes, { team: 'Blue', badge: '…' });
  const invitedNow = await admin.post(`${users}/invitations`, invitation({ team: 'Red' }));
  assert.equal(invitedNow.status, 201, invitedNow.text);
  assert.deepEqual(await valuesOf(invitedNow.body.data.id), { team: 'Red' });
  const [sent] = await eventsOf(service, invitedNow);
  assert.deepEqual(sent?.details.after?.attributes, { team: 'Red' });
});

test('a wrong or taken value creates nobody', async () => {
  for (const [path, body] of [
    [users, person({ team: 5, nowhere: 'x' })],
    [`${users}/invitations`, invitation({ team: 5, nowhere: 'x' })],
  ] as const) {
    const answer = await admin.post(path, body);
    assertRefused(answer, 422, 'validation_failed');
    assert.deepEqual(answer.body.errors.map(({ field }: { field: string }) => field).sort(), [
      'attributes.nowhere',
      'attributes.team',
    ]);
    const found = await admin.get(`${users}?email=${encodeURIComponent(body.email)}`);
    assert.equal(found.body.data.total, 0);
  }
  assert.equal((await admin.post(users, person({ badge: 8 }))).status, 201);
  const taken = await admin.post(users, person({ badge: 8 }));
  assertRefused(taken, 409, 'user_attribute_taken');
  assert.equal(taken.body.errors[0].field, 'attributes.badge');
});

test('of many invitations, those with a wrong or taken value are refused and stop no other', async () => {
  const rows = [
    invitation({ badge: 20 }),
    invitation({ badge: 20 }),
    invitation({ badge: 'x' }),
    invitation({ badge: 8 }),
    invitation(),
    invitation({ team: 'Green' }),
  ];
  const answer = await admin.post(`${users}/invitations/bulk`, { invitations: rows });
  assert.equal(answer.status, 200, answer.text);
  const { invited: made, refused } = answer.body.data;
  assert.deepEqual(
    refused.map(({ index, status, code }: { index: number; status: number; code: string }) => [
      index,
      status,
      code,
    ]),
    [
      [1, 409, 'user_attribute_taken'],
      [2, 422, 'validation_failed'],
      [3, 409, 'user_attribute_taken'],
    ],
  );
  assert.deepEqual(
    refused.map(({ errors }: { errors: { field: string; code: string }[] }) =>
      errors.map(({ field, code }) => [field, code]),
    ),
    [
      [['invitations.1.attributes.badge', 'user_attribute_taken']],
      [['invitations.2.attributes.badge', 'wrong_type']],
      [['invitations.3.attributes.badge', 'user_attribute_taken']],
    ],
    'each row says which value is wrong',
  );
  assert.equal(made.length, 3);
  assert.deepEqual(await valuesOf(made[0].id), { badge: 20 });
  assert.deepEqual(await valuesOf(made[2].id), { team: 'Green' });
});

test('a number in a json that is too large is refused with its row alone', async () => {
  await declare('prefs', { type: 'json' });
  const rows = [invitation({ prefs: { size: 1 } }), invitation({ prefs: { size: 'huge' } })];
  const answer = await admin.request('POST', `${users}/invitations/bulk`, {
    raw: JSON.stringify({ invitations: rows }).replace('"huge"', '1e400'),
    headers: { 'content-type': 'application/json' },
  });
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(
    answer.body.data.invited.map(({ email }: { email: string }) => email),
    [rows[0]?.email],
  );
  const [refused] = answer.body.data.refused;
  assert.deepEqual([refused.index, refused.status, refused.errors[0].code], [1, 422, 'out_of_range']);
});

test('requests that race for a unique value make one user, and every row of a bulk request is told', async () => {
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => admin.post(users, person({ badge: 30 }))),
  );
  assert.deepEqual(tally(answers), { 201: 1, 409: 9 });
  const bulk = await Promise.all(
    Array.from({ length: 4 }, () =>
      admin.post(`${users}/invitations/bulk`, {
        invitations: [invitation({ badge: 31 }), invitation({ badge: 32 }), invitation({ team: 'x' })],
      }),
    ),
  );
  assert.deepEqual(tally(bulk), { 200: 4 });
  const made = bulk.flatMap(({ body }) => body.data.invited);
  assert.equal(made.length, 2 + 4);
});

test('a required attribute is needed for a new user', async () => {
  const { id } = await declare('region', { type: 'enum', values: ['EU', 'US'], required: true });
  const missing = await admin.post(users, person({ team: 'x' }));
  assertRefused(missing, 422, 'validation_failed');
  assert.deepEqual(missing.body.errors[0], {
    field: 'attributes.region',
    code: 'required',
    message: 'is required',
  });
  assertRefused(await admin.post(users, person({ region: null })), 422, 'validation_failed');
  assertRefused(await admin.post(`${users}/invitations`, invitation()), 422, 'validation_failed');
  assert.equal((await admin.post(users, person({ region: 'EU' }))).status, 201);
  assert.equal((await admin.delete(`/api/v1/user-attributes/${id}?force=true`)).status, 200);
});
