// A backup is restored, and its instance takes the place of the one before: cursors and kept answers of what was changed in between
// count no more, also when the numbers of the new log have come as far as those of the old one.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { atEnd, temporaryFolder } from '@castellan/embedded-postgres/testing';
import { openFeed, openLiveFeed } from '@castellan/testing/feed/reader';
import { startTestService, TEST_SECRET_KEY, type TestService } from '@castellan/testing/harness';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { scratchName, urlOfDatabase } from '@castellan/testing/scratch-database';
import pg from 'pg';
import { lastFirst, withClient } from '../faults/database/fixture.ts';
import { caughtUp, compare, keep, keptOf, openGuards, useGuards } from './guards.ts';
import { startInstance } from './instances.ts';
import { makeWorld } from './rights.ts';
import { reachEnd } from './writers.ts';

const scenario = scenariosOf('feed');
const program = fileURLToPath(import.meta.resolve('@castellan/cli/castellan.mjs'));

function castellan(databaseUrl: string, ...args: string[]): void {
  const { status, stderr } = spawnSync(process.execPath, [program, ...args], {
    env: { PATH: process.env.PATH, DATABASE_URL: databaseUrl, SECRET_KEY: TEST_SECRET_KEY },
    encoding: 'utf8',
  });
  assert.deepEqual([status, stderr], [0, '']);
}

/** Creates a database without tables. */
async function emptyDatabase(t: TestContext): Promise<Pick<TestService, 'databaseUrl' | 'sql'>> {
  const name = scratchName();
  const databaseUrl = urlOfDatabase(name);
  const onServer = (text: string): Promise<unknown> =>
    withClient(urlOfDatabase('postgres'), (client) => client.query(text));
  await onServer(`create database ${name} template template0`);
  atEnd(t, () => onServer(`drop database ${name} with (force)`));
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 2 });
  atEnd(t, () => pool.end());
  return { databaseUrl, sql: async (text, values) => (await pool.query(text, values)).rows };
}

scenario(
  'after a restore, live guards and readers forget everything, and guards keep what the restored database says',
  async (tally, t) => {
    for (let round = 0; round < rounds(2, 6); round += 1) {
      const service = await startTestService(lastFirst(t), { CONCURRENT_SESSION_LIMIT: '0' });
      const world = await makeWorld(service);
      const [token = ''] = world.tokens;
      const [person = ''] = world.people;
      const [, permission = ''] = world.permissions;
      // With this role, the person may; the backup says so.
      await service.sql('insert into user_roles (user_id, role_id) values ($1, $2) on conflict do nothing', [
        person,
        world.roles[0],
      ]);
      const file = join(temporaryFolder(t), 'backup');
      castellan(service.databaseUrl, 'backup', '--to', file);
      const instance = await startInstance(t, service.databaseUrl);
      const guards = await openGuards(t, [instance.url], world);
      const stop = useGuards(t, guards, world);
      tally.tried(await world.write(service.databaseUrl, true));
      // In between, nobody may, by any role.
      await service.sql('delete from user_roles where user_id = $1', [person]);
      await service.sql(
        'update users set is_active = true, is_superuser = false, must_change_password = false, session_epoch = 0 where id = $1',
        [person],
      );
      await service.sql('update sessions set revoked_at = null where user_id = $1', [person]);
      await service.sql(
        "update session_tokens set expires_at = now() + interval '30 minutes' where user_id = $1 and kind = 'access'",
        [person],
      );
      await caughtUp(service, guards);
      for (const guard of guards) {
        await keep(guard, token);
        assert.equal(keptOf(guard, token, permission), 'permission_denied');
      }
      const feed = await openLiveFeed(instance.url, world.product.key);
      await reachEnd(service, feed);
      const cursor = feed.cursor();
      const [seq = ''] = cursor.split('.');

      await instance.kill();
      const restored = await emptyDatabase(t);
      castellan(restored.databaseUrl, 'restore', '--from', file, '--keep-sessions');
      // In half of the rounds, the numbers of the new log are those of the old one when the first reader comes back.
      if (round % 2 === 0) {
        // While the feed is off, a job empties its log.
        await restored.sql("update feed_state set is_on = true, wanted_until = now() + interval '1 day'");
        await restored.sql(
          "insert into feed_log (seq, changes, at) select n, '[]', now() from generate_series(1, $1::integer) n",
          [Number(seq) + 5],
        );
      }
      tally.injected();
      await instance.restart(restored.databaseUrl);
      const next = await openFeed(instance.url, world.product.key, { cursor });
      const reset = await next.until(({ event }) => event === 'reset', 'reset');
      assert.equal(reset.data.reason, round % 2 === 0 ? 'unknown_cursor' : 'other_history');
      assert.equal(next.messages[0]?.data.resumed, false);
      next.close();
      await caughtUp(restored, guards);
      await stop();
      for (const guard of guards) {
        await keep(guard, token);
        assert.equal(keptOf(guard, token, permission), 'known');
      }
      tally.held(2 + guards.length + (await compare(instance.url, guards, world, `round ${round}`)));
    }
  },
);
