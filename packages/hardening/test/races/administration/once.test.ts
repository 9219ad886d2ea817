// Of many requests at once only one may take a name, change a version that all have read, or use an Idempotency-Key
// first. It must not test keys of requests that come one after the other.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after } from 'node:test';
import { newEmail, PASSWORD } from '@castellan/testing/harness';
import { assertRefused } from '@castellan/testing/http/fixture';
import {
  etagOf,
  makePermission,
  makePermissionGroup,
  makeRole,
  makeRoleGroup,
  newName,
} from '@castellan/testing/records/fixture';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
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
const original = await makeRoleGroup(admin);
const parent = await makePermissionGroup(admin, { name: 'once' });
const permission = await makePermission(admin);

const changeable: Record<
  string,
  { path: string; make(): Promise<{ id: string }>; change(n: number): object }
> = {
  user: { path: 'users', make: () => addPerson(service), change: (n) => ({ first_name: `N${n}` }) },
  role: {
    path: 'roles',
    make: () => makeRole(admin),
    change: (n) =>
      n % 2 ? { description: `${n}` } : { permission_ids: [permission.id], description: `${n}` },
  },
  'role group': {
    path: 'role-groups',
    make: () => makeRoleGroup(admin),
    change: (n) => ({ description: `${n}` }),
  },
  'permission group': {
    path: 'permission-groups',
    make: () => makePermissionGroup(admin),
    change: (n) => (n % 2 ? { description: `${n}` } : { name: newName() }),
  },
};

for (const [what, { path, make, change }] of Object.entries(changeable))
  scenario(`${what}: of 16 changes with the same If-Match one is done, and 15 are refused`, async (tally) => {
    for (let round = 0; round < rounds(1, 40); round += 1) {
      const { id } = await make();
      const headers = { 'if-match': etagOf(await admin.get(`/api/v1/${path}/${id}`)) };
      const requests = times(
        16,
        (index): RequestSpec => ({ ...put(`${path}/${id}`, change(index)), headers }),
      );
      // In every third round one request deletes the record: the others then get 404, or the deletion finds a newer
      // version.
      if (round % 3 === 2) requests[0] = { ...remove(`${path}/${id}`), headers };
      const answers = await sendAtOnce(pair, tally, round, requests);
      const [first] = answers;
      const deleted = round % 3 === 2 && (first?.status === 204 || first?.status === 200);
      const counts = statusCounts(answers);
      if (deleted) assert.deepEqual(statusCounts(answers.slice(1)), { 404: 15 });
      else assert.deepEqual(counts, { 200: 1, 412: 15 });
      const winner = answers.find(({ status }) => status === 200);
      for (const { status, headers: sent, body } of answers)
        if (status === 412)
          assert.deepEqual([sent.get('etag'), body.current.id], [winner?.headers.get('etag'), id]);
      tally.held(16);
      await assertAgreed(pair, tally, [`${path}/${id}`]);
    }
    await assertInOrder(pair, tally);
  });

const named: Record<string, { path: string; table: string; body(name: string): object; stored?: string }> = {
  role: { path: 'roles', table: 'roles', body: (name) => ({ name }) },
  'role group': { path: 'role-groups', table: 'role_groups', body: (name) => ({ name }) },
  'permission group': { path: 'permission-groups', table: 'permission_groups', body: (name) => ({ name }) },
  permission: {
    path: 'permissions',
    table: 'permissions',
    body: (name) => ({ name, group_id: parent.id }),
    stored: 'once.',
  },
};

for (const [what, { path, table, body, stored = '' }] of Object.entries(named))
  scenario(
    `${what}: of 50 requests at once for one name, in any case of letters, one gets it`,
    async (tally) => {
      for (let round = 0; round < rounds(1, 15); round += 1) {
        const name = newName('straße-of-one');
        const spellings = [name, name.toUpperCase().replace('SS', 'ß'), name.replace('one', 'ONE')];
        const requests = times(50, (index) => post(path, body(spellings[index % 3] as string)));
        // Two other operations also name role groups.
        if (table === 'role_groups')
          for (let index = 0; index < 50; index += 5) {
            requests[index] = post(`${path}/bulk`, [{ name: newName('beside') }, { name }]);
            requests[index + 1] = post(`${path}/${original.id}/clone`, { name });
          }
        const answers = await sendAtOnce(pair, tally, round, requests);
        assert.deepEqual(statusCounts(answers), { 201: 1, 409: 49 });
        const rows = await service.sql<{ id: string }>(
          `select id from ${table} where lower(name) = lower($1)`,
          [`${stored}${name}`],
        );
        assert.equal(rows.length, 1);
        tally.held(2);
        await assertAgreed(pair, tally, [`${path}/${rows[0]?.id}`]);
      }
      await assertInOrder(pair, tally);
    },
  );

const creates: Record<string, { path: string; table: string; column?: string; body(name: string): object }> =
  {
    ...named,
    'bulk of role groups': { path: 'role-groups/bulk', table: 'role_groups', body: (name) => [{ name }] },
    'copy of a role group': {
      path: `role-groups/${original.id}/clone`,
      table: 'role_groups',
      body: (name) => ({ name }),
    },
    user: {
      path: 'users',
      table: 'users',
      column: 'last_name',
      body: (name) => ({
        email: newEmail(),
        password: PASSWORD,
        first_name: 'Ida',
        last_name: name,
        role_id: [],
      }),
    },
  };

for (const [what, { path, table, column = 'name', body }] of Object.entries(creates))
  scenario(
    `${what}: 50 requests at once with one Idempotency-Key create one record and get the same answer`,
    async (tally) => {
      for (let round = 0; round < rounds(1, 15); round += 1) {
        const [name, key] = [newName('keyed'), randomUUID()];
        const sent = body(name);
        const headers = { 'idempotency-key': key };
        const answers = await sendAtOnce(
          pair,
          tally,
          round,
          times(50, () => ({ ...post(path, sent), headers })),
        );
        for (const answer of answers)
          if (answer.status !== 201) assertRefused(answer, 409, 'idempotency_in_progress');
        const made = answers.filter(({ status }) => status === 201);
        assert.equal(new Set(made.map(({ text }) => text)).size, 1);
        assert.equal(made.filter((one) => !one.headers.has('idempotency-replayed')).length, 1);
        assert.equal((await entriesOf(service, answers)).length, 1);
        const rows = await service.sql(
          `select from ${table} where ${column} = $1 or ${column} like '%.' || $1`,
          [name],
        );
        assert.equal(rows.length, 1);
        for (const { url } of [service, pair.twin]) {
          const again = await admin.at(url).post(`/api/v1/${path}`, sent, { headers });
          assert.deepEqual([again.text, again.headers.get('idempotency-replayed')], [made[0]?.text, 'true']);
          assert.equal(again.headers.get('etag'), made[0]?.headers.get('etag'));
        }
        tally.held(56);
      }
      await assertInOrder(pair, tally);
    },
  );
