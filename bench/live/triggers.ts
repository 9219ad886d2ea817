// What the change feed costs the statements whose changes it notes: without its triggers, asleep, and on.
// It must not measure the service, nor commits.
import { createScratchDatabase } from '@castellan/testing/scratch-database';
import pg from 'pg';

const ROUNDS = 400;
const modes = ['none', 'asleep', 'on'] as const;
const statements = {
  'rename a user': ['users', 'update users set first_name = first_name where id = $1'],
  'deactivate and activate a user': ['users', 'update users set is_active = not is_active where id = $1'],
  'note the use of a session': ['sessions', 'update sessions set last_used_at = now() where user_id = $1'],
  'end a session': [
    'sessions',
    'update sessions set revoked_at = case when revoked_at is null then now() end where user_id = $1',
  ],
} as const;

const database = await createScratchDatabase({ migrated: true });
const client = new pg.Client(database.url);
await client.connect();
await client.query(`
  insert into users (id, email, first_name, last_name)
    select gen_random_uuid(), n || '@example.com', 'Ada', 'L' from generate_series(1, 1000) n;
  insert into sessions (id, user_id, expires_at) select gen_random_uuid(), id, now() + interval '1 day' from users;
  analyze`);
const { rows: users } = await client.query<{ id: string }>('select id from users');

/** In one transaction that is rolled back, so that no commit is measured. */
async function measure(
  mode: (typeof modes)[number],
  name: string,
  table: string,
  text: string,
): Promise<number[]> {
  await client.query('begin');
  if (mode === 'none')
    for (const event of ['updated', 'deleted'])
      await client.query(`alter table ${table} disable trigger ${table}_feed_${event}`);
  if (mode === 'on') await client.query('update feed_state set is_on = true');
  const times: number[] = [];
  for (let at = 0; at < ROUNDS; at += 1) {
    const begin = performance.now();
    await client.query({ name, text, values: [users[at % users.length]?.id] });
    times.push((performance.now() - begin) * 1_000);
  }
  await client.query('rollback');
  return times;
}

const median = (times: number[]): number =>
  times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;

for (const [name, [table, text]] of Object.entries(statements)) {
  const times: Record<(typeof modes)[number], number[]> = { none: [], asleep: [], on: [] };
  // In turn, because others use the processor too.
  for (let round = 0; round < 6; round += 1)
    for (const mode of modes) times[mode].push(...(await measure(mode, name, table, text)));
  const shown = modes.map((mode) => `${mode} ${median(times[mode]).toFixed(0)} µs`).join(', ');
  process.stdout.write(`${name}: ${shown}\n`);
}
await client.end();
await database.drop();
