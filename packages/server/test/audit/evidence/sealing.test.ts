// Sealing: every entry is in exactly one seal, whoever writes and seals at the same time, and every later change shows.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import pg from 'pg';
import { verifyLog } from './whole-log.ts';

const service = await startTestService({ after }, { AUDIT_SEALING: 'off' });
const { sealer } = service.service.deps;

const insert = `insert into audit_logs (id, action, resource_type, details)
  values ($1, 'role_created', 'role', '{"request_id": "r", "after": {"name": "N"}}')`;
const write = async (count: number): Promise<void> => {
  for (let at = 0; at < count; at += 1) await service.sql(insert, [randomUUID()]);
};

/** Runs statements in a transaction that stays open until `end`. */
async function openTransaction(): Promise<{
  write(): Promise<void>;
  end(how: 'commit' | 'rollback'): Promise<void>;
}> {
  const client = new pg.Client(service.databaseUrl);
  await client.connect();
  await client.query('begin');
  return {
    write: async () => void (await client.query(insert, [randomUUID()])),
    async end(how) {
      await client.query(how);
      await client.end();
    },
  };
}

test('entries are sealed; nothing new makes no seal', async () => {
  await signIn(service, ADMIN);
  await write(3);
  await sealer.run();
  const found = await verifyLog(service);
  assert.deepEqual(found.faults, []);
  assert.ok(found.sealed >= 4);
  assert.deepEqual([found.unsealed, found.missing], [0, 0]);
  await sealer.run();
  assert.deepEqual((await verifyLog(service)).seals, found.seals);
});

test('without entries, a seal an hour says that there were none', async () => {
  const { seals } = await verifyLog(service);
  await service.sql(`update audit_log_head set sealed_at = sealed_at - interval '1 hour'`);
  await sealer.run();
  const found = await verifyLog(service);
  assert.deepEqual(found.faults, []);
  const last = found.seals.at(-1);
  assert.equal(found.seals.length, seals.length + 1);
  assert.ok(last?.kind === 'entries');
  assert.deepEqual(
    [last.from, last.to, last.count, last.root],
    [null, null, 0, '47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='],
  );
});

test('a position of an open transaction is missing, then late', async () => {
  const long = await openTransaction();
  await long.write();
  await write(2);
  await sealer.run();
  const during = await verifyLog(service);
  assert.deepEqual([during.faults, during.missing], [[], 1]);
  await long.end('commit');
  await sealer.run();
  const found = await verifyLog(service);
  assert.deepEqual([found.faults, found.missing, found.unsealed], [[], 0, 0]);
  const last = found.seals.at(-1);
  assert.ok(last?.kind === 'entries' && last.late.length === 1 && last.from === null);
});

test('a position of a rolled-back transaction is missing, and void after an hour', async () => {
  const long = await openTransaction();
  await long.write();
  await long.write();
  await write(1);
  await long.end('rollback');
  await sealer.run();
  assert.equal((await verifyLog(service)).missing, 2);
  await service.sql(`update audit_missing set since = since - interval '1 hour'`);
  await sealer.run();
  const found = await verifyLog(service);
  assert.deepEqual([found.faults, found.missing, found.voided], [[], 0, 2]);
});

test('of a range of missing positions, those that appear are late and the others stay missing', async () => {
  const several = await Promise.all([openTransaction(), openTransaction(), openTransaction()]);
  for (const one of several) await one.write();
  await write(1);
  await sealer.run();
  assert.equal((await verifyLog(service)).missing, 3);
  await several[1]?.end('commit');
  await sealer.run();
  const found = await verifyLog(service);
  assert.deepEqual([found.faults, found.missing], [[], 2]);
  const [row] = await service.sql<{ ranges: string }>('select count(*) as ranges from audit_missing');
  assert.equal(row?.ranges, '2');
  await several[0]?.end('commit');
  await several[2]?.end('rollback');
  await sealer.run();
  const after = await verifyLog(service);
  assert.deepEqual([after.faults, after.missing], [[], 1]);
});

test('two instances that seal while many write leave no entry out and seal none twice', async () => {
  const second = await service.another();
  let isWriting = true;
  const writers = Array.from({ length: 4 }, async (_, writer) => {
    const client = new pg.Client(service.databaseUrl);
    await client.connect();
    for (let at = 0; at < 60; at += 1) {
      await client.query('begin');
      for (let entry = 0; entry <= (at + writer) % 3; entry += 1) await client.query(insert, [randomUUID()]);
      await client.query(at % 7 === writer ? 'rollback' : 'commit');
    }
    await client.end();
  });
  const sealers = [sealer, second.service.deps.sealer].map(async (one) => {
    while (isWriting) await one.run();
  });
  await Promise.all(writers);
  isWriting = false;
  await Promise.all(sealers);
  await sealer.run();
  const found = await verifyLog(service);
  assert.deepEqual([found.faults, found.unsealed], [[], 0]);
  await service.sql(`update audit_missing set since = since - interval '1 hour'`);
  await sealer.run();
  const settled = await verifyLog(service);
  assert.deepEqual([settled.faults, settled.missing], [[], 0]);
});

test('sealing locks out no writer, and waits for none', async () => {
  const client = new pg.Client(service.databaseUrl);
  await client.connect();
  await client.query('begin; select * from audit_log_head for no key update');
  await write(2);
  // Another one seals, so this one has nothing to do.
  const before = (await verifyLog(service)).seals.length;
  await sealer.run();
  assert.equal((await verifyLog(service)).seals.length, before);
  await client.query('rollback');
  await client.query('begin');
  await client.query(insert, [randomUUID()]);
  await sealer.run();
  assert.equal((await verifyLog(service)).seals.length, before + 1);
  await client.query('rollback');
  await client.end();
});

test('many entries make several seals', async () => {
  await service.sql(
    `insert into audit_logs (id, action, resource_type, details)
     select gen_random_uuid(), 'role_created', 'role', '{"after": {"name": "N"}}' from generate_series(1, 9000)`,
  );
  await sealer.run();
  const found = await verifyLog(service);
  assert.deepEqual([found.faults, found.unsealed], [[], 0]);
  const counts = found.seals.slice(-3).map((seal) => ('count' in seal ? seal.count : null));
  assert.deepEqual(counts.slice(0, 2), [4_096, 4_096]);
});

test('every change of a sealed entry, and every entry that comes later, shows', async () => {
  const [entry] = await service.sql<{ id: string; position: string }>(
    `select id, position from audit_logs where action = 'role_created' order by position limit 1`,
  );
  const [hole] = await service.sql<{ position: string }>(
    `select (jsonb_path_query(content::jsonb, '$.void[0][0]')) #>> '{}' as position from audit_seals where content like '%"void":[[%'`,
  );
  assert.ok(entry && hole);
  const tamperings: Record<string, string> = {
    'another actor': `update audit_logs set actor_id = gen_random_uuid() where id = '${entry.id}'`,
    'another time': `update audit_logs set "timestamp" = "timestamp" + interval '1 microsecond' where id = '${entry.id}'`,
    'other details': `update audit_logs set details = details || '{"request_id": "x"}' where id = '${entry.id}'`,
    'another name': `update audit_logs set resource_name = 'x' where id = '${entry.id}'`,
    'another salt': `update audit_logs set salt = gen_random_uuid() where id = '${entry.id}'`,
    deletion: `delete from audit_logs where id = '${entry.id}'`,
    'another place': `update audit_logs set position = position + 1000000 where id = '${entry.id}'`,
    'insertion in a void': `insert into audit_logs (id, action, resource_type, position) values (gen_random_uuid(), 'a', 'b', ${hole.position})`,
    'insertion in a sealed place': `insert into audit_logs (id, action, resource_type, position) values (gen_random_uuid(), 'a', 'b', ${entry.position})`,
    'another seal': `update audit_seals set content = replace(content, '"count":', '"count":1') where number = 1`,
  };
  for (const [what, statement] of Object.entries(tamperings)) {
    const client = new pg.Client(service.databaseUrl);
    await client.connect();
    await client.query('begin');
    await client.query(statement);
    const found = await verifyLog({ sql: async (text, values) => (await client.query(text, values)).rows });
    assert.notDeepEqual(found.faults, [], what);
    await client.query('rollback');
    await client.end();
  }
  assert.deepEqual((await verifyLog(service)).faults, []);
});
