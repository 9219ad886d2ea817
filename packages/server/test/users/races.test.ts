// Changes of users that meet: whichever comes first, what holds afterwards is one of the allowed outcomes.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ADMIN, newEmail, signIn, startTestService } from '../harness.ts';
import { addPerson, addRole, tally } from './people.ts';

const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);
const pathOf = (id: string) => `/api/v1/users/${id}`;
const ROUNDS = 8;

test('two superusers who demote, close or delete each other at once leave one of them', async () => {
  for (let round = 0; round < ROUNDS; round += 1) {
    const own = await startTestService({ after });
    const first = await signIn(own, ADMIN);
    const { id } = (await first.get('/api/v1/users/me')).body.data;
    await first.post(`${pathOf(id)}/roles`, []);
    const other = await addPerson(own, { superuser: true });
    const second = await signIn(own, other);
    const act = [
      (one: typeof first, target: string) => one.put(pathOf(target), { is_superuser: false }),
      (one: typeof first, target: string) => one.put(pathOf(target), { is_active: false }),
      (one: typeof first, target: string) => one.delete(pathOf(target)),
      (one: typeof first, target: string) =>
        one.put(pathOf('bulk-update'), { user_ids: [target], updates: { is_superuser: false } }),
    ][round % 4]!;
    const answers = await Promise.all([
      ...Array.from({ length: 8 }, () => act(first, other.id)),
      ...Array.from({ length: 8 }, () => act(second, id)),
    ]);
    // The loser is told so, or is no superuser, or not even signed in any more when his request is looked at.
    for (const { status, text } of answers) assert.ok([200, 401, 403, 404, 409].includes(status), text);
    const left = await own.sql('select from users where is_superuser and is_active');
    assert.equal(left.length, 1, JSON.stringify(tally(answers)));
  }
});

test('sixteen superusers who all step down at once leave one', async () => {
  const own = await startTestService({ after });
  const boss = await signIn(own, ADMIN);
  const { id } = (await boss.get('/api/v1/users/me')).body.data;
  const others = await Promise.all(Array.from({ length: 15 }, () => addPerson(own, { superuser: true })));
  const browsers = [boss, ...(await Promise.all(others.map((one) => signIn(own, one))))];
  const ids = [id, ...others.map((one) => one.id)];
  const answers = await Promise.all(
    browsers.map((browser, index) => browser.put(pathOf(ids[index]!), { is_superuser: false })),
  );
  assert.deepEqual(tally(answers), { 200: 15, 409: 1 });
});

test('a user who gets a role while being deleted is either deleted without it or kept with it', async () => {
  const role = await addRole(service);
  for (let round = 0; round < ROUNDS * 2; round += 1) {
    const { id } = await addPerson(service);
    const [deleted, ...assigned] = await Promise.all([
      admin.delete(pathOf(id)),
      ...Array.from({ length: 7 }, () => admin.post(`${pathOf(id)}/roles`, [role])),
      ...Array.from({ length: 8 }, () => admin.put(pathOf(id), { role_id: [role] })),
    ]);
    const links = await service.sql('select from user_roles where user_id = $1', [id]);
    if (deleted?.status === 200) {
      assert.ok(assigned.every((one) => one.status === 404 || one.status === 200));
      assert.equal(links.length, 0);
    } else {
      assert.equal(deleted?.status, 409);
      assert.deepEqual([tally(assigned), links.length], [{ 200: 15 }, 1]);
    }
  }
});

test('a role that is assigned while being deleted is either gone or assigned', async () => {
  for (let round = 0; round < ROUNDS; round += 1) {
    const role = await addRole(service);
    const people = await Promise.all(Array.from({ length: 8 }, () => addPerson(service)));
    const [deleted, ...assigned] = await Promise.all([
      admin.delete(`/api/v1/roles/${role}`),
      ...people.map(({ id }) => admin.post(`${pathOf(id)}/roles`, [role])),
    ]);
    for (const { status, text } of assigned) assert.ok(status === 200 || status === 404, text);
    assert.ok(deleted?.status === 204 || deleted?.status === 409, deleted?.text);
    const links = await service.sql('select from user_roles where role_id = $1', [role]);
    assert.equal(links.length, assigned.filter((one) => one.status === 200).length);
    if (deleted.status === 204) assert.equal(links.length, 0);
  }
});

test('50 bulk changes of the same users in any order all succeed', async () => {
  const people = await Promise.all(Array.from({ length: 20 }, () => addPerson(service)));
  const ids = people.map((one) => one.id);
  const role = await addRole(service);
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, index) => {
      const rotated = [...ids.slice(index % 20), ...ids.slice(0, index % 20)];
      const user_ids = index % 2 ? rotated : rotated.toReversed();
      return admin.put(pathOf('bulk-update'), {
        user_ids,
        updates: { first_name: `Name ${index}`, role_id: index % 3 ? [role] : [] },
      });
    }),
  );
  assert.deepEqual(tally(answers), { 200: 50 });
  const names = await service.sql('select distinct first_name from users where id = any($1)', [ids]);
  assert.equal(names.length, 1, 'one change is wholly the last');
});

test('bulk changes that claim the same addresses crosswise: one wins, the others are 409 and change nothing', async () => {
  for (let round = 0; round < 3; round += 1) {
    const emails = Array.from({ length: 20 }, () => newEmail('cross'));
    const answers = await Promise.all(
      Array.from({ length: 40 }, async (_, index) => {
        const people = await Promise.all(emails.map(() => addPerson(service)));
        const claimed = index % 2 ? emails : emails.toReversed();
        const users = people.map(({ id }, position) => ({ id, email: claimed[position] }));
        return admin.put(pathOf('bulk-update'), { users });
      }),
    );
    assert.deepEqual(tally(answers), { 200: 1, 409: 39 });
  }
});

test('one new e-mail claimed by 16 users at once goes to one of them', async () => {
  const people = await Promise.all(Array.from({ length: 16 }, () => addPerson(service)));
  const email = newEmail('claimed');
  const answers = await Promise.all(people.map(({ id }) => admin.put(pathOf(id), { email })));
  assert.deepEqual(tally(answers), { 200: 1, 409: 15 });
});

test('of 16 updates that saw the same version one is done and 15 are told to look again', async () => {
  const { id } = await addPerson(service);
  const etag = (await admin.get(pathOf(id))).headers.get('etag');
  const answers = await Promise.all(
    Array.from({ length: 16 }, (_, index) =>
      admin.put(pathOf(id), { first_name: `N${index}` }, { headers: { 'if-match': etag } }),
    ),
  );
  assert.deepEqual(tally(answers), { 200: 1, 412: 15 });
});

test('logins that meet a deactivation leave no live session', async () => {
  for (let round = 0; round < ROUNDS; round += 1) {
    const person = await addPerson(service);
    const browsers = Array.from({ length: 8 }, () => service.client());
    await Promise.all(browsers.map((browser) => browser.get('/api/v1/auth/csrf-token')));
    const [, closed] = await Promise.all([
      Promise.all(browsers.map((browser) => browser.login(person))),
      admin.put(pathOf(person.id), { is_active: false }),
    ]);
    assert.equal(closed.status, 200);
    const live = await service.sql('select from sessions where user_id = $1 and revoked_at is null', [
      person.id,
    ]);
    assert.equal(live.length, 0);
  }
});
