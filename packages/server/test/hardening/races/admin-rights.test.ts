// Rights that are taken away while they are used: what was acknowledged counts for whatever begins afterwards, anywhere.
// It must not judge requests that were under way when it was acknowledged, but for handing out rights.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { after } from 'node:test';
import pg from 'pg';
import type { Answer, TestClient } from '../../client.ts';
import { eventually, signIn } from '../../harness.ts';
import {
  idsOf,
  linkedIds,
  makePermission,
  makeRole,
  newName,
  permissionId,
  signInWith,
} from '../../records/fixture.ts';
import { addPerson } from '../../users/people.ts';
import { rounds, scenariosOf } from '../scenario.ts';
import {
  assertAmong,
  assertInOrder,
  type Deed,
  fire,
  openOffice,
  post,
  put,
  remove,
  times,
} from './admin-office.ts';

const scenario = scenariosOf('races');
const office = await openOffice({ after });
const { service, admin } = office;

type Holder = { client: TestClient; userId: string; roleId: string };

/** One request each that takes a right from somebody who has it through one role. */
const takings: Record<string, (holder: Holder, permission: string) => Deed> = {
  'his role is taken from him': ({ userId }) => post(`users/${userId}/roles`, []),
  'his role is taken from him in bulk': ({ userId }) =>
    put('users/bulk-update', { user_ids: [userId], updates: { role_id: [] } }),
  'the permission is taken from his role': ({ roleId }, permission) =>
    remove(`roles/${roleId}/permissions`, [permission]),
  'the permissions of his role are replaced': ({ roleId }) => put(`roles/${roleId}`, { permission_ids: [] }),
  'his account is closed': ({ userId }) => put(`users/${userId}`, { is_active: false }),
};

/** Somebody who may hand out a role with one permission, and one who may put it on roles. */
async function openDelegation(): Promise<{ holder: Holder; permission: string; role: string }> {
  const permission = await makePermission(admin);
  const role = await makeRole(admin, { permission_ids: [permission.id] });
  const holder = await signInWith(service, ['user.update', 'users.update', 'role.update', permission.name]);
  return { holder, permission: permission.id, role: role.id };
}

for (const [what, take] of Object.entries(takings))
  scenario(`a delegated administrator gives nobody anything after ${what}`, async (tally) => {
    for (let round = 0; round < rounds(2, 15); round += 1) {
      const { holder, permission, role } = await openDelegation();
      const people = idsOf(await Promise.all(times(16, () => addPerson(service))));
      const roles = idsOf(await Promise.all(times(16, () => makeRole(admin))));
      const givings = (from: number, to: number): Deed[] =>
        [
          ...people
            .slice(from, to)
            .map((id, index) =>
              index % 2 ? post(`users/${id}/roles`, [role]) : put(`users/${id}`, { role_id: [role] }),
            ),
          ...roles
            .slice(from, to)
            .map((id, index) =>
              index % 2
                ? post(`roles/${id}/permissions`, [permission])
                : put(`roles/${id}`, { permission_ids: [permission] }),
            ),
        ].map((deed) => ({ ...deed, as: holder.client }));
      const [taken, ...given] = (await fire(office, tally, round, [
        take(holder, permission),
        ...givings(0, 8),
      ])) as [Answer, ...Answer[]];
      assert.equal(taken.status, 200, taken.text);
      assertAmong(given, [200, 401, 403]);
      assertAmong(await fire(office, tally, round, givings(8, 16)), [401, 403]);
      const links = [
        await service.sql('select from user_roles where role_id = $1', [role]),
        await service.sql('select from role_permissions where permission_id = $1 and role_id = any($2)', [
          permission,
          roles,
        ]),
      ];
      assert.equal(links.flat().length, given.filter(({ status }) => status === 200).length);
      tally.held(given.length + 17);
    }
    await assertInOrder(office, tally);
  });

/** Nobody else can change the row until the answer is called. */
async function hold(table: string, id: string): Promise<() => Promise<void>> {
  const holder = new pg.Client(service.databaseUrl);
  await holder.connect();
  await holder.query('begin');
  await holder.query(`select from ${table} where id = $1 for update`, [id]);
  return () => holder.end();
}

for (const [what, take] of Object.entries(takings))
  scenario(
    `a grant that waited for its turn is judged by what its giver holds then, when ${what}`,
    async (tally) => {
      const { holder, permission, role } = await openDelegation();
      const person = await addPerson(service);
      // Rows of users are locked in the order of ids: whoever waits for the first one has not locked his own.
      const userId = `00000000${person.id.slice(8)}`;
      await service.sql('update users set id = $2 where id = $1', [person.id, userId]);
      const { id: roleId } = await makeRole(admin);
      for (const [table, id, giving] of [
        ['users', userId, post(`users/${userId}/roles`, [role])],
        ['roles', roleId, post(`roles/${roleId}/permissions`, [permission])],
        ['users', userId, put(`users/${userId}`, { first_name: 'Late' })],
      ] as const) {
        const release = await hold(table, id);
        const given = fire(office, tally, 0, [{ ...giving, as: holder.client }]);
        try {
          await eventually(async () => {
            const waiting = await service.sql(
              "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
            );
            return waiting[0];
          }, 'the grant to wait');
          const [taken] = await fire(office, tally, 0, [take(holder, permission)]);
          assert.equal(taken?.status, 200, taken?.text);
        } finally {
          await release();
        }
        // Who keeps his role may go on with what is no grant.
        const goesOn = what === 'the permission is taken from his role' && giving.method === 'PUT';
        assertAmong(await given, goesOn ? [200] : [401, 403]);
        tally.held();
        // What was taken is given back for the second one.
        await service.sql('update users set is_active = true where id = $1', [holder.userId]);
        const again = await signIn(service, await reopened(holder.userId));
        holder.client.accessToken = again.accessToken;
        await admin.post(`/api/v1/users/${holder.userId}/roles`, [holder.roleId]);
        const held = await Promise.all(
          ['user.update', 'users.update', 'role.update'].map((name) => permissionId(service, name)),
        );
        await admin.post(`/api/v1/roles/${holder.roleId}/permissions`, [...held, permission]);
      }
      assert.deepEqual(await service.sql('select from user_roles where user_id = $1', [userId]), []);
      assert.deepEqual(
        await linkedIds(service, 'role_permissions', ['role_id', 'permission_id'], roleId),
        [],
      );
      tally.held(2);
      await assertInOrder(office, tally);
    },
  );

async function reopened(userId: string) {
  const [row] = await service.sql<{ email: string }>('select email from users where id = $1', [userId]);
  return { email: row?.email as string, password: 'QaRegisterPass!47' };
}

for (const [what, take] of Object.entries(takings))
  scenario(
    `no request that begins anywhere after it is acknowledged passes on a right that is gone because ${what}`,
    async (tally) => {
      for (let round = 0; round < rounds(2, 15); round += 1) {
        // What is read changes nothing that would make an instance look at the rights again.
        const right = round % 2 ? 'role.read' : 'role.create';
        const needed = await permissionId(service, right);
        const holder = await signInWith(service, ['role.create', right]);
        const [taking = holder.client, ...clients] = times(17, (index) => office.at(holder.client, index));
        // His CSRF token is there before.
        assert.equal((await taking.post('/api/v1/roles', { name: newName() })).status, 201);
        let [acknowledged, stopped] = [false, false];
        let passed = 0;
        const names: string[] = [];
        const ask = async (client: TestClient): Promise<void> => {
          for (let late = 0; late < 3 && !stopped; ) {
            const begunLate = acknowledged;
            const name = newName('asked');
            const { status, text } =
              right === 'role.read'
                ? await client.get('/api/v1/roles')
                : await client.post('/api/v1/roles', { name });
            tally.tried();
            if (status === 201) names.push(name);
            assert.ok(begunLate ? status === 403 || status === 401 : status < 500, text);
            if (begunLate) late += 1;
            else passed += 1;
            if (begunLate) tally.held();
          }
        };
        const asking = Promise.all(clients.map(ask));
        try {
          const begun = eventually(() => passed >= 16 || undefined, 'requests to be under way');
          await Promise.race([asking, begun]);
          const [taken] = await fire(office, tally, round, [take(holder, needed)]);
          acknowledged = true;
          assert.equal(taken?.status, 200, taken?.text);
          await asking;
        } finally {
          stopped = true;
          await asking.catch(() => undefined);
        }
        const made = await service.sql('select from roles where name = any($1)', [names]);
        assert.equal(made.length, names.length);
        tally.held();
      }
      await assertInOrder(office, tally);
    },
  );

/** A request of which the service has all but the last byte; it is answered when that is called for. */
async function beginRole(client: TestClient): Promise<() => Promise<number | undefined>> {
  const { headers, body = '' } = await client.prepare('POST', { json: { name: newName('late') } });
  const sent = request(`${client.url}/api/v1/roles`, {
    method: 'POST',
    headers: { ...Object.fromEntries(headers), 'content-length': body.length, expect: '100-continue' },
  });
  const answered = once(sent, 'response');
  sent.flushHeaders();
  await Promise.race([once(sent, 'continue'), answered]);
  sent.write(body.slice(0, -1));
  return async () => {
    sent.end(body.slice(-1));
    const [answer] = (await answered) as [IncomingMessage];
    answer.resume();
    return answer.statusCode;
  };
}

scenario(
  'a request whose body is still on its way when its right is taken away is judged without it',
  async (tally) => {
    const needed = await permissionId(service, 'role.create');
    for (const take of Object.values(takings))
      for (let round = 0; round < rounds(1, 6); round += 1) {
        const holder = await signInWith(service, ['role.create']);
        const begun = await Promise.all(times(8, (index) => beginRole(office.at(holder.client, index))));
        const [taken] = await fire(office, tally, round, [take(holder, needed)]);
        assert.equal(taken?.status, 200, taken?.text);
        const statuses = await Promise.all(begun.map((finish) => finish()));
        assert.ok(
          statuses.every((status) => status === 401 || status === 403),
          String(statuses),
        );
        tally.tried(8);
        tally.held(8);
      }
    await assertInOrder(office, tally);
  },
);

scenario(
  'a right that is given counts for every request that begins anywhere after it is acknowledged',
  async (tally) => {
    const needed = await permissionId(service, 'role.read');
    for (let round = 0; round < rounds(3, 20); round += 1) {
      const holder = await signInWith(service, []);
      const deeds = times(16, (): Deed => ({ method: 'GET', path: '/api/v1/roles', as: holder.client }));
      assertAmong(await fire(office, tally, round, deeds), [403]);
      const [given] = await fire(office, tally, round, [
        post(`roles/${holder.roleId}/permissions`, [needed]),
      ]);
      assert.equal(given?.status, 200, given?.text);
      assertAmong(await fire(office, tally, round, deeds), [200]);
      tally.held(32);
    }
    await assertInOrder(office, tally);
  },
);
