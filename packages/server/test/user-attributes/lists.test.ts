// Lists of users by attributes, and with them.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { assertRefused } from '@castellan/testing/http/fixture';
import { plansOf } from '@castellan/testing/plans';
import { addPerson, addRole, signedInWith } from '@castellan/testing/users/people';

const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);
const path = '/api/v1/users';
const declare = async (name: string, fields: object = {}) => {
  const made = await admin.post('/api/v1/user-attributes', {
    name,
    label: name,
    type: 'string',
    searchable: true,
    ...fields,
  });
  assert.equal(made.status, 201, made.text);
};
await declare('team');
await declare('floor', { type: 'integer' });
await declare('ratio', { type: 'number' });
await declare('remote', { type: 'boolean' });
await declare('joined', { type: 'date' });
await declare('secret', { searchable: false });
await declare('prefs', { type: 'json', searchable: false });

const role = await addRole(service, 'role.read');
const [ada, bob, cy] = await Promise.all([
  addPerson(service, { roles: [role] }),
  addPerson(service),
  addPerson(service, { roles: [role] }),
]);
const give = async (id: string, values: object) =>
  assert.equal((await admin.patch(`${path}/${id}/attributes`, values)).status, 200);
await give(ada.id, { team: 'Blue & green', floor: 3, ratio: 0.5, remote: true, joined: '2024-02-29' });
await give(bob.id, { team: 'blue & green', floor: 3, secret: 'x' });
await give(cy.id, { team: 'Blue & green', floor: 4 });

const found = async (query: string): Promise<string[]> => {
  const answer = await admin.get(`${path}?${query}`);
  assert.equal(answer.status, 200, answer.text);
  const ids: string[] = answer.body.data.items.map(({ id }: { id: string }) => id);
  assert.equal(answer.body.data.total, ids.length);
  return ids.sort();
};

test('a condition finds exactly those with the value, of each type; several must all hold', async () => {
  const sorted = (...people: { id: string }[]): string[] => people.map(({ id }) => id).sort();
  const team = `attribute.team=${encodeURIComponent('Blue & green')}`;
  assert.deepEqual(await found(team), sorted(ada, cy));
  assert.deepEqual(await found('attribute.floor=3'), sorted(ada, bob));
  assert.deepEqual(await found('attribute.ratio=5e-1'), sorted(ada));
  assert.deepEqual(await found('attribute.remote=true'), sorted(ada));
  assert.deepEqual(await found('attribute.remote=false'), []);
  assert.deepEqual(await found('attribute.joined=2024-02-29'), sorted(ada));
  assert.deepEqual(await found(`${team}&attribute.floor=4`), sorted(cy));
  assert.deepEqual(await found('attribute.floor=3&attribute.floor=4'), []);
  assert.deepEqual(await found('attribute.floor=3&attribute.floor=3'), sorted(ada, bob));
  assert.deepEqual(await found(`attribute.floor=3&role_id=${role}`), sorted(ada));
  assert.deepEqual(await found(`attribute.floor=3&roles=none&sort=-email`), sorted(bob));
  assert.deepEqual(await found(`attribute.floor=3&is_active=false`), []);
  assert.deepEqual(await found(`attribute.floor=3&search=${ada.email.split('@')[0]}`), sorted(ada));
  const [first] = sorted(ada, bob);
  assert.deepEqual(await found(`attribute.floor=3&sort=id&after=${first}`), sorted(ada, bob).slice(1));
});

test('an unknown attribute, one that is not searchable, and a text that is no value are refused alike', async () => {
  for (const query of [
    'attribute.secret=x',
    'attribute.prefs=1',
    'attribute.nowhere=x',
    'attribute.=x',
    'attribute.__proto__=x',
    'attribute.floor=x',
    'attribute.floor=1.5',
    'attribute.floor=0x10',
    'attribute.floor=',
    'attribute.remote=1',
    'attribute.joined=yesterday',
    Array.from({ length: 6 }, (_, at) => `attribute.floor=${at}`).join('&'),
  ])
    for (const list of [path, `${path}/list`]) {
      const answer = await admin.get(`${list}?${query}`);
      assertRefused(answer, 422, 'validation_failed');
      assert.match(answer.body.errors[0].field, /^query\.attribute\./, query);
    }
});

test('include=attributes adds the values of each user', async () => {
  const answer = await admin.get(`${path}?include=attributes&email=${ada.email}`);
  assert.deepEqual(answer.body.data.items[0].attributes, {
    team: 'Blue & green',
    floor: 3,
    ratio: 0.5,
    remote: true,
    joined: '2024-02-29',
  });
  const none = await admin.get(`${path}?include=attributes&email=${ADMIN.email}`);
  assert.deepEqual(none.body.data.items[0].attributes, {});
  assert.ok(!('attributes' in (await admin.get(`${path}?email=${ada.email}`)).body.data.items[0]));
});

test('values are told, and found by, only with users.read', async () => {
  const { client } = await signedInWith(service, 'user.read');
  assert.equal((await client.get(path)).status, 200);
  assertRefused(await client.get(`${path}?include=attributes`), 403, 'permission_denied');
  assertRefused(await client.get(`${path}?attribute.floor=3`), 403, 'permission_denied');
  assertRefused(await client.get(`${path}?attribute.nowhere=3`), 403, 'permission_denied');
});

test('two values that many have each, and few have both, are found from the index, exactly', async () => {
  const each = 10_010;
  // The last twelve of the first half have both; of these, four have another spelling of the team.
  await service.sql(
    `with made as (
       insert into users (id, email, first_name, last_name, verified)
       select gen_random_uuid(), 'many-' || n || '@example.com', 'Ma', 'Ny', true from generate_series(1, 2 * $1::integer) n
       returning id, split_part(split_part(email, '-', 2), '@', 1)::integer as n),
     given as (
       select id, n, 'team' as name, to_jsonb(case when n > $1 - 4 then 'MANY' else 'Many' end) as value from made where n <= $1
       union all select id, n, 'floor', to_jsonb(9) from made where n > $1 - 12)
     insert into user_attribute_values (user_id, attribute_id, value, key, is_unique)
     select g.id, a.id, g.value, sha256(convert_to(lower(g.value #>> '{}'), 'UTF8')), false
     from given g join user_attributes a using (name)`,
    [each],
  );
  await service.sql('vacuum analyze users, user_attribute_values');
  const both = 'attribute.team=Many&attribute.floor=9';
  assert.equal((await found(both)).length, 8);
  assert.deepEqual(await found(`${both}&role_id=${role}`), []);
  for (const query of [both, `${both}&is_active=false`]) {
    const explained = await plansOf(service, () => admin.get(`${path}?${query}`));
    const read = explained.flatMap(({ steps }) => steps).filter(({ table }) => table === 'users');
    assert.ok(read.length > 0);
    for (const { rows } of read) assert.ok(rows <= 100, `${query}: ${rows} users were read`);
  }
});
