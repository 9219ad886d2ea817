// The export with evidence: what stands where no entry may stand, and what happens to the log while it is read.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EvidenceLine } from '@castellan/contract/evidence';
import { startTestService, TEST_SECRET_KEY, type TestService } from '@castellan/testing/harness';
import { rotateAuditKey } from '../../../src/modules/evidence/heads/rotation.ts';
import { evidenceLines } from '../../../src/modules/evidence/lines.ts';
import { readCheckpoint, readNote } from '../../../src/platform/evidence/signed-note.ts';

const off = { AUDIT_SEALING: 'off' };

const write = (service: TestService, count: number, days = 0): Promise<unknown> =>
  service.sql(
    `insert into audit_logs (id, action, resource_type, "timestamp")
     select gen_random_uuid(), 'role_created', 'role', now() - $2::float8 * interval '1 day' from generate_series(1, $1)`,
    [count, days],
  );
const insertAt = (service: TestService, position: number | null): Promise<unknown> =>
  service.sql(
    `insert into audit_logs (id, action, resource_type, position) values (gen_random_uuid(), 'role_created', 'role', $1)`,
    [position],
  );

/** Returns the lines. `between` runs before each batch, with its number from 0. */
async function linesOf(
  { service }: TestService,
  between: (batch: number) => Promise<unknown> = async () => undefined,
): Promise<EvidenceLine[]> {
  const { db } = service.deps;
  let batch = 0;
  const lines: EvidenceLine[] = [];
  const deps = { db, secretKey: Buffer.from(TEST_SECRET_KEY) };
  for await (const line of evidenceLines(deps, async (read) => {
    await between(batch);
    batch += 1;
    return read(db);
  }))
    lines.push(line);
  return lines;
}

const unsealedOf = (lines: readonly EvidenceLine[]): (number | null)[] =>
  lines.flatMap((line) => (line.line === 'unsealed' ? [line.position] : []));

/** Asserts what the reader of an export relies on: entries stand under their seal, and the head counts the seals. */
function assertWhole(lines: readonly EvidenceLine[]): void {
  const removed = new Set<number>();
  let [seals, entries] = [0, 0];
  for (const line of lines) {
    if (line.line === 'entry') entries += 1;
    if (line.line === 'head') assert.equal(readCheckpoint(readNote(line.checkpoint).text).size, seals);
    if (line.line !== 'seal') continue;
    const { seal, is_removed } = line;
    assert.equal(seal.number, seals);
    if ('count' in seal) assert.equal(entries, is_removed ? 0 : seal.count, `seal ${seals}`);
    if (is_removed) removed.add(seal.number);
    if (seal.kind === 'removed')
      for (const [first, last] of seal.seals)
        for (let number = first; number <= last; number += 1) removed.delete(number);
    seals += 1;
    entries = 0;
  }
  assert.deepEqual([...removed], [], 'each seal without its entries is named by a later one');
}

test('entries at positions that none may have are exported as unsealed', async (t) => {
  const service = await startTestService(t, off);
  const { sealer } = service.service.deps;
  await write(service, 2);
  await service.sql(`select nextval('audit_logs_position_seq'), nextval('audit_logs_position_seq')`);
  await write(service, 1);
  await sealer.run();
  const [hole] = await service.sql<{ from: number; to: number }>(
    'select from_position::integer as "from", to_position::integer as "to" from audit_missing',
  );
  assert.ok(hole && hole.to === hole.from + 1);
  await service.sql(`update audit_missing set since = since - interval '1 hour'`);
  await sealer.run();
  assert.deepEqual(unsealedOf(await linesOf(service)), []);
  const odd = [hole.to, 0, -1, -9_007_199_254_740_991, null, 1_000_000];
  for (const position of odd) await insertAt(service, position);
  const lines = await linesOf(service);
  assertWhole(lines);
  const order = (a: number | null, b: number | null): number => (a ?? 0.5) - (b ?? 0.5);
  assert.deepEqual(unsealedOf(lines).sort(order), [...odd].sort(order));
  // Each has what its leaf would hash.
  for (const line of lines) if (line.line === 'unsealed') assert.ok(line.salt && line.personal_hash);
});

test('entries where others were removed, between seals, and where the database says that none is missing are exported', async (t) => {
  const service = await startTestService(t, off);
  const { sealer } = service.service.deps;
  const past = (id: string): Promise<unknown> =>
    service.sql(
      `insert into audit_logs (id, action, resource_type, position, salt, "timestamp")
       values ($1, 'role_created', 'role', null, null, now() - interval '20 days')`,
      [id],
    );
  const idOf = (last: number): string => `00000000-0000-4000-8000-${String(last).padStart(12, '0')}`;
  await past(idOf(2));
  await past(idOf(4));
  await write(service, 3, 20);
  await service.sql(`update audit_logs set "timestamp" = now() - interval '20 days'`);
  await sealer.run();
  assert.ok((await sealer.removeOld(10)) >= 5);
  await service.sql(`select nextval('audit_logs_position_seq')`);
  await write(service, 1);
  await sealer.run();
  assert.deepEqual(unsealedOf(await linesOf(service)), []);
  const [gone] = await service.sql<{ at: number }>(
    'delete from audit_missing returning from_position::integer as at',
  );
  assert.ok(gone);
  await insertAt(service, 2);
  await insertAt(service, gone.at);
  await past(idOf(1));
  await past(idOf(3));
  const lines = await linesOf(service);
  assertWhole(lines);
  const found = unsealedOf(lines).sort((a, b) => (a ?? 0) - (b ?? 0));
  assert.deepEqual(found, [null, null, 2, gone.at]);
});

test('an export is whole while seals are made, entries are removed and the key is replaced', async (t) => {
  const service = await startTestService(t, off);
  const { sealer, db, auditLog } = service.service.deps;
  for (let seal = 0; seal < 4; seal += 1) {
    await write(service, 3, 20);
    await sealer.run();
  }
  await write(service, 2);
  await sealer.run();
  const batches = await countBatches(service);
  // Each event, before each batch of the export.
  for (const what of ['removal', 'seal', 'rotation'] as const)
    for (let at = 0; at < batches; at += 1) {
      await write(service, 1, 20);
      await sealer.run();
      const lines = await linesOf(service, async (batch) => {
        if (batch !== at) return;
        if (what === 'removal') assert.ok((await sealer.removeOld(10)) > 0);
        if (what === 'rotation')
          assert.ok(await rotateAuditKey({ db, auditLog, secretKey: Buffer.from(TEST_SECRET_KEY) }));
        await write(service, 1);
        await sealer.run();
      });
      assertWhole(lines);
    }
});

test('an export that takes long has the seals that are made in the meantime', async (t) => {
  const service = await startTestService(t, off);
  const { sealer } = service.service.deps;
  await write(service, 2);
  await sealer.run();
  let made = 0;
  const lines = await linesOf(service, async (batch) => {
    if (batch < 4 || made === 3) return;
    made += 1;
    await write(service, 2);
    await sealer.run();
  });
  assertWhole(lines);
  assert.equal(made, 3);
  assert.equal(lines.filter(({ line }) => line === 'seal').length, 4);
  assert.deepEqual(unsealedOf(lines), []);
});

test('an export is whole if some of the seals that it has shown are removed', async (t) => {
  const service = await startTestService(t, off);
  const { sealer } = service.service.deps;
  for (let seal = 0; seal < 3; seal += 1) {
    await write(service, 2, 20);
    await sealer.run();
  }
  // After the first seal, before the second.
  const lines = await linesOf(service, async (batch) => {
    if (batch === 5) assert.equal(await sealer.removeOld(10), 6);
  });
  assert.deepEqual(
    lines.flatMap((line) => (line.line === 'seal' ? [line.is_removed] : [])),
    [false, true, true, false],
  );
  assertWhole(lines);
});

async function countBatches(service: TestService): Promise<number> {
  let count = 0;
  await linesOf(service, async () => {
    count += 1;
  });
  return count;
}
