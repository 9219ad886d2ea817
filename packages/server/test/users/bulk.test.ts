// PUT /users/bulk-update: both forms of the body, all or nothing, and what a refusal says.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { ADMIN, newEmail, signIn, startTestService } from '@castellan/testing/harness';
import { countStatements } from '@castellan/testing/statements';
import {
  addPerson,
  addRole,
  eventsOf,
  isSignedIn,
  type Person,
  signedInWith,
} from '@castellan/testing/users/people';

const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);
const BULK = '/api/v1/users/bulk-update';

const people = (count: number) => Promise.all(Array.from({ length: count }, () => addPerson(service)));
const idsOf = (list: { id: string }[]) => list.map((one) => one.id);
const rowsOf = (ids: string[]) =>
  service.sql('select id, email, first_name, is_active, version from users where id = any($1) order by id', [
    ids,
  ]);

test('one change for many users changes every user, in the order of the request', async () => {
  const role = await addRole(service, 'role.read');
  const list = await people(3);
  const user_ids = [...idsOf(list).map((id) => id.toUpperCase()), list[0]!.id];
  const answer = await admin.put(BULK, { user_ids, updates: { last_name: 'Curie', role_id: [role] } });
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(idsOf(answer.body.data), idsOf(list));
  for (const user of answer.body.data)
    assert.deepEqual([user.last_name, user.first_name, user.permissions], ['Curie', 'Ada', ['role.read']]);
  const events = await eventsOf(service, answer);
  assert.deepEqual(events.map((one) => one.action).sort(), [
    ...Array(3).fill('user_roles_changed'),
    ...Array(3).fill('user_updated'),
  ]);
});

test('with one change per user, every user gets their own', async () => {
  const [one, two, three] = (await people(3)) as [Person, Person, Person];
  const email = newEmail('bulk');
  const users = [{ id: three.id, first_name: 'Tres' }, { id: one.id, email }, { id: two.id }];
  const answer = await admin.put(BULK, { users });
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(idsOf(answer.body.data), [three.id, one.id, two.id]);
  assert.equal(answer.body.data[0].first_name, 'Tres');
  assert.equal(answer.body.data[1].email, email);
});

test('a password anywhere in the body is refused with its path, and nothing changes', async () => {
  const list = await people(2);
  const before = await rowsOf(idsOf(list));
  for (const body of [
    { user_ids: idsOf(list), updates: { first_name: 'X', password: 'Marble?Tundra61Fox' } },
    { user_ids: idsOf(list), updates: { first_name: 'X' }, password: null },
    {
      users: [
        { id: list[0]!.id, first_name: 'X' },
        { id: list[1]!.id, password: '' },
      ],
    },
  ]) {
    const answer = await admin.put(BULK, body);
    assert.deepEqual([answer.status, answer.body.code], [400, 'password_in_bulk']);
  }
  assert.deepEqual(await rowsOf(idsOf(list)), before);
});

test('an invalid row is named with the reason, and no row changes', async () => {
  const list = await people(3);
  const [one, two, three] = idsOf(list) as [string, string, string];
  const taken = await addPerson(service);
  const before = await rowsOf([one, two, three]);
  const first = { id: one, first_name: 'Changed', is_active: false };
  for (const [users, status, field, code] of [
    [[first, { id: two, email: taken.email }], 409, 'users.1.email', 'email_taken'],
    [[first, { id: two }, { id: three, email: 'none' }], 400, 'users.2.email', 'invalid_email'],
    [[first, { id: two, first_name: '<i>' }], 400, 'users.1.first_name', 'markup'],
    [[first, { id: two, is_active: 'yes' }], 400, 'users.1.is_active', 'wrong_type'],
    [[first, { id: one, is_active: true }], 400, 'users.1.id', 'repeated'],
    [[first, { first_name: 'X' }], 400, 'users.1.id', 'required'],
  ] as const) {
    const answer = await admin.put(BULK, { users });
    assert.equal(answer.status, status, answer.text);
    assert.deepEqual([answer.body.errors[0].field, answer.body.errors[0].code], [field, code]);
  }
  const same = { user_ids: [one, two], updates: { email: newEmail() } };
  const both = await admin.put(BULK, same);
  assert.deepEqual([both.status, both.body.errors[0].field], [409, 'updates.email']);
  assert.deepEqual(await rowsOf([one, two, three]), before);
});

test('unknown users and roles are 404 with each id', async () => {
  const known = await addPerson(service);
  const unknown = [randomUUID(), randomUUID()];
  const users = await admin.put(BULK, { user_ids: [known.id, ...unknown], updates: { first_name: 'X' } });
  assert.equal(users.status, 404);
  for (const id of unknown) assert.ok(users.body.detail.includes(id));
  assert.ok(!users.body.detail.includes(known.id));
  const roles = await admin.put(BULK, {
    user_ids: [known.id],
    updates: { first_name: 'X', role_id: unknown },
  });
  assert.deepEqual([roles.status, roles.body.code], [404, 'role_not_found']);
  assert.equal((await rowsOf([known.id]))[0]?.first_name, 'Ada');
});

test('a body of neither form, or of both, is 400', async () => {
  const { id } = await addPerson(service);
  for (const body of [
    {},
    [],
    { user_ids: [id] },
    { updates: {} },
    { user_ids: id, updates: {} },
    { user_ids: [id], updates: [] },
    { users: {} },
    { users: [{ id }], user_ids: [id], updates: {} },
    { user_ids: ['x'], updates: {} },
  ]) {
    const answer = await admin.put(BULK, body);
    assert.equal(answer.status, 400, JSON.stringify(body));
  }
});

test('10,000 ids are refused with the limit, 1,000 are processed', async () => {
  const ids = Array.from({ length: 10_000 }, () => randomUUID());
  const refused = await admin.put(BULK, { user_ids: ids, updates: {} });
  assert.equal(refused.status, 400);
  assert.match(refused.body.detail, /\b1000\b/);
  const unknown = await admin.put(BULK, { user_ids: ids.slice(0, 1_000), updates: {} });
  assert.equal(unknown.status, 404);
});

test('a bulk deactivation ends the sessions of all its users, and of nobody else', async () => {
  const list = await people(3);
  const browsers = await Promise.all(list.map((one) => signIn(service, one)));
  const user_ids = idsOf(list.slice(0, 2));
  assert.equal((await admin.put(BULK, { user_ids, updates: { is_active: false } })).status, 200);
  assert.deepEqual(await Promise.all(browsers.map(isSignedIn)), [false, false, true]);
});

test('a row that the caller may not change refuses all rows, and is named', async () => {
  const { client } = await signedInWith(service, 'users.update');
  const ordinary = await addPerson(service);
  const stronger = await addPerson(service, { roles: [await addRole(service, 'role.delete')] });
  const boss = await addPerson(service, { superuser: true });
  const first = { id: ordinary.id, first_name: 'Changed' };
  for (const [second, field, code] of [
    [{ id: boss.id, last_name: 'X' }, 'users.1.id', 'superuser_required'],
    [{ id: stronger.id, email: newEmail() }, 'users.1.email', 'privilege_escalation'],
    [{ id: stronger.id, is_superuser: true }, 'users.1.is_superuser', 'superuser_required'],
  ] as const) {
    const answer = await client.put(BULK, { users: [first, second] });
    assert.equal(answer.status, 403, answer.text);
    assert.deepEqual([answer.body.errors[0].field, answer.body.errors[0].code], [field, code]);
  }
  assert.equal((await rowsOf([ordinary.id]))[0]?.first_name, 'Ada');
});

test('not all superusers can be demoted at once, but one may be demoted while another is promoted', async () => {
  const lonely = await startTestService({ after });
  const boss = await signIn(lonely, ADMIN);
  const { id } = (await boss.get('/api/v1/users/me')).body.data;
  const second = await addPerson(lonely, { superuser: true });
  const third = await addPerson(lonely);
  const all = await boss.put(BULK, { user_ids: [id, second.id], updates: { is_superuser: false } });
  assert.deepEqual([all.status, all.body.code], [409, 'last_superuser']);
  assert.equal(all.body.errors.length, 2);
  const exchange = [
    { id, is_superuser: false },
    { id: second.id, is_superuser: false },
    { id: third.id, is_superuser: true },
  ];
  assert.equal((await boss.put(BULK, { users: exchange })).status, 200);
});

test('the number of statements does not grow with the number of users', async () => {
  const role = await addRole(service, 'role.read');
  const run = async (count: number): Promise<number> => {
    const list = await people(count);
    const users = list.map(({ id }, index) => ({
      id,
      email: newEmail('many'),
      first_name: `N${index}`,
      is_active: false,
      role_id: [role],
    }));
    return countStatements(service, () => admin.put(BULK, { users }));
  };
  await run(2);
  assert.equal(await run(40), await run(2));
});
