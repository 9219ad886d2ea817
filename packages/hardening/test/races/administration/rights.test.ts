// Permissions that are taken away while they are used: once the change is acknowledged, it counts for every request
// that begins at any instance. Of requests that were already running it judges only those that grant permissions.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { after } from 'node:test';
import type { Answer, TestClient } from '@castellan/testing/client';
import { eventually, signIn } from '@castellan/testing/harness';
import {
  idsOf,
  linkedIds,
  makePermission,
  makeRole,
  newName,
  permissionId,
  signInWith,
} from '@castellan/testing/records/fixture';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { addPerson } from '@castellan/testing/users/people';
import pg from 'pg';
import { openPair } from '../../fixture.ts';
import {
  assertAmong,
  assertInOrder,
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

type Holder = { client: TestClient; userId: string; roleId: string };

/** Each returns a request that takes the permission from its holder, who has it through one role. */
const revocations: Record<string, (holder: Holder, permission: string) => RequestSpec> = {
  'the role is removed from the account': ({ userId }) => post(`users/${userId}/roles`, []),
  'the role is removed from the account in bulk': ({ userId }) =>
    put('users/bulk-update', { user_ids: [userId], updates: { role_id: [] } }),
  'the permission is removed from the role': ({ roleId }, permission) =>
    remove(`roles/${roleId}/permissions`, [permission]),
  'the permissions of the role are replaced': ({ roleId }) => put(`roles/${roleId}`, { permission_ids: [] }),
  'the account is deactivated': ({ userId }) => put(`users/${userId}`, { is_active: false }),
};

/** Adds a user who may assign a role with one permission, and may add that permission to roles. */
async function addDelegate(): Promise<{ holder: Holder; permission: string; role: string }> {
  const permission = await makePermission(admin);
  const role = await makeRole(admin, { permission_ids: [permission.id] });
  const holder = await signInWith(service, ['user.update', 'users.update', 'role.update', permission.name]);
  return { holder, permission: permission.id, role: role.id };
}

for (const [what, revoke] of Object.entries(revocations))
  scenario(`a delegated administrator can grant nothing after ${what}`, async (tally) => {
    for (let round = 0; round < rounds(1, 15); round += 1) {
      const { holder, permission, role } = await addDelegate();
      const people = idsOf(await Promise.all(times(16, () => addPerson(service))));
      const roles = idsOf(await Promise.all(times(16, () => makeRole(admin))));
      const grants = (from: number, to: number): RequestSpec[] =>
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
        ].map((request) => ({ ...request, as: holder.client }));
      const [revoked, ...granted] = (await sendAtOnce(pair, tally, round, [
        revoke(holder, permission),
        ...grants(0, 8),
      ])) as [Answer, ...Answer[]];
      assert.equal(revoked.status, 200, revoked.text);
      assertAmong(granted, [200, 401, 403]);
      assertAmong(await sendAtOnce(pair, tally, round, grants(8, 16)), [401, 403]);
      const links = [
        await service.sql('select from user_roles where role_id = $1', [role]),
        await service.sql('select from role_permissions where permission_id = $1 and role_id = any($2)', [
          permission,
          roles,
        ]),
      ];
      assert.equal(links.flat().length, granted.filter(({ status }) => status === 200).length);
      tally.held(granted.length + 17);
    }
    await assertInOrder(pair, tally);
  });

/** Locks the row. Returns a function that releases it. */
async function hold(table: string, id: string): Promise<() => Promise<void>> {
  const holder = new pg.Client(service.databaseUrl);
  await holder.connect();
  await holder.query('begin');
  await holder.query(`select from ${table} where id = $1 for update`, [id]);
  return () => holder.end();
}

for (const [what, revoke] of Object.entries(revocations))
  scenario(
    `a grant that waited for a lock is judged by the permissions after the wait, when ${what}`,
    async (tally) => {
      const { holder, permission, role } = await addDelegate();
      const person = await addPerson(service);
      // Rows are locked in the order of ids: a request that waits for this first row has not locked the holder's row.
      const userId = `00000000${person.id.slice(8)}`;
      await service.sql('update users set id = $2 where id = $1', [person.id, userId]);
      const { id: roleId } = await makeRole(admin);
      for (const [table, id, grant] of [
        ['users', userId, post(`users/${userId}/roles`, [role])],
        ['roles', roleId, post(`roles/${roleId}/permissions`, [permission])],
        ['users', userId, put(`users/${userId}`, { first_name: 'Late' })],
      ] as const) {
        const release = await hold(table, id);
        const granted = sendAtOnce(pair, tally, 0, [{ ...grant, as: holder.client }]);
        try {
          await eventually(async () => {
            const waiting = await service.sql(
              "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
            );
            return waiting[0];
          }, 'the grant to wait');
          const [revoked] = await sendAtOnce(pair, tally, 0, [revoke(holder, permission)]);
          assert.equal(revoked?.status, 200, revoked?.text);
        } finally {
          await release();
        }
        // A holder who keeps the role may still make a change that grants nothing.
        const goesOn = what === 'the permission is removed from the role' && grant.method === 'PUT';
        assertAmong(await granted, goesOn ? [200] : [401, 403]);
        tally.held();
        // Restores the holder's permissions for the next case.
        await service.sql('update users set is_active = true where id = $1', [holder.userId]);
        const again = await signIn(service, await credentialsOf(holder.userId));
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
      await assertInOrder(pair, tally);
    },
  );

async function credentialsOf(userId: string) {
  const [row] = await service.sql<{ email: string }>('select email from users where id = $1', [userId]);
  return { email: row?.email as string, password: 'QaRegisterPass!47' };
}

for (const [what, revoke] of Object.entries(revocations))
  scenario(`no request at any instance passes after it is acknowledged that ${what}`, async (tally) => {
    for (let round = 0; round < rounds(1, 15); round += 1) {
      // A read changes nothing, so it does not by itself make an instance reload permissions.
      const right = round % 2 ? 'role.read' : 'role.create';
      const needed = await permissionId(service, right);
      const holder = await signInWith(service, ['role.create', right]);
      const [requester = holder.client, ...clients] = times(17, (index) => pair.at(holder.client, index));
      // This also gets the CSRF token, so that the requests below need none.
      assert.equal((await requester.post('/api/v1/roles', { name: newName() })).status, 201);
      let [acknowledged, stopped] = [false, false];
      let passed = 0;
      const names: string[] = [];
      const requestRepeatedly = async (client: TestClient): Promise<void> => {
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
      const requesting = Promise.all(clients.map(requestRepeatedly));
      try {
        const begun = eventually(() => passed >= 16 || undefined, 'requests to be under way');
        await Promise.race([requesting, begun]);
        const [revoked] = await sendAtOnce(pair, tally, round, [revoke(holder, needed)]);
        acknowledged = true;
        assert.equal(revoked?.status, 200, revoked?.text);
        await requesting;
      } finally {
        stopped = true;
        await requesting.catch(() => undefined);
      }
      const made = await service.sql('select from roles where name = any($1)', [names]);
      assert.equal(made.length, names.length);
      tally.held();
    }
    await assertInOrder(pair, tally);
  });

/** Sends a request without its last byte. Returns a function that sends that byte and returns the status. */
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

scenario('a request whose permission is taken away before its body has arrived is refused', async (tally) => {
  const needed = await permissionId(service, 'role.create');
  for (const revoke of Object.values(revocations))
    for (let round = 0; round < rounds(1, 6); round += 1) {
      const holder = await signInWith(service, ['role.create']);
      const begun = await Promise.all(times(8, (index) => beginRole(pair.at(holder.client, index))));
      const [revoked] = await sendAtOnce(pair, tally, round, [revoke(holder, needed)]);
      assert.equal(revoked?.status, 200, revoked?.text);
      const statuses = await Promise.all(begun.map((finish) => finish()));
      assert.ok(
        statuses.every((status) => status === 401 || status === 403),
        String(statuses),
      );
      tally.tried(8);
      tally.held(8);
    }
  await assertInOrder(pair, tally);
});

scenario(
  'a granted permission counts for every request that begins at any instance after it is acknowledged',
  async (tally) => {
    const needed = await permissionId(service, 'role.read');
    for (let round = 0; round < rounds(1, 20); round += 1) {
      const holder = await signInWith(service, []);
      const requests = times(
        16,
        (): RequestSpec => ({ method: 'GET', path: '/api/v1/roles', as: holder.client }),
      );
      assertAmong(await sendAtOnce(pair, tally, round, requests), [403]);
      const [granted] = await sendAtOnce(pair, tally, round, [
        post(`roles/${holder.roleId}/permissions`, [needed]),
      ]);
      assert.equal(granted?.status, 200, granted?.text);
      assertAmong(await sendAtOnce(pair, tally, round, requests), [200]);
      tally.held(32);
    }
    await assertInOrder(pair, tally);
  },
);
