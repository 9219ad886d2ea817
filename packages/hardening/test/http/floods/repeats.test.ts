// One account that repeats everything it may do, at two instances: the audit log keeps the first entries of each minute
// and exact counts of the others. It must not judge how fast the service is.
import assert from 'node:assert/strict';
import type { TestClient } from '@castellan/testing/client';
import { signIn } from '@castellan/testing/harness';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { addUser } from '@castellan/testing/sessions/accounts';
import { lastFirst, withClient } from '../../faults/database/fixture.ts';
import { openPair } from '../../fixture.ts';

const scenario = scenariosOf('http');

// 60 a minute in up to two windows, and each instance adds ten that it does not count in the database.
const MOST = 2 * 70;

type Counts = Record<string, { single: number; leftOut: number }>;

const countsOf = (url: string, actorId: string): Promise<Counts> =>
  withClient(url, async (client) => {
    const { rows } = await client.query(
      `select action, count(*) filter (where not details ? 'more_left_out')::int as single,
         coalesce(sum((details ->> 'more_left_out')::int), 0)::int as "leftOut"
       from audit_logs where actor_id = $1 group by 1`,
      [actorId],
    );
    return Object.fromEntries(rows.map(({ action, ...counts }) => [action, counts]));
  });

scenario(
  'an account that repeats permitted requests gets 60 audit entries of each kind a minute and an exact count of the others',
  async (tally, t) => {
    const { service, twin, at } = await openPair(lastFirst(t));
    const user = await addUser(service);
    await service.sql(
      `insert into user_roles (user_id, role_id) select $1, id from roles where name = 'User'`,
      [user.id],
    );
    const client = await signIn(service, user);
    const times = rounds(90, 703);
    const both = (
      act: (client: TestClient, index: number) => Promise<{ status: number; text: string }>,
      status: number,
    ) =>
      Promise.all(
        [0, 1].map(async (half) => {
          for (let index = half; index < times; index += 2) {
            const answer = await act(at(client, half), index);
            assert.equal(answer.status, status, answer.text);
          }
        }),
      );
    await both((one) => one.get('/api/v1/roles'), 403);
    await both((one, index) => one.put('/api/v1/users/me', { first_name: `Ada ${index}` }), 200);
    // The cookie path does not exchange the token, so one token works at both instances.
    await both(
      (one) => one.post('/api/v1/auth/new_access_token', { refresh_token: client.refreshToken }),
      200,
    );
    tally.tried(3 * times);
    await Promise.all([service.stop(), twin.stop()]);
    const counts = await countsOf(service.databaseUrl, user.id);
    for (const action of ['permission_denied', 'user_profile_updated', 'session_refreshed']) {
      const { single, leftOut } = counts[action] ?? { single: 0, leftOut: 0 };
      assert.ok(single >= 60 && single <= MOST, `${action}: ${single} entries`);
      assert.equal(single + leftOut, times, action);
    }
    tally.held(6);
  },
);

scenario(
  'no change by an administrator is left out of the audit log, however often it is made',
  async (tally, t) => {
    const { service, admin, at } = await openPair(lastFirst(t));
    const made = await admin.post('/api/v1/roles', { name: 'Changed often' });
    const path = `/api/v1/roles/${made.body.data.id}`;
    const times = rounds(65, 700);
    const user = await addUser(service);
    const sessions = await service.sql<{ id: string }>(
      `insert into sessions (id, user_id, expires_at)
     select gen_random_uuid(), $1, now() + interval '1 hour' from generate_series(1, $2::integer) returning id`,
      [user.id, times],
    );
    for (let from = 0; from < times; from += 5)
      await Promise.all(
        sessions.slice(from, from + 5).map(async ({ id }, index) => {
          const changed = await at(admin, index).put(path, { description: id });
          assert.equal(changed.status, 200, changed.text);
          const ended = await at(admin, index).delete(`/api/v1/users/${user.id}/sessions/${id}`);
          assert.ok(ended.status < 300, ended.text);
        }),
      );
    for (const action of ['role_updated', 'session_revoked'])
      assert.equal(
        (await service.sql('select from audit_logs where action = $1', [action])).length,
        times,
        action,
      );
    tally.tried(2 * times);
    tally.held(2 * times);
  },
);
