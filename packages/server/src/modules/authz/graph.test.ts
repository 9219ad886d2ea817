// A changed role counts at the next request, on every instance; and a reader never gets an older graph than he saw.
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import pg from 'pg';
import { createVerifiedUser, signIn, startTestService } from '../../../test/harness.ts';
import { createScratchDatabase } from '../../../test/scratch-database.ts';
import type { Database } from '../../database.ts';
import { createKysely } from '../../platform/db/pool.ts';
import { createGraphSource } from './graph.ts';

const grant = `insert into role_permissions (role_id, permission_id)
  select r.id, p.id from roles r, permissions p where r.name = $1 and p.name = $2`;
const withdraw = `delete from role_permissions where role_id = (select id from roles where name = $1)
  and permission_id = (select id from permissions where name = $2)`;

test('a permission given to a role, or taken from it, counts at the next request on another instance', async (t) => {
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

test('a change that is rolled back does not count', async (t) => {
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

  /** A source whose reads can be held between PostgreSQL's answer and the source, and counted. */
  function createHeldSource() {
    const held: (() => void)[] = [];
    const state = { reads: 0, hold: false, failNext: false };
    const connect = async () => {
      const client = await pool.connect();
      return {
        query: async (statement: pg.QueryConfig) => {
          state.reads += 1;
          if (state.failNext) {
            state.failNext = false;
            throw new Error('cut');
          }
          const answer = await client.query(statement);
          if (state.hold) await new Promise<void>((release) => held.push(release));
          return answer;
        },
        release: (destroy?: boolean) => client.release(destroy),
      };
    };
    const source = createGraphSource(createKysely<Database>({ connect } as unknown as pg.Pool));
    const heldReads = async (count: number): Promise<void> => {
      while (held.length < count) await new Promise(setImmediate);
    };
    return {
      source,
      state,
      heldReads,
      releaseAll: () => held.splice(0).forEach((release) => void release()),
    };
  }

  /** Changes the graph and answers its version. */
  async function change(): Promise<string> {
    await pool.query("update roles set description = description || '.' where name = 'User'");
    return versionNow();
  }
  const versionNow = async (): Promise<string> =>
    (await pool.query('select version::text from authz_version')).rows[0].version;

  test('reads once for any number of callers, and not at all for a version it has', async () => {
    const { source, state } = createHeldSource();
    const version = await versionNow();
    const graphs = await Promise.all(Array.from({ length: 50 }, () => source.at(version)));
    assert.equal(new Set(graphs).size, 1);
    assert.equal(source.at(version), graphs[0]);
    assert.equal(state.reads, 1);
  });

  test('reads again for a caller who saw a newer version than the read under way', async () => {
    const { source, state, heldReads, releaseAll } = createHeldSource();
    state.hold = true;
    const old = await versionNow();
    const first = source.at(old);
    await heldReads(1);
    const wanted = await change();
    const second = Promise.all([source.at(wanted), source.at(wanted)]);
    state.hold = false;
    releaseAll();
    assert.ok((await first).version >= BigInt(old));
    const [one, two] = await second;
    assert.equal(one.version, BigInt(wanted));
    assert.equal(one, two);
    assert.equal(state.reads, 2);
  });

  test('an older version is read anew, because the database may have been restored to an earlier state', async () => {
    const { source, state } = createHeldSource();
    const old = await versionNow();
    await source.at(old);
    const newest = await source.at(await change());
    assert.ok(newest.version > BigInt(old));
    assert.equal((await source.at(old)).version, newest.version);
    assert.equal(state.reads, 3);
    assert.equal(((await source.at(String(newest.version))) as typeof newest).version, newest.version);
    assert.equal(state.reads, 3, 'the present version is not read again');
  });

  test('a failed read fails those who wait for it, and the next caller reads anew', async () => {
    const { source, state } = createHeldSource();
    const version = await versionNow();
    state.failNext = true;
    const failed = await Promise.allSettled([source.at(version), source.at(version)]);
    assert.deepEqual(
      failed.map((one) => one.status),
      ['rejected', 'rejected'],
    );
    assert.equal((await source.at(version)).version, BigInt(version));
  });
});
