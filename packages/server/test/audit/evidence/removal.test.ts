// What may be removed from a sealed log, and leaves it whole: old entries with their seals, personal data, entries of earlier releases.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { ADMIN, signIn, startTestService, type TestService } from '@castellan/testing/harness';
import { addPerson } from '@castellan/testing/users/people';
import { cleanUp } from '../../../src/cleanup.ts';
import { verifyLog } from './whole-log.ts';

const off = { AUDIT_SEALING: 'off' };

/** Inserts entries `days` old. Those of earlier releases have neither position nor salt. */
const write = (service: TestService, days: number, count: number, isPast = false): Promise<unknown> =>
  service.sql(
    `insert into audit_logs (id, action, resource_type, details, "timestamp"${isPast ? ', position, salt' : ''})
     select gen_random_uuid(), 'role_created', 'role', '{"address": "192.0.2.1", "after": {"name": "N"}}',
       now() - $1::float8 * interval '1 day' ${isPast ? ', null, null' : ''} from generate_series(1, $2)`,
    [days, count],
  );
const countEntries = async (service: TestService): Promise<number> =>
  (await service.sql('select from audit_logs')).length;

test('retention removes the entries of whole seals, and a seal says which', async (t) => {
  const service = await startTestService(t, { ...off, AUDIT_SEALING: 'on', AUDIT_RETENTION_DAYS: '10' });
  const { sealer } = service.service.deps;
  await write(service, 20, 5);
  await sealer.run();
  await write(service, 20, 3);
  await write(service, 5, 2);
  await sealer.run();
  await write(service, 30, 2);
  const before = await countEntries(service);
  await cleanUp(service.service.deps);
  // The second seal has young entries, the last entries have no seal.
  const found = await verifyLog(service);
  assert.deepEqual([found.faults, before - (await countEntries(service))], [[], found.removed]);
  assert.ok(found.removed >= 5);
  const last = found.seals.at(-1);
  assert.ok(last?.kind === 'removed');
  await sealer.run();
  await cleanUp(service.service.deps);
  assert.deepEqual((await verifyLog(service)).faults, []);
});

test('nobody with the database alone has the service remove young entries', async (t) => {
  const service = await startTestService(t, off);
  const { sealer } = service.service.deps;
  await write(service, 0, 3);
  await write(service, 0, 2, true);
  await sealer.run();
  await write(service, 20, 4);
  await sealer.run();
  const before = await countEntries(service);
  const claim = `update audit_seals set last_entry_at = now() - interval '30 days' where kind <> 'removed'`;
  const forgeries = [
    ['select 1', 'select 1'],
    [
      `create table kept as table audit_logs; update audit_logs set "timestamp" = now() - interval '30 days'`,
      `update audit_logs e set "timestamp" = k."timestamp" from kept k where k.id = e.id; drop table kept`,
    ],
    [
      `create table kept as table audit_logs; update audit_logs set salt = null`,
      `update audit_logs e set salt = k.salt from kept k where k.id = e.id; drop table kept`,
    ],
    [
      `create table kept as table audit_seals;
       update audit_seals set content = regexp_replace(content, '"at":"20', '"at":"19'), leaf = sha256(convert_to(content, 'UTF8'))`,
      `update audit_seals s set content = k.content, leaf = k.leaf from kept k where k.log = s.log and k.number = s.number; drop table kept`,
    ],
  ] as const;
  for (const [forge, bringBack] of forgeries) {
    await service.sql(forge);
    // The last seal is old: it is what may be removed.
    await service.sql(`${claim} and number < 2`);
    assert.equal(await sealer.removeOld(25), 0, forge);
    await service.sql(bringBack);
    const found = await verifyLog(service);
    assert.deepEqual([found.faults, found.removed, await countEntries(service)], [[], 0, before], forge);
  }
  assert.ok(service.logLines.some((line) => line.includes('entries of the audit log are not removed')));
  await service.sql(claim);
  assert.equal(await sealer.removeOld(10), 4);
  assert.deepEqual((await verifyLog(service)).faults, []);
  // By the times of the seals, everything is.
  await service.sql(claim);
  assert.equal(await sealer.removeOld(0), before - 4);
  assert.deepEqual((await verifyLog(service)).faults, []);
});

test('without sealing, entries that are in no seal go one by one, and sealed ones with their seals', async (t) => {
  const service = await startTestService(t, { ...off, AUDIT_RETENTION_DAYS: '10' });
  await write(service, 20, 3);
  await write(service, 20, 2, true);
  await service.service.deps.sealer.run();
  await write(service, 20, 4);
  await write(service, 5, 1);
  await cleanUp(service.service.deps);
  const found = await verifyLog(service);
  assert.deepEqual(
    [found.faults, (await service.sql(`select from audit_logs where action = 'role_created'`)).length],
    [[], 1],
  );
  // What was removed before its seal left holes.
  await service.service.deps.sealer.run();
  const sealed = await verifyLog(service);
  assert.deepEqual([sealed.faults, sealed.missing], [[], 4]);
});

test('entries of earlier releases are sealed by their ids, in batches', async (t) => {
  const service = await startTestService(t, off);
  await write(service, 1, 5_000, true);
  await service.service.deps.sealer.run();
  const found = await verifyLog(service);
  assert.deepEqual([found.faults, found.unsealed], [[], 0]);
  const past = found.seals.filter((seal) => seal.kind === 'before_sealing');
  assert.deepEqual(
    past.map(({ count }) => count),
    [4_096, 904],
  );
  // An entry without a position that comes later is in no seal.
  await write(service, 1, 1, true);
  await service.service.deps.sealer.run();
  assert.equal((await verifyLog(service)).faults.length, 1);
});

test('an erased entry keeps its leaf, and no hash of its data can be tried', async (t) => {
  const service = await startTestService(t, off);
  const admin = await signIn(service, ADMIN);
  const { sealer } = service.service.deps;
  const person = await addPerson(service);
  await signIn(service, person);
  await service.sql(
    `insert into audit_logs (id, action, resource_type, resource_id, resource_name, details, position, salt)
     values ($1, 'login_succeeded', 'security_event', $2, $3, $4, null, null), ($5, 'login_succeeded', 'security_event', $2, $3, $4, null, null)`,
    [
      randomUUID(),
      person.id,
      person.email,
      JSON.stringify({ email: person.email, address: '192.0.2.9' }),
      randomUUID(),
    ],
  );
  await sealer.run();
  // One more that is sealed after its erasure.
  await signIn(service, person);
  const before = await verifyLog(service);
  assert.deepEqual(before.faults, []);
  const answer = await admin.post(`/api/v1/users/${person.id}/erase`);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  const erased = await service.sql<{ salt: string | null; details: { email?: string } }>(
    `select coalesce(e.salt, s.salt) as salt, details from audit_logs e left join audit_salts s on s.entry_id = e.id
     where e.personal_hash is not null`,
  );
  assert.ok(erased.length >= 4);
  assert.deepEqual([...new Set(erased.map(({ salt }) => salt))], [null]);
  const text = JSON.stringify(await service.sql('select * from audit_logs'));
  assert.ok(!text.includes(person.email));
  assert.deepEqual((await verifyLog(service)).faults, []);
  await sealer.run();
  const found = await verifyLog(service);
  assert.deepEqual([found.faults, found.unsealed], [[], 0]);
  // What is not personal is still verified.
  await service.sql(
    `update audit_logs set details = details || '{"session_id": "00000000-0000-4000-8000-000000000000"}' where personal_hash is not null`,
  );
  assert.notDeepEqual((await verifyLog(service)).faults, []);
});

test('an erasure uses the lists of members that the seal was made with', async (t) => {
  const service = await startTestService(t, off);
  const admin = await signIn(service, ADMIN);
  const person = await addPerson(service);
  await service.service.deps.sealer.run();
  // As a release seals that declares no member of users open.
  await service.sql(`update audit_member_lists set id = 'other'`);
  await service.sql(`update audit_seals set lists_id = 'other' where lists_id is not null`);
  const answer = await admin.post(`/api/v1/users/${person.id}/erase`);
  assert.equal(answer.status, 200);
  await service.service.deps.sealer.run();
  assert.deepEqual((await verifyLog(service)).faults, []);
});
