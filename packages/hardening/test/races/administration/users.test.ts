// Concurrent changes of users at two instances: some order of them explains every answer and the final rows.
// Of sessions it checks only that a deactivated account has none.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after } from 'node:test';
import { newEmail } from '@castellan/testing/harness';
import { idsOf, makeRole } from '@castellan/testing/records/fixture';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { liveSessionIds, readyClient } from '@castellan/testing/sessions/accounts';
import { addPerson, tally as statusCounts } from '@castellan/testing/users/people';
import { openPair } from '../../fixture.ts';
import {
  assertAgreed,
  assertInOrder,
  entriesOf,
  post,
  put,
  type RequestSpec,
  remove,
  sendAtOnce,
  times,
} from './pair.ts';

const scenario = scenariosOf('races');
const pair = await openPair({ after });
const { service, admin } = pair;
const addPeople = (count: number) => Promise.all(times(count, () => addPerson(service)));

scenario(
  'a user who is assigned a role while being deleted is deleted without it, or keeps both account and role',
  async (tally) => {
    const role = await makeRole(admin);
    for (let round = 0; round < rounds(2, 60); round += 1) {
      const { id } = await addPerson(service);
      const [deleted, ...assigned] = await sendAtOnce(pair, tally, round, [
        remove(`users/${id}`),
        ...times(7, () => post(`users/${id}/roles`, [role.id])),
        ...times(7, () => put(`users/${id}`, { role_id: [role.id] })),
        put('users/bulk-update', { user_ids: [id], updates: { role_id: [role.id] } }),
      ]);
      const links = await service.sql('select from user_roles where user_id = $1', [id]);
      if (deleted?.status === 200) assert.deepEqual([statusCounts(assigned), links.length], [{ 404: 15 }, 0]);
      else assert.deepEqual([deleted?.status, statusCounts(assigned), links.length], [409, { 200: 15 }, 1]);
      tally.held();
      await assertAgreed(pair, tally, [`users/${id}`]);
    }
    await assertInOrder(pair, tally);
  },
);

scenario('bulk changes of the same users in any order are done completely or not at all', async (tally) => {
  const [role, other] = await Promise.all([makeRole(admin), makeRole(admin)]);
  const owner = await addPerson(service);
  for (let round = 0; round < rounds(2, 12); round += 1) {
    const ids = idsOf(await addPeople(20));
    // Each writes its own name into all users. Every fifth names an unknown user, every seventh an email that is taken.
    const doomed = (index: number) => (index % 5 === 4 ? 404 : index % 7 === 6 ? 409 : 200);
    const requests = times(50, (index): RequestSpec => {
      const rotated = [...ids.slice(index % 20), ...ids.slice(0, index % 20)];
      const user_ids = index % 2 ? rotated : rotated.toReversed();
      const updates = {
        first_name: `Mark ${index}`,
        role_id: [[role.id], [], [other.id, role.id]][index % 3],
      };
      if (doomed(index) === 404)
        return put('users/bulk-update', { user_ids: [...user_ids, randomUUID()], updates });
      const users = user_ids.map((id) => ({ id, ...updates }));
      if (doomed(index) === 409)
        return put('users/bulk-update', {
          users: users.with(19, { ...users[19], email: owner.email } as never),
        });
      return put('users/bulk-update', { user_ids, updates });
    });
    const answers = await sendAtOnce(pair, tally, round, requests);
    for (const [index, { status, text }] of answers.entries()) assert.equal(status, doomed(index), text);
    const rows = await service.sql<{ first_name: string; roles: number }>(
      `select distinct first_name, (select count(*)::int from user_roles where user_id = u.id) as roles
       from users u where id = any($1)`,
      [ids],
    );
    assert.equal(rows.length, 1, 'all users have the values of one change');
    const last = Number(rows[0]?.first_name.slice('Mark '.length));
    assert.deepEqual([doomed(last), rows[0]?.roles], [200, [1, 0, 2][last % 3]]);
    // Each completed change has one entry for each of its users.
    const entries = await entriesOf(service, answers);
    assert.equal(
      entries.filter(({ action }) => action === 'user_updated').length,
      20 * answers.filter(({ status }) => status === 200).length,
    );
    tally.held(answers.length + 3);
    await assertAgreed(
      pair,
      tally,
      ids.slice(0, 2).map((id) => `users/${id}`),
    );
  }
  await assertInOrder(pair, tally);
});

scenario(
  'of bulk changes that claim the same emails crosswise, one is done and the others change nothing',
  async (tally) => {
    for (let round = 0; round < rounds(1, 4); round += 1) {
      const emails = times(20, () => newEmail('cross'));
      const crowds = await Promise.all(times(40, () => addPeople(20)));
      const requests = crowds.map((people, index) => {
        const claimed = index % 2 ? emails : emails.toReversed();
        return put('users/bulk-update', {
          users: people.map(({ id }, position) => ({ id, email: claimed[position] })),
        });
      });
      const answers = await sendAtOnce(pair, tally, round, requests);
      assert.deepEqual(statusCounts(answers), { 200: 1, 409: 39 });
      const winner = crowds[answers.findIndex(({ status }) => status === 200)] ?? [];
      const owners = await service.sql<{ id: string }>('select id from users where email = any($1)', [
        emails,
      ]);
      assert.deepEqual(idsOf(owners).sort(), idsOf(winner).sort());
      tally.held(2);
    }
    await assertInOrder(pair, tally);
  },
);

scenario(
  'an email that 16 users claim at once, in any case of letters, goes to one of them',
  async (tally) => {
    for (let round = 0; round < rounds(2, 40); round += 1) {
      const people = await addPeople(16);
      const email = newEmail('claimed');
      const requests = people.map(({ id }, index) => {
        const written = [email, email.toUpperCase(), ` ${email} `][index % 3];
        return index % 4 === 3
          ? put('users/bulk-update', { user_ids: [id], updates: { email: written } })
          : put(`users/${id}`, { email: written });
      });
      const answers = await sendAtOnce(pair, tally, round, requests);
      assert.deepEqual(statusCounts(answers), { 200: 1, 409: 15 });
      const owners = await service.sql<{ id: string }>('select id from users where email = $1', [email]);
      const winner = people[answers.findIndex(({ status }) => status === 200)]?.id as string;
      assert.deepEqual(idsOf(owners), [winner]);
      tally.held(2);
      await assertAgreed(pair, tally, [`users/${winner}`]);
    }
    await assertInOrder(pair, tally);
  },
);

scenario('sign-ins during a deactivation leave no live session', async (tally) => {
  for (let round = 0; round < rounds(2, 40); round += 1) {
    const { id, email, password } = await addPerson(service);
    const browsers = await Promise.all(times(8, () => readyClient(service)));
    const answers = await sendAtOnce(pair, tally, round, [
      round % 2
        ? put(`users/${id}`, { is_active: false })
        : put('users/bulk-update', { user_ids: [id], updates: { is_active: false } }),
      ...browsers.map((as) => ({ ...post('auth/login', { email, password }), as })),
    ]);
    assert.equal(answers[0]?.status, 200, answers[0]?.text);
    assert.deepEqual(await liveSessionIds(service, id), []);
    for (const { status, body } of answers.slice(1)) {
      if (status !== 200) continue;
      const headers = { authorization: `Bearer ${body.data.access_token}` };
      for (const { url } of [pair.service, pair.twin])
        assert.equal((await service.client().at(url).get('/api/v1/users/me', { headers })).status, 401);
      tally.held(2);
    }
    tally.held(2);
  }
  await assertInOrder(pair, tally);
});
