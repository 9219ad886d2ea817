// Two instances seal while many write, and are killed in the middle: no position is left out or sealed twice, no log begins anew, and what
// each has written to its file of heads stays true.
import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { eventually, startTestService, TEST_SECRET_KEY } from '@castellan/testing/harness';
import pg from 'pg';
import { hashOfSeal } from '../../../src/modules/evidence/leaves.ts';
import { rootOf } from '../../../src/platform/evidence/merkle-tree.ts';
import { checkpointsIn } from '../../../src/platform/evidence/note-file.ts';
import { verifyLog } from './whole-log.ts';

const KILLS = 4;
const program = fileURLToPath(new URL('./sealing-instance.ts', import.meta.url));
const insert = `insert into audit_logs (id, action, resource_type)
  select gen_random_uuid(), 'role_created', 'role' from generate_series(1, $1)`;

test('instances that are killed while they seal leave the log whole', async (t) => {
  const service = await startTestService(t, { AUDIT_SEALING: 'off' });
  const folder = await mkdtemp(join(tmpdir(), 'castellan-killed-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const running: ChildProcess[] = [];
  t.after(() => {
    for (const child of running) child.kill('SIGKILL');
  });
  const launch = async (name: string): Promise<ChildProcess> => {
    const child = fork(program, {
      env: {
        PATH: process.env.PATH,
        DATABASE_URL: `${service.databaseUrl}${service.databaseUrl.includes('?') ? '&' : '?'}application_name=${name}`,
        SECRET_KEY: TEST_SECRET_KEY,
        DATA_DIR: join(folder, name),
        PUBLIC_URL: 'http://castellan.test',
        PORT: '0',
        DATABASE_POOL_SIZE: '4',
      },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    running.push(child);
    await once(child, 'message');
    return child;
  };
  /** The instance that holds the head, and has written in its transaction. */
  const sealing = async (): Promise<string | undefined> => {
    const [row] = await service.sql<{ name: string }>(
      `select a.application_name as name from pg_stat_activity a join pg_locks l on l.pid = a.pid
       where l.relation = 'audit_log_head'::regclass and a.backend_xid is not null and a.application_name like 'seals-%' limit 1`,
    );
    return row?.name;
  };

  const instances = new Map<string, ChildProcess>();
  for (const name of ['seals-a', 'seals-b']) instances.set(name, await launch(name));
  let isWriting = true;
  // While an instance starts, few write: a slow machine would otherwise have a million entries to seal and verify.
  let pauseMs = 5;
  const writers = [0, 1].map(async (writer) => {
    const client = new pg.Client(service.databaseUrl);
    await client.connect();
    for (let at = 0; isWriting; at += 1) {
      await client.query('begin');
      await client.query(insert, [at % 20 === 0 ? 3_000 : 3]);
      await client.query(at % 5 === writer ? 'rollback' : 'commit');
      await pause(pauseMs);
    }
    await client.end();
  });
  for (let kills = 0; kills < KILLS; ) {
    const name = await sealing();
    const child = name === undefined ? undefined : instances.get(name);
    if (name === undefined || !child) continue;
    child.kill('SIGKILL');
    await once(child, 'exit');
    kills += 1;
    pauseMs = 200;
    // The next head is published at once, by whichever instance seals.
    await service.sql('update audit_log_head set published_at = null');
    instances.set(name, await launch(name));
    pauseMs = 5;
  }
  isWriting = false;
  await Promise.all(writers);
  for (const child of instances.values()) child.kill('SIGKILL');
  await Promise.all([...instances.values()].map((child) => once(child, 'exit')));

  const { sealer } = service.service.deps;
  // The connection of a killed instance may hold the head for a moment.
  await eventually(async () => {
    await sealer.run();
    await service.sql(`update audit_missing set since = since - interval '1 hour'`);
    await sealer.run();
    const left = await service.sql('select from audit_missing limit 1');
    return left.length === 0 ? true : undefined;
  }, 'the last seals');
  const { faults, seals, unsealed, missing } = await verifyLog(service);
  assert.deepEqual([faults, unsealed, missing], [[], 0, 0]);
  assert.deepEqual(await service.sql('select from audit_seal_logs offset 1'), [], 'no log began anew');
  const leaves = seals.map(hashOfSeal);
  let heads = 0;
  for (const name of instances.keys()) {
    const text = await readFile(join(folder, name, 'audit-heads.txt'), 'utf8').catch(() => '');
    let last = 0;
    for (const { size, root } of checkpointsIn(text)) {
      assert.deepEqual(rootOf(leaves.slice(0, size)), root);
      assert.ok(size > last, 'each head continues the one before');
      last = size;
      heads += 1;
    }
  }
  assert.ok(heads > 1, `${heads} heads`);
});
