import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createScratchDatabase } from '@castellan/testing/scratch-database';
import pg from 'pg';
import { lookAtNotices } from './notices.ts';

const { url, drop } = await createScratchDatabase({ migrated: true });
const pool = new pg.Pool({ connectionString: url });
after(async () => {
  await pool.end();
  await drop();
});

test('only notices that have waited for more than 15 minutes are a finding', async () => {
  assert.deepEqual(await lookAtNotices(pool), []);
  const add = (minutes: number, state: string) =>
    pool.query(
      `insert into logout_notices (application_id, user_id, sid, reason, state, application, created_at)
       values ('00000000-0000-0000-0000-000000000001', gen_random_uuid(), 's', 'logout', $2, '{"client_id": "shop"}',
         now() - make_interval(mins => $1))`,
      [minutes, state],
    );
  await add(5, 'waiting');
  await add(60, 'given_up');
  assert.deepEqual(await lookAtNotices(pool), []);
  await add(16, 'waiting');
  const found = await lookAtNotices(pool);
  assert.deepEqual(
    found.map(({ level, text }) => [level, text]),
    [['warn', 'shop has not been told of 1 ended sessions for more than 15 min']],
  );
});
