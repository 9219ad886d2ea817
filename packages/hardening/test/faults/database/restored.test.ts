// The database returns to an earlier state while instances run, and is then changed differently, as after a restore or
// a failover that lost the last commits: both instances follow its current state. It must not restart an instance.
import assert from 'node:assert/strict';
import { suite } from 'node:test';
import { type Hooks, signIn, startTestService, type TestService } from '@castellan/testing/harness';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { addUser } from '@castellan/testing/sessions/accounts';

const scenario = scenariosOf('faults');

type Sql = TestService['sql'];

/** Copies the tables of permissions. Returns a function that restores them exactly, without firing triggers. */
async function keepRights(sql: Sql): Promise<() => Promise<void>> {
  const tables = await sql<{ name: string }>(`
    select table_name as name from information_schema.tables
    where table_schema = 'public' and (table_name ~ '^authz_' or table_name in ('roles', 'permissions', 'role_permissions'))`);
  await sql('drop schema if exists kept cascade; create schema kept');
  for (const { name } of tables) await sql(`create table kept.${name} as table public.${name}`);
  const steps = tables.map(
    ({ name }) => `delete from public.${name}; insert into public.${name} select * from kept.${name};`,
  );
  return async () => {
    await sql(`begin; set local session_replication_role = replica; ${steps.join('\n')} commit`);
  };
}

const permissions = ['role.read', 'permission.read', 'users.read', 'audit_log.read', 'role.delete'];

/** Adds the permission to the role `User`, or removes it: one change of the permission graph. */
async function toggle(sql: Sql, permission: string): Promise<void> {
  const link = `role_id = (select id from roles where name = 'User')
    and permission_id = (select id from permissions where name = $1)`;
  const gone = await sql(`delete from role_permissions where ${link} returning 1`, [permission]);
  if (gone.length === 0)
    await sql(
      `insert into role_permissions (role_id, permission_id)
       select r.id, p.id from roles r, permissions p where r.name = 'User' and p.name = $1`,
      [permission],
    );
}

async function openPerson(t: Hooks) {
  const service = await startTestService(t);
  const twin = await service.another();
  const user = await addUser(service);
  await service.sql(`insert into user_roles select $1, id from roles where name = 'User'`, [user.id]);
  const client = await signIn(service, user);
  /**
   * Checks that each instance grants this user exactly what the database says, by a route and by the list of
   * permissions.
   */
  const check = async (when: string): Promise<void> => {
    const held = await service.sql<{ name: string }>(`
      select p.name from role_permissions rp join permissions p on p.id = rp.permission_id
      where rp.role_id = (select id from roles where name = 'User') order by p.name collate "C"`);
    const names = held.map(({ name }) => name);
    for (const { url } of [service, twin]) {
      const me = await client.at(url).get('/api/v1/users/me');
      assert.deepEqual(me.body.data.permissions, names, when);
      const roles = await client.at(url).get('/api/v1/roles?size=1');
      assert.equal(roles.status, names.includes('role.read') ? 200 : 403, when);
    }
  };
  return { service, twin, client, check };
}

const pick = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)] as T;

suite('a restored database', { concurrency: true }, () => {
  scenario(
    'permissions follow a database that is restored and changed differently, on every instance',
    async (tally, t) => {
      const { service, check } = await openPerson(t);
      const { sql } = service;
      await check('at first');
      // With as many changes before as after, counters repeat their values. In other rounds they are behind or ahead.
      const counts = [[1, 1], [2, 2], ...Array.from({ length: rounds(4, 40) }, () => [0, 0])];
      for (const [given = 0, taken = 0] of counts) {
        const [before, after] = given ? [given, taken] : [1 + pick([0, 1, 2]), pick([0, 1, 2, 3])];
        const putBack = await keepRights(sql);
        for (let change = 0; change < before; change += 1) await toggle(sql, permissions[change] as string);
        await check('before it was put back');
        await putBack();
        tally.injected();
        if (pick([true, false]) || after === 0) await check('when it was put back');
        for (let change = 0; change < after; change += 1)
          await toggle(sql, permissions[4 - change] as string);
        await check(`after ${before} changes, the restore and ${after} others`);
        tally.tried(before + after);
        tally.held(3);
      }
    },
  );

  scenario(
    'a request with a version stamp that the database no longer has gets the current permission graph without waiting',
    async (tally, t) => {
      const { service, twin, check } = await openPerson(t);
      const { sql } = service;
      await check('at first');
      const putBack = await keepRights(sql);
      await toggle(sql, 'role.read');
      const [lost] = await sql<Record<string, string>>('select * from authz_version');
      await putBack();
      tally.injected();
      // A request that read the lost state asks its instance for its graph only now.
      const seen = (lost?.stamp ?? lost?.version) as string;
      for (const { service: instance } of [service, twin]) {
        const graphs = await Promise.all(
          Array.from({ length: 20 }, () => instance.deps.graphSource.at(seen)),
        );
        assert.equal(new Set(graphs).size, 1);
        tally.tried(20);
        tally.held();
      }
      await check('afterwards');
      tally.held();
    },
  );
});
