// Tests that a changed role counts at the next request on every instance, that no reader gets a graph older than its
// own statement, and that only changed records are read.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { allPermissions } from '@castellan/contract/permissions';
import { createVerifiedUser, signIn, startTestService } from '@castellan/testing/harness';
import { createScratchDatabase } from '@castellan/testing/scratch-database';
import pg from 'pg';
import { createKysely } from '../../../platform/db/pool.ts';
import type { Tables } from '../../../schema/tables.ts';
import { createGraphSource, type Graph, withGraph } from './graph.ts';

const grant = `insert into role_permissions (role_id, permission_id)
  select r.id, p.id from roles r, permissions p where r.name = $1 and p.name = $2`;
const withdraw = `delete from role_permissions where role_id = (select id from roles where name = $1)
  and permission_id = (select id from permissions where name = $2)`;

test('granting or removing a permission of a role counts at the next request on another instance', async (t) => {
  const one = await startTestService(t);
  const other = await one.another();
  const here = await signIn(one, await createVerifiedUser(one));
  const there = here.at(other.url);
  const permissionsAt = async (client: typeof here): Promise<string[]> =>
    (await client.get('/api/v1/users/me')).body.data.permissions;
  const rename = { first_name: 'Grace' };
  for (const client of [here, there]) assert.deepEqual(await permissionsAt(client), ['self.update_profile']);
  for (let round = 0; round < 5; round += 1) {
    await one.sql(grant, ['User', 'role.read']);
    for (const client of [there, here])
      assert.deepEqual(await permissionsAt(client), ['role.read', 'self.update_profile']);
    await one.sql(withdraw, ['User', 'role.read']);
    await one.sql(withdraw, ['User', 'self.update_profile']);
    assert.equal((await there.put('/api/v1/users/me', rename)).body.code, 'permission_denied');
    assert.deepEqual(await permissionsAt(here), []);
    await one.sql(grant, ['User', 'self.update_profile']);
    assert.equal((await there.put('/api/v1/users/me', rename)).status, 200);
  }
});

test('a rolled-back change does not count', async (t) => {
  const service = await startTestService(t);
  const client = await signIn(service, await createVerifiedUser(service));
  await service.sql(
    `do $$ begin
       begin
         delete from role_permissions;
         raise exception 'rolled back';
       exception when raise_exception then null;
       end;
     end $$`,
  );
  assert.deepEqual((await client.get('/api/v1/users/me')).body.data.permissions, ['self.update_profile']);
});

describe('the graph source', async () => {
  const database = await createScratchDatabase({ migrated: true });
  const pool = new pg.Pool({ connectionString: database.url, max: 4 });
  after(async () => {
    await pool.end();
    await database.drop();
  });

  /** Returns a source whose reads can be held back after PostgreSQL has answered, and are counted with their rows. */
  function createHeldSource() {
    const held: (() => void)[] = [];
    const state = { statements: 0, reads: 0, roles: 0, permissions: 0, hold: false, failNext: false };
    const connect = async () => {
      const client = await pool.connect();
      return {
        query: async (statement: pg.QueryConfig) => {
          if (state.failNext && !/^(start|rollback)/.test(statement.text)) {
            state.failNext = false;
            throw new Error('connection lost');
          }
          state.statements += 1;
          const answer = await client.query(statement);
          if (statement.text.includes('from authz_version')) {
            state.reads += 1;
            if (state.hold) await new Promise<void>((release) => held.push(release));
          }
          const [first] = answer.rows;
          // The statement after a change returns both as lists; the others return one of them as rows.
          if (first?.changes) {
            state.roles += first.roles.length;
            state.permissions += first.permissions.length;
          } else if (statement.text.includes('from roles')) state.roles += answer.rows.length;
          else if (statement.text.includes('from permissions')) state.permissions += answer.rows.length;
          return answer;
        },
        release: (destroy?: boolean) => client.release(destroy),
      };
    };
    const source = createGraphSource(createKysely<Tables>({ connect } as unknown as pg.Pool));
    const heldReads = async (count: number): Promise<void> => {
      while (held.length < count) await new Promise(setImmediate);
    };
    const releaseAll = () => held.splice(0).forEach((release) => void release());
    const countRows = async (run: () => Promise<unknown>) => {
      const { roles, permissions } = state;
      await run();
      return { roles: state.roles - roles, permissions: state.permissions - permissions };
    };
    return { source, state, heldReads, releaseAll, countRows };
  }

  /** Changes the graph and returns its stamp. */
  async function change(): Promise<string> {
    await pool.query("update roles set description = description || '.' where name = 'User'");
    return stampNow();
  }
  const stampNow = async (): Promise<string> =>
    (await pool.query('select stamp from authz_version')).rows[0].stamp;
  const changesKept = async (): Promise<number> =>
    (await pool.query('select count(*)::int as kept from authz_changes')).rows[0].kept;

  /** Returns the graph in the database, read in one statement without the log of changes. */
  async function truth(): Promise<unknown> {
    const { rows } = await pool.query(
      `select r.name, array(select p.name from role_permissions rp join permissions p on p.id = rp.permission_id
         where rp.role_id = r.id order by p.name collate "C") as permissions
       from roles r order by r.name collate "C"`,
    );
    return rows;
  }
  const shown = (graph: Graph): unknown =>
    [...graph.roles.values()]
      .map(({ name, permissions }) => ({ name, permissions: [...permissions] }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));

  test('reads once for any number of callers, and not at all for the stamp in memory', async () => {
    const { source, state } = createHeldSource();
    const stamp = await stampNow();
    const graphs = await Promise.all(Array.from({ length: 50 }, () => source.at(stamp)));
    assert.equal(new Set(graphs).size, 1);
    assert.equal(source.at(stamp), graphs[0]);
    assert.equal(state.reads, 1);
  });

  test('reads once more for all callers who saw a newer stamp than the read in progress', async () => {
    const { source, state, heldReads, releaseAll } = createHeldSource();
    state.hold = true;
    const old = await stampNow();
    const first = source.at(old);
    await heldReads(1);
    const wanted = await change();
    const second = Promise.all(Array.from({ length: 20 }, () => source.at(wanted)));
    state.hold = false;
    releaseAll();
    assert.equal((await first).stamp, old);
    const graphs = await second;
    assert.equal(new Set(graphs).size, 1);
    assert.equal(graphs[0]?.stamp, wanted);
    assert.equal(state.reads, 2);
  });

  test('a change that the log lists costs one statement', async () => {
    const { source, state } = createHeldSource();
    await source.at(await stampNow());
    const stamp = await change();
    state.statements = 0;
    assert.equal((await source.at(stamp)).stamp, stamp);
    assert.equal(state.statements, 1);
  });

  test('an unknown stamp costs at most two reads and returns the current graph', async () => {
    const { source, state } = createHeldSource();
    const current = await stampNow();
    await source.at(current);
    state.reads = 0;
    const graphs = await Promise.all(Array.from({ length: 20 }, () => source.at(randomUUID())));
    assert.deepEqual(new Set(graphs.map(({ stamp }) => stamp)), new Set([current]));
    assert.ok(state.reads <= 2, `${state.reads} reads`);
  });

  test('a request that saw an older stamp gets the current graph without reading any record', async () => {
    const { source, countRows } = createHeldSource();
    const old = await stampNow();
    await source.at(old);
    const newest = await source.at(await change());
    const rows = await countRows(async () => assert.equal(await source.at(old), newest));
    assert.deepEqual(rows, { roles: 0, permissions: 0 });
  });

  test('a failed read fails its waiting callers, and the next caller reads again', async () => {
    const { source, state } = createHeldSource();
    const stamp = await stampNow();
    state.failNext = true;
    const failed = await Promise.allSettled([source.at(stamp), source.at(stamp)]);
    assert.ok(failed.some((one) => one.status === 'rejected'));
    assert.equal((await source.at(stamp)).stamp, stamp);
  });

  describe('after a change, reads', () => {
    const roles = 300;
    before(async () => {
      await pool.query(`
        insert into permission_groups (id, name) values (gen_random_uuid(), 'many');
        insert into permissions (id, name, group_id)
          select gen_random_uuid(), 'many.' || n, (select id from permission_groups where name = 'many')
          from generate_series(1, 1500) n;
        insert into roles (id, name) select gen_random_uuid(), 'Many ' || n from generate_series(1, ${roles}) n;
        insert into role_permissions (role_id, permission_id)
          select r.id, p.id from roles r, permissions p where r.name like 'Many %' and p.name like 'many.1_'`);
    });

    const one = "(select id from roles where name = 'Many 7')";
    const changes: [what: string, statement: string, roles: number, permissions: number][] = [
      [
        'the role that was granted a permission',
        `insert into role_permissions (role_id, permission_id)
         select ${one}, id from permissions where name = 'many.900'`,
        1,
        0,
      ],
      ['the role that lost its permissions', `delete from role_permissions where role_id = ${one}`, 1, 0],
      ['the role that was renamed', `update roles set name = 'Many 7!' where name = 'Many 7'`, 1, 0],
      [
        'the role that was created',
        `insert into roles (id, name) values (gen_random_uuid(), 'Brand new')`,
        1,
        0,
      ],
      ['no record if a role was deleted', `delete from roles where name = 'Brand new'`, 0, 0],
      [
        'the permission that was renamed',
        `update permissions set name = 'many.800!' where name = 'many.800'`,
        0,
        1,
      ],
      [
        'all permissions if a group with more permissions than the log lists was renamed',
        `update permissions set name = replace(name, 'many.', 'lots.') where name like 'many.%'`,
        0,
        1_500 + allPermissions.length,
      ],
      [
        'every role that one statement granted a permission',
        `insert into role_permissions (role_id, permission_id)
         select r.id, p.id from roles r, permissions p where r.name like 'Many %' and p.name = 'lots.901'`,
        roles,
        0,
      ],
      [
        'every role that lost a permission in one statement',
        `delete from role_permissions where permission_id = (select id from permissions where name = 'lots.901')`,
        roles,
        0,
      ],
    ];
    for (const [what, statement, expectedRoles, expectedPermissions] of changes)
      test(what, async () => {
        const { source, countRows } = createHeldSource();
        await source.at(await stampNow());
        const version = async () => (await pool.query('select version from authz_version')).rows[0].version;
        const before = BigInt(await version());
        await pool.query(statement);
        assert.equal(BigInt(await version()) - before, 1n, 'one statement is one change');
        const stamp = await stampNow();
        const rows = await countRows(async () => source.at(stamp));
        assert.deepEqual(rows, { roles: expectedRoles, permissions: expectedPermissions });
        assert.deepEqual(shown(await source.at(stamp)), await truth());
      });

    test('nothing if the change affects no permission', async () => {
      const before = await stampNow();
      await pool.query(`
        update roles set updated_at = now();
        update permissions set description = 'other';
        delete from role_permissions where role_id = gen_random_uuid();
        update roles set name = name`);
      assert.equal(await stampNow(), before);
    });

    test('its statement again if the graph has changed since, three times at most', async () => {
      const { source } = createHeldSource();
      for (const changes of [0, 1, 2, 3, 5]) {
        let reads = 0;
        const { found, graph } = await withGraph(source, async () => {
          // No graph in memory has this stamp.
          const stamp = await change();
          if (reads < changes) await change();
          reads += 1;
          return { stamp };
        });
        assert.equal(reads, Math.min(changes + 1, 3));
        assert.equal(graph.stamp === found.stamp, changes < 3);
        assert.equal(graph.stamp, await stampNow());
      }
    });

    test('a role once if it changed many times', async () => {
      const { source, countRows } = createHeldSource();
      await source.at(await stampNow());
      for (let round = 0; round < 20; round += 1) await change();
      const rows = await countRows(async () => source.at(await stampNow()));
      assert.deepEqual(rows, { roles: 1, permissions: 0 });
    });

    test('everything if there were more changes than the log keeps', async () => {
      const { source, countRows } = createHeldSource();
      await source.at(await stampNow());
      await pool.query(`do $$ begin
        for round in 1..1100 loop
          update roles set description = round::text where name = 'User';
        end loop;
      end $$`);
      assert.equal(await changesKept(), 1_000);
      const rows = await countRows(async () => source.at(await stampNow()));
      assert.equal(rows.roles, roles + 4);
      assert.deepEqual(shown(await source.at(await stampNow())), await truth());
    });

    test('everything if a table was truncated', async () => {
      const { source } = createHeldSource();
      const full = await source.at(await stampNow());
      assert.ok([...full.roles.values()].some(({ permissions }) => permissions.length > 0));
      await pool.query('truncate role_permissions');
      const emptied = await source.at(await stampNow());
      assert.ok([...emptied.roles.values()].every(({ permissions }) => permissions.length === 0));
    });
  });
});
