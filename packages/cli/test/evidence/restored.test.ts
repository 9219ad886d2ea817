// A backup that is restored: the sealed log goes on in a new log that says what it continues, and a verification says what was lost.
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ContinuesSeal } from '@castellan/contract/evidence';
import { readCheckpoint, readNote } from '@castellan/server/platform/evidence/signed-note';
import { ADMIN, eventually, signIn, startTestService, TEST_SECRET_KEY } from '@castellan/testing/harness';
import { freePort } from '@castellan/testing/ports';
import { castellan, launch } from '../castellan.ts';
import { createEmptyDatabase, run } from '../databases.ts';

test('after a restore a new log says what it continues, and what was lost', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'castellan-restored-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const service = await startTestService(t, { AUDIT_SEALING: 'off' });
  const admin = await signIn(service, ADMIN);
  const seal = async (): Promise<string> => {
    await service.sql(
      `insert into audit_logs (id, action, resource_type) values (gen_random_uuid(), 'role_created', 'role')`,
    );
    await service.service.deps.sealer.run();
    return (await admin.get('/api/v1/audit-logs/head')).text;
  };
  await seal();
  const kept = await seal();
  const dataDir = join(folder, 'data');
  const own = { DATABASE_URL: service.databaseUrl, SECRET_KEY: TEST_SECRET_KEY, DATA_DIR: dataDir };
  const file = join(folder, 'log.backup');
  const backup = await castellan(['backup', '--to', file], own);
  assert.equal(backup.code, 0, backup.err);
  await seal();
  const lost = await seal();

  const { url, drop } = await createEmptyDatabase();
  t.after(drop);
  const port = await freePort();
  const restored = {
    ...own,
    DATABASE_URL: url,
    PUBLIC_URL: 'http://castellan.test',
    PORT: '0',
    WORKERS: '1',
    METRICS_ADDRESS: `127.0.0.1:${port}`,
    SHUTDOWN_GRACE_SECONDS: '0',
  };
  const restore = await castellan(['restore', '--from', file, '--keep-sessions'], restored);
  assert.equal(restore.code, 0, restore.err);
  // What the instance had published before, and the restore did not touch.
  await mkdir(dataDir, { recursive: true });
  const headsFile = join(dataDir, 'audit-heads.txt');
  await writeFile(headsFile, `\n\n${kept}\n\n${lost}`);

  const instance = launch(['serve'], restored);
  try {
    const [row] = await eventually(async () => {
      const rows = await run<{ content: string }>(
        url,
        `select content from audit_seals where kind = 'continues' and exists (select from audit_logs where action = 'audit_log_forked')`,
      );
      return rows.length > 0 ? rows : undefined;
    }, 'the new log');
    const { origin, size, root, known_size, known_root, reason }: ContinuesSeal = JSON.parse(
      row?.content ?? '',
    );
    const [before, seen] = [kept, lost].map((note) => readCheckpoint(readNote(note).text));
    assert.ok(before && seen);
    assert.deepEqual(
      { origin, size, root, known_size, known_root, reason },
      {
        origin: before.origin,
        size: before.size,
        root: before.root.toString('base64'),
        known_size: seen.size,
        known_root: seen.root.toString('base64'),
        reason: 'restored',
      },
    );
    const [entry] = await run<{ details: object }>(
      url,
      `select details from audit_logs where action = 'audit_log_forked'`,
    );
    assert.deepEqual(entry?.details, {
      reason: 'restored',
      continues: before.origin,
      size: before.size,
      known_size: seen.size,
    });
    // What the alert looks at.
    await eventually(async () => {
      const text = await fetch(`http://127.0.0.1:${port}/metrics`).then((response) => response.text());
      return /^castellan_audit_log_forks(\{.*\})? 1$/m.test(text) ? true : undefined;
    }, 'the metric');
    // Heads are published once a minute, and one was shortly before the backup.
    await run(url, 'update audit_log_head set published_at = null');
    await eventually(async () => {
      const heads = await readFile(headsFile, 'utf8');
      const logs = new Set(heads.match(/^castellan\.test\/audit\/\S+$/gm));
      return logs.size === 2 ? true : undefined;
    }, 'a head of the new log in the file, after those of the one before');
  } finally {
    instance.child.kill('SIGTERM');
  }
  assert.equal((await instance.ended).code, 0);
  // Lost, not altered: the heads of both logs, and what the instance had seen.
  const found = await castellan(['audit', 'verify', '--database', '--heads', headsFile, '--json'], restored);
  assert.equal(found.code, 3, found.err);
  const { verdict, counts } = JSON.parse(found.out);
  assert.deepEqual([verdict, counts.logs, counts.lost], ['incomplete', 2, 2]);
});
