// Heads, proofs and the export with evidence: whoever kept a head can verify with nothing but the answers.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import type { EntryProof, EvidenceLine, Seal } from '@castellan/contract/evidence';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { assertRefused } from '@castellan/testing/http/fixture';
import { cleanUp } from '../../../src/cleanup.ts';
import { hashOfEntry, hashOfSeal, personalHash } from '../../../src/modules/evidence/leaves.ts';
import { isConsistent, rootFromInclusion } from '../../../src/platform/evidence/merkle-proofs.ts';
import { rootOf } from '../../../src/platform/evidence/merkle-tree.ts';
import {
  readCheckpoint,
  readNote,
  readVerifierKey,
  verifiedBy,
} from '../../../src/platform/evidence/signed-note.ts';

const service = await startTestService({ after }, { AUDIT_SEALING: 'off' });
const admin = await signIn(service, ADMIN);
const { sealer } = service.service.deps;
const LOG = '/api/v1/audit-logs';
const bytes = (hash: string): Buffer => Buffer.from(hash, 'base64');
const write = (count: number, age = 0): Promise<unknown> =>
  service.sql(
    `insert into audit_logs (id, action, resource_type, details, "timestamp")
     select gen_random_uuid(), 'role_created', 'role', '{"address": "192.0.2.1", "after": {"name": "N"}}',
       now() - $2::float8 * interval '1 day' from generate_series(1, $1)`,
    [count, age],
  );
const headOf = async (query = '') => {
  const answer = await admin.get(`${LOG}/head${query}`);
  assert.equal(answer.status, 200, answer.text);
  assert.match(answer.headers.get('content-type') ?? '', /^text\/plain/);
  return { ...readCheckpoint(readNote(answer.text).text), text: answer.text };
};

/** Asserts that the proof leads from the members of the entry to the root of the head that it has. */
async function assertProved(id: string): Promise<void> {
  const answer = await admin.get(`${LOG}/${id}/proof`);
  assert.equal(answer.status, 200, answer.text);
  const proof: EntryProof = answer.body.data;
  const { personal, ...leaf } = proof.entry;
  assert.ok(personal && proof.salt);
  assert.equal(personalHash(proof.salt, personal), leaf.personal_hash);
  const path = proof.path.map(bytes);
  const root = rootFromInclusion(hashOfEntry(leaf), { index: proof.index, size: proof.seal.count, path });
  assert.equal(root?.toString('base64'), proof.seal.root);
  const head = readCheckpoint(readNote(proof.checkpoint).text);
  const inLog = { index: proof.log_index, size: head.size, path: proof.log_path.map(bytes) };
  assert.deepEqual(rootFromInclusion(hashOfSeal(proof.seal), inLog), head.root);
}

test('before the first seal there is no evidence', async () => {
  const [entry] = await service.sql<{ id: string }>('select id from audit_logs limit 1');
  for (const path of ['head', 'seals', 'consistency?from=0', `${entry?.id}/proof`, 'export?evidence=true'])
    assertRefused(await admin.get(`${LOG}/${path}`), 409, 'not_sealed');
});

test('an entry is proved from its members up to the signed head', async () => {
  for (let seal = 0; seal < 5; seal += 1) {
    await write(seal + 1);
    await sealer.run();
  }
  const rows = await service.sql<{ id: string }>('select id from audit_logs order by position');
  const keys = await service.sql<{ public_key: Buffer }>('select public_key from audit_keys');
  assert.equal(keys.length, 1);
  for (const { id } of rows) await assertProved(id);
  await write(1);
  const [unsealed] = await service.sql<{ id: string }>(
    'select id from audit_logs order by position desc limit 1',
  );
  const waiting = await admin.get(`${LOG}/${unsealed?.id}/proof`);
  assertRefused(waiting, 409, 'not_sealed');
  assert.match(waiting.body.detail, /sealed within some ten seconds/);
});

test('a proof fits together while seals are made', async () => {
  let isOver = false;
  const sealing = (async () => {
    while (!isOver) {
      await write(1);
      await sealer.run();
    }
  })();
  try {
    for (let round = 0; round < 60; round += 1) {
      const rows = await service.sql<{ id: string }>(
        'select id from audit_logs where position <= (select sealed_position from audit_log_head) order by position desc limit 1',
      );
      await assertProved(rows[0]?.id ?? '');
    }
  } finally {
    isOver = true;
    await sealing;
  }
});

test('an entry whose seal was altered is not proved', async () => {
  const [one, other] = await service.sql<{ id: string }>(
    `select e.id from audit_logs e join audit_seals s on e.position between s.from_position and s.to_position
     where s.entries = 3 order by e.position limit 2`,
  );
  assert.equal((await admin.get(`${LOG}/${one?.id}/proof`)).status, 200);
  await service.sql(`update audit_logs set details = details || '{"request_id": "x"}' where id = $1`, [
    other?.id,
  ]);
  for (const id of [one?.id, other?.id]) {
    const answer = await admin.get(`${LOG}/${id}/proof`);
    assertRefused(answer, 409, 'not_sealed');
    assert.match(answer.body.detail, /altered.*castellan audit verify --database/);
  }
  await service.sql(`update audit_logs set details = details - 'request_id' where id = $1`, [other?.id]);
  assert.equal((await admin.get(`${LOG}/${one?.id}/proof`)).status, 200);
});

test('each head begins every later one, and the seals give its root', async () => {
  for (let seal = 0; seal < 6; seal += 1) {
    await write(1);
    await sealer.run();
  }
  const last = await headOf();
  const seals: Seal[] = (await admin.get(`${LOG}/seals?limit=1000`)).body.data;
  assert.equal(seals.length, last.size);
  assert.deepEqual(rootOf(seals.map(hashOfSeal)), last.root);
  const later: Seal[] = (await admin.get(`${LOG}/seals?after=3&limit=2`)).body.data;
  assert.deepEqual(later, seals.slice(4, 6));
  for (let size = 1; size <= last.size; size += 1) {
    const head = await headOf(`?size=${size}`);
    assert.equal(head.size, size);
    const { proof } = (await admin.get(`${LOG}/consistency?from=${size}&to=${last.size}`)).body.data;
    assert.ok(isConsistent(head, last, proof.map(bytes)));
  }
  assertRefused(await admin.get(`${LOG}/head?size=${last.size + 1}`), 422, 'validation_failed');
  assertRefused(await admin.get(`${LOG}/consistency?from=3&to=2`), 422, 'validation_failed');
  assertRefused(await admin.get(`${LOG}/consistency?from=1&to=${last.size + 1}`), 422, 'validation_failed');
  assertRefused(await admin.get(`${LOG}/head?log=${randomUUID()}`), 404, 'seal_log_not_found');
});

test('a tree of more than 256 seals is proved from stored hashes', async () => {
  await service.sql(`update audit_log_head set sealed_at = sealed_at - interval '1 hour'`);
  for (let seal = (await headOf()).size; seal < 600; seal += 1) {
    await service.sql(`update audit_log_head set sealed_at = sealed_at - interval '1 hour'`);
    await sealer.run();
  }
  const last = await headOf();
  for (const size of [1, 255, 256, 257, 511, 512, 513, 600]) {
    const head = await headOf(`?size=${size}`);
    const { proof } = (await admin.get(`${LOG}/consistency?from=${size}&to=600`)).body.data;
    assert.ok(isConsistent(head, last, proof.map(bytes)), String(size));
  }
});

test('the export with evidence has every entry under its seal, and what signs the head', async () => {
  await write(1);
  const answer = await admin.get(`${LOG}/export?evidence=true`);
  assert.equal(answer.status, 200);
  const lines = answer.text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as EvidenceLine);
  assert.equal(lines[0]?.line, 'log');
  const last = lines.at(-1);
  assert.ok(lines[0]?.line === 'log' && last?.line === 'head');
  const note = readNote(last.checkpoint);
  assert.equal(verifiedBy(note, lines[0].keys.map(readVerifierKey)).length, 1);
  let leaves: Buffer[] = [];
  const seals: Seal[] = [];
  for (const line of lines) {
    if (line.line === 'entry') {
      const { line: _, seal, personal, salt, ...leaf } = line;
      assert.equal(seal, seals.length);
      assert.ok(personal && salt && personalHash(salt, personal) === leaf.personal_hash);
      leaves.push(hashOfEntry(leaf));
    }
    if (line.line !== 'seal') continue;
    if ('root' in line.seal && line.seal.kind === 'entries')
      assert.equal(rootOf(leaves).toString('base64'), line.seal.root);
    seals.push(line.seal);
    leaves = [];
  }
  assert.deepEqual(rootOf(seals.map(hashOfSeal)), readCheckpoint(note.text).root);
  const [{ count } = { count: 0 }] = await service.sql<{ count: number }>(
    'select count(*)::integer as count from audit_logs',
  );
  assert.equal(lines.filter(({ line }) => line === 'entry' || line === 'unsealed').length, count);
  assertRefused(await admin.get(`${LOG}/export?evidence=true&action=login_failed`), 422, 'validation_failed');
  const csv = await admin.get(`${LOG}/export?evidence=true`, { headers: { accept: 'text/csv' } });
  assertRefused(csv, 422, 'validation_failed');
});

test('an entry that retention removed is told from one that never was', async () => {
  await sealer.run();
  await write(2, 20);
  await sealer.run();
  const [old] = await service.sql<{ id: string }>(`select id from audit_logs order by "timestamp" limit 1`);
  const retaining = await service.another({ AUDIT_RETENTION_DAYS: '10' });
  await cleanUp(retaining.service.deps);
  assertRefused(await admin.get(`${LOG}/${old?.id}/proof`), 410, 'entry_removed');
  const young = `${'f'.repeat(8)}-ffff-7000-8000-000000000000`;
  assertRefused(await admin.get(`${LOG}/${young}/proof`), 404, 'audit_entry_not_found');
});
