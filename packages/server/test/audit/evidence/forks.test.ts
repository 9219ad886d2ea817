// A database that lacks what an instance has seen: a new log begins, and says what it continues. And the keys that sign.
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { ContinuesSeal } from '@castellan/contract/evidence';
import { eventually, startTestService, TEST_SECRET_KEY, type TestService } from '@castellan/testing/harness';
import { createHeadsFile } from '../../../src/modules/evidence/heads/file.ts';
import { rotateAuditKey } from '../../../src/modules/evidence/heads/rotation.ts';
import { insertLog, lockHead, writeHead } from '../../../src/modules/evidence/log-store.ts';
import { createSealer, type SealerDeps } from '../../../src/modules/evidence/sealer.ts';
import { inTransaction } from '../../../src/platform/db/transaction.ts';
import { checkpointsIn } from '../../../src/platform/evidence/note-file.ts';
import { readNote, readVerifierKey, verifiedBy } from '../../../src/platform/evidence/signed-note.ts';
import { verifyLog } from './whole-log.ts';

const write = (service: TestService, count = 1): Promise<unknown> =>
  service.sql(
    `insert into audit_logs (id, action, resource_type) select gen_random_uuid(), 'role_created', 'role' from generate_series(1, $1)`,
    [count],
  );

async function started(t: TestContext): Promise<{ service: TestService; path: string }> {
  const service = await startTestService(t, { AUDIT_SEALING: 'off' });
  const folder = await mkdtemp(join(tmpdir(), 'castellan-heads-'));
  t.after(() => rm(folder, { recursive: true }));
  return { service, path: join(folder, 'heads.txt') };
}

/** A process that has seen nothing but its file. */
const sealerOf = ({ service }: TestService, path: string | null, secretKey?: Buffer) => {
  const { db, log, auditLog, settings } = service.deps;
  const deps: SealerDeps = {
    db,
    log,
    auditLog,
    settings,
    secretKey: secretKey ?? Buffer.from(TEST_SECRET_KEY),
    headsFile: createHeadsFile(path),
    tell: async () => undefined,
    tellSink: () => undefined,
  };
  return createSealer(deps);
};

const state = [
  'audit_seals',
  'audit_seal_nodes',
  'audit_seal_logs',
  'audit_log_head',
  'audit_logs',
  'audit_missing',
  'audit_keys',
];
const keep = async (service: TestService): Promise<void> => {
  for (const table of state) await service.sql(`create table kept_${table} as select * from ${table}`);
};
const bringBack = async (service: TestService): Promise<void> => {
  for (const table of state)
    await service.sql(`delete from ${table}; insert into ${table} select * from kept_${table}`);
};
const continuesOf = async (service: TestService) => {
  const { seals, faults } = await verifyLog(service);
  assert.deepEqual(faults, []);
  const found = seals.filter((seal) => seal.kind === 'continues');
  return found;
};
const forks = (service: TestService) =>
  service.sql<{ details: object }>(`select details from audit_logs where action = 'audit_log_forked'`);

for (const knows of ['memory', 'file'] as const)
  test(`a database that lost seals, which an instance knows from its ${knows}`, async (t) => {
    const { service, path } = await started(t);
    const first = sealerOf(service, path);
    await write(service, 3);
    await first.run();
    await keep(service);
    await write(service, 2);
    await first.run();
    await write(service, 2);
    await service.sql(`update audit_log_head set published_at = null`);
    await first.run();
    const lost = await verifyLog(service);
    await bringBack(service);
    const second = knows === 'memory' ? first : sealerOf(service, path);
    await write(service, 4);
    await second.run();
    const [continues, ...others] = await continuesOf(service);
    assert.deepEqual(others, []);
    assert.deepEqual(
      [continues?.size, continues?.known_size, continues?.reason],
      [1, lost.seals.length, 'other_history'],
    );
    assert.equal((await forks(service)).length, 1);
    // Once: everybody goes on in the new log.
    await second.run();
    await sealerOf(service, path).run();
    await sealerOf(service, null).run();
    assert.equal((await continuesOf(service)).length, 1);
    const found = await verifyLog(service);
    assert.deepEqual([found.faults, found.unsealed], [[], 0]);
  });

test('seals that were made again differently are another history', async (t) => {
  const { service, path } = await started(t);
  const sealer = sealerOf(service, path);
  await write(service, 3);
  await sealer.run();
  await keep(service);
  await write(service, 2);
  await sealer.run();
  await bringBack(service);
  // Somebody with SECRET_KEY seals something else in their place.
  await write(service, 3);
  await sealerOf(service, null).run();
  await write(service, 3);
  await sealerOf(service, null).run();
  await sealer.run();
  const [continues] = await continuesOf(service);
  assert.deepEqual([continues?.size, continues?.known_size], [3, 3]);
});

test('a restored database begins a log, also where no instance knows more', async (t) => {
  const { service } = await started(t);
  const sealer = sealerOf(service, null);
  await write(service, 3);
  await sealer.run();
  await service.sql('update audit_log_head set is_restored = true');
  await sealer.run();
  const [continues] = await continuesOf(service);
  assert.deepEqual([continues?.reason, continues?.size, continues?.known_size], ['restored', 1, 1]);
  await sealer.run();
  assert.equal((await continuesOf(service)).length, 1);
});

test('a head that the key has not signed ends the log, also where no instance knows another', async (t) => {
  const { service } = await started(t);
  const { db, auditLog } = service.service.deps;
  const deps = { db, auditLog, secretKey: Buffer.from(TEST_SECRET_KEY) };
  for (const [index, forgery] of [
    'checkpoint = null',
    `checkpoint = regexp_replace(checkpoint, E'\\n([0-9]+)\\n', E'\\n9\\\\1\\n')`,
    `hashes = array[sha256('forged')]`,
    'size = size + 1',
    `hashes = array[sha256('forged')], is_restored = true`,
  ].entries()) {
    const sealer = sealerOf(service, null);
    await write(service, 2);
    await sealer.run();
    await service.sql(`update audit_logs set "timestamp" = now() - interval '9 days'`);
    await service.sql(`update audit_seals set last_entry_at = now() - interval '9 days'`);
    await service.sql(`update audit_log_head set ${forgery}`);
    // Nobody signs over it.
    await assert.rejects(rotateAuditKey(deps), { name: 'DamagedLogError' });
    await assert.rejects(sealer.removeOld(1), { name: 'DamagedLogError' });
    await write(service, 1);
    await sealerOf(service, null).run();
    const found = (
      await service.sql<{ content: string }>(
        `select content from audit_seals where kind = 'continues' order by log`,
      )
    ).map(({ content }): ContinuesSeal => JSON.parse(content));
    assert.deepEqual([found.length, found.at(-1)?.reason], [index + 1, 'other_history'], forgery);
    await sealerOf(service, null).run();
    assert.equal((await forks(service)).length, index + 1);
  }
});

test('a key that SECRET_KEY does not open ends the log', async (t) => {
  const { service } = await started(t);
  await write(service);
  await sealerOf(service, null).run();
  await sealerOf(service, null, randomBytes(48)).run();
  const [continues] = await continuesOf(service);
  assert.equal(continues?.reason, 'key_lost');
});

test('heads are appended to the file, at most one a minute', async (t) => {
  const { service, path: given } = await started(t);
  // A folder that is not there is made.
  const path = join(dirname(given), 'data', 'heads.txt');
  const sealer = sealerOf(service, path);
  await write(service);
  await sealer.run();
  await write(service);
  await sealer.run();
  const sizes = async () => [...checkpointsIn(await readFile(path, 'utf8'))].map(({ size }) => size);
  assert.deepEqual(await sizes(), [1]);
  await service.sql(`update audit_log_head set published_at = published_at - interval '1 minute'`);
  await sealer.run();
  assert.deepEqual(await sizes(), [1, 2]);
  await service.sql(`update audit_log_head set published_at = published_at - interval '1 minute'`);
  await sealer.run();
  assert.deepEqual(await sizes(), [1, 2]);
});

test('a file that cannot be written ends nothing', async (t) => {
  const { service } = await started(t);
  await write(service);
  // No folder can be made there.
  await sealerOf(service, '/proc/castellan/heads.txt').run();
  const found = await verifyLog(service);
  assert.deepEqual([found.faults, found.unsealed], [[], 0]);
  assert.ok(service.logLines.some((line) => line.includes('AUDIT_HEADS_FILE')));
});

test('a new key is introduced by a head that both keys sign', async (t) => {
  const { service } = await started(t);
  const { db, auditLog } = service.service.deps;
  const deps = { db, auditLog, secretKey: Buffer.from(TEST_SECRET_KEY) };
  assert.equal(await rotateAuditKey(deps), null);
  await write(service);
  await sealerOf(service, null).run();
  const rotated = (await rotateAuditKey(deps)) ?? assert.fail();
  const found = await verifyLog(service);
  assert.deepEqual(found.faults, []);
  const seal = found.seals.at(-1);
  assert.ok(seal?.kind === 'key' && seal.new_key === rotated.verifierKey);
  const verifiers = [seal.old_key, seal.new_key].map(readVerifierKey);
  assert.equal(verifiedBy(readNote(rotated.checkpoint), verifiers).length, 2);
  await write(service);
  await sealerOf(service, null).run();
  const after = await verifyLog(service);
  assert.deepEqual([after.faults, after.unsealed], [[], 0]);
});

test('who waits for the head while a log is begun sees that log', async (t) => {
  const { service } = await started(t);
  const { db } = service.service.deps;
  const holding = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const beginning = inTransaction(db, async (tx) => {
    const head = await lockHead(tx);
    held.resolve();
    await writeHead(tx, { ...head, log: await insertLog(tx, randomUUID(), 'host/audit/x'), size: 1 }, true);
    await holding.promise;
  });
  await held.promise;
  const waiting = inTransaction(db, (tx) => lockHead(tx));
  await eventually(async () => {
    const [found] = await service.sql(
      `select from pg_stat_activity where wait_event_type = 'Lock' and query like '%audit_log_head%'`,
    );
    return found;
  }, 'the second transaction to wait');
  holding.resolve();
  await beginning;
  const { log, size } = await waiting;
  assert.deepEqual([log?.origin, size], ['host/audit/x', 1]);
});
