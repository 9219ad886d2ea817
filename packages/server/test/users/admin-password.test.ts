// PUT /users/{id} with a password: it reveals nothing about the current password, and refusals are limited.
// It must not measure time: the hasher's counts show whether a password was compared.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { strongPasswords } from '@castellan/testing/accounts/self-service';
import { ADMIN, newEmail, PASSWORD, signIn, startTestService } from '@castellan/testing/harness';
import { addPerson, addRole, eventsOf, isSignedIn, signedInWith } from '@castellan/testing/users/people';

const service = await startTestService({ after });
const twin = await service.another();
const admin = await signIn(service, ADMIN);
const pathOf = (id: string) => `/api/v1/users/${id}`;
const [NEW, OTHER] = strongPasswords;
const WEAK = 'short';

const comparisons = (): number => service.service.deps.hasher.stats().verifications;

test('any other refusal comes first and is the same for a right guess, a wrong one and a weak one', async () => {
  const person = await addPerson(service);
  const taken = await addPerson(service);
  const { id: self } = (await admin.get('/api/v1/users/me')).body.data;
  const { client: desk } = await signedInWith(service, 'users.update');
  const stronger = await addPerson(service, { roles: [await addRole(service, 'role.delete')] });
  const boss = await addPerson(service, { superuser: true });
  const last = await startTestService({ after });
  const lonely = await signIn(last, ADMIN);
  const second = await addPerson(last, { superuser: true });
  const { id: first } = (await lonely.get('/api/v1/users/me')).body.data;
  await last.sql('update users set is_active = false where id = $1', [second.id]);
  const stale = { headers: { 'if-match': '"0"' } };
  for (const [client, id, fields, options, code] of [
    [admin, person.id, { email: taken.email }, {}, 'email_taken'],
    [admin, person.id, { email: taken.email.toUpperCase(), is_active: false }, {}, 'email_taken'],
    [admin, person.id, { role_id: [randomUUID()] }, {}, 'role_not_found'],
    [admin, person.id, { first_name: 'X' }, stale, 'precondition_failed'],
    [admin, randomUUID(), {}, {}, 'user_not_found'],
    [admin, self, {}, {}, 'use_change_password'],
    [lonely, first, { is_active: false }, {}, 'use_change_password'],
    [desk, stronger.id, {}, {}, 'privilege_escalation'],
    [desk, boss.id, {}, {}, 'superuser_required'],
  ] as const) {
    const before = comparisons();
    const answers = [];
    for (const password of [PASSWORD, ADMIN.password, NEW, WEAK])
      answers.push(await client.put(pathOf(id), { ...fields, password }, options));
    const told = answers.map(({ status, body: { request_id: _id, ...body } }) => ({ status, body }));
    assert.equal(told[0]?.body.code, code, answers[0]?.text);
    for (const one of told) assert.deepEqual(one, told[0]);
    assert.equal(comparisons(), before, `${code}: no password was compared`);
  }
  assert.equal((await service.client().login(person)).status, 200);
});

test('the last superuser cannot be changed together with a password, whatever the password', async () => {
  const lonely = await startTestService({ after });
  const boss = await signIn(lonely, ADMIN);
  const other = await addPerson(lonely, { superuser: true });
  const { id } = (await boss.get('/api/v1/users/me')).body.data;
  const second = await signIn(lonely, other);
  await lonely.sql('update users set verified = false where id = $1', [other.id]);
  for (const password of [ADMIN.password, NEW]) {
    const answer = await second.put(pathOf(id), { password, is_superuser: false });
    assert.deepEqual([answer.status, answer.body.code], [409, 'last_superuser'], answer.text);
  }
});

test('a superuser cannot set their own password here: 400, other own fields can be changed', async () => {
  const person = await addPerson(service, { superuser: true });
  const client = await signIn(service, person);
  const answer = await client.put(pathOf(person.id.toUpperCase()), { password: NEW, first_name: 'X' });
  assert.deepEqual([answer.status, answer.body.code], [400, 'use_change_password']);
  assert.equal(await isSignedIn(client), true);
  const names = await client.put(pathOf(person.id), { first_name: 'Own' });
  assert.deepEqual([names.status, names.body.data.first_name], [200, 'Own']);
});

test('after ten refused passwords an hour for one user none is checked, on any instance', async () => {
  const person = await addPerson(service);
  const set = (password: string, at = admin) => at.put(pathOf(person.id), { password });
  for (let refused = 0; refused < 10; refused += 1) {
    const answer = await set(refused % 2 ? WEAK : PASSWORD, refused % 3 ? admin : admin.at(twin.url));
    assert.equal(answer.body.code, 'password_rejected', answer.text);
    const [event] = await eventsOf(service, answer);
    assert.deepEqual([event?.action, event?.resource_id], ['password_refused', person.id]);
    // An accepted one does not count.
    if (refused === 4) assert.equal((await set(OTHER)).status, 200);
  }
  const before = comparisons();
  for (const at of [admin, admin.at(twin.url)])
    for (const password of [PASSWORD, NEW, WEAK]) {
      const answer = await set(password, at);
      assert.deepEqual([answer.status, answer.body.code], [429, 'rate_limited'], answer.text);
      assert.ok(Number(answer.headers.get('retry-after')) > 0);
      assert.equal(answer.headers.get('ratelimit-limit'), '10');
      const [event] = await eventsOf(service, answer);
      assert.deepEqual(
        [event?.action, event?.resource_id, event?.details.limit],
        ['rate_limited', person.id, 'admin-password'],
      );
    }
  assert.equal(comparisons(), before);
  assert.equal((await admin.put(pathOf(person.id), { first_name: 'Free' })).status, 200);
  const other = await addPerson(service);
  assert.equal((await admin.put(pathOf(other.id), { password: NEW })).status, 200, 'for another user');
  const colleague = await signIn(service, await addPerson(service, { superuser: true }));
  assert.equal((await set(NEW, colleague)).status, 200, 'by another administrator');
});

test('a refused password discards the whole change, an accepted one applies all of it', async () => {
  const person = await addPerson(service);
  const email = newEmail('moved');
  const refused = await admin.put(pathOf(person.id), { password: PASSWORD, email, first_name: 'New' });
  assert.equal(refused.body.code, 'password_rejected');
  assert.equal((await admin.get(pathOf(person.id))).body.data.email, person.email);
  const accepted = await admin.put(pathOf(person.id), { password: NEW, email, first_name: 'New' });
  assert.deepEqual([accepted.status, accepted.body.data.email], [200, email]);
  const actions = (await eventsOf(service, accepted)).map(({ action }) => action);
  assert.deepEqual(actions.sort(), ['password_set_by_admin', 'user_updated']);
  assert.equal((await service.client().login({ email, password: NEW as string })).status, 200);
});
