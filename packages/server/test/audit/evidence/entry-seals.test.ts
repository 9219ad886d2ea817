// The list of the audit log says of each entry in which seal it is: also of late, past, erased and inserted ones.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import type { EntrySeal, Sealing } from '@castellan/contract/evidence';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import pg from 'pg';

const service = await startTestService({ after }, { AUDIT_SEALING: 'off' });
const { sealer } = service.service.deps;
const LOG = '/api/v1/audit-logs';
const ABOUT = 'action=role_created';
const insert = `insert into audit_logs (id, action, resource_type) values ($1, 'role_created', 'role')`;

const write = async (): Promise<string> => {
  const id = randomUUID();
  await service.sql(insert, [id]);
  return id;
};
const admin = await signIn(service, ADMIN);
const read = async (query = ''): Promise<Sealing> => {
  const { body } = await admin.get(`${LOG}?sealing=true&size=100&${query}`);
  assert.deepEqual(
    body.sealing.entries.map(({ id }: EntrySeal) => id),
    body.data.map(({ id }: { id: string }) => id),
  );
  return body.sealing;
};
const sealOf = async (id: string): Promise<EntrySeal | undefined> =>
  (await read(ABOUT)).entries.find((one) => one.id === id);
const lastSeal = async (): Promise<number> => ((await read()).head?.seals ?? 0) - 1;

test('without a question there is no answer, and before the first seal no head', async () => {
  await write();
  const { body } = await admin.get(LOG);
  assert.equal('sealing' in body, false);
  const { is_on, head, entries } = await read();
  assert.deepEqual([is_on, head], [false, null]);
  assert.ok(entries.length > 0);
  for (const entry of entries)
    assert.deepEqual([entry.state, entry.log, entry.seal], ['waiting', null, null]);
});

test('an entry waits, then has the number of its seal, and the head is the signed one', async () => {
  await sealer.run();
  const id = await write();
  assert.equal((await sealOf(id))?.state, 'waiting');
  await sealer.run();
  const { head, entries } = await read(ABOUT);
  const { origin, seals, root, sealed_at } = head ?? assert.fail('no head');
  const signed = (await admin.get(`${LOG}/head`)).text;
  assert.ok(signed.startsWith(`${origin}\n${seals}\n${root}\n`));
  assert.ok(Math.abs(Date.now() - Date.parse(sealed_at)) < 3_600_000);
  const found = entries.find((one) => one.id === id);
  const log = origin.slice(origin.lastIndexOf('/') + 1);
  assert.deepEqual(found, { id, state: 'sealed', log, seal: seals - 1, is_erased: false });
  const { body } = await admin.get(`${LOG}/${id}/proof`);
  assert.equal(body.data.log_index, found?.seal);
});

test('an entry that commits after its neighbours waits, then is in a later seal than they are', async () => {
  const late = randomUUID();
  const client = new pg.Client(service.databaseUrl);
  await client.connect();
  await client.query('begin');
  await client.query(insert, [late]);
  const early = await write();
  await sealer.run();
  await client.query('commit');
  await client.end();
  assert.equal((await sealOf(late))?.state, 'waiting');
  const before = await sealOf(early);
  await sealer.run();
  const after = await sealOf(late);
  assert.deepEqual([after?.state, after?.seal], ['sealed', await lastSeal()]);
  assert.ok(Number(after?.seal) > Number(before?.seal));
});

test('an entry at a position that seals have given up was inserted', async () => {
  const [hole] = await service.sql<{ position: string }>(
    `select nextval('audit_logs_position_seq') as position`,
  );
  await write();
  await sealer.run();
  await service.sql(`update audit_missing set since = since - interval '1 hour'`);
  await sealer.run();
  const id = randomUUID();
  await service.sql(
    `insert into audit_logs (id, action, resource_type, position) values ($1, 'role_created', 'role', $2)`,
    [id, hole?.position],
  );
  await sealer.run();
  assert.deepEqual(await sealOf(id), { id, state: 'inserted', log: null, seal: null, is_erased: false });
});

test('an erased entry keeps its seal', async () => {
  const id = await write();
  await sealer.run();
  await service.sql(`update audit_logs set personal_hash = decode('00', 'hex'), salt = null where id = $1`, [
    id,
  ]);
  const found = await sealOf(id);
  assert.deepEqual([found?.state, found?.seal, found?.is_erased], ['sealed', await lastSeal(), true]);
});

test('an entry of an earlier release has the seal of its range of ids', async () => {
  const past = await startTestService({ after }, { AUDIT_SEALING: 'off' });
  const reader = await signIn(past, ADMIN);
  const id = '00000000-0000-4000-8000-000000000001';
  await past.sql(
    `insert into audit_logs (id, action, resource_type, position, salt) values ($1, 'role_created', 'role', null, null)`,
    [id],
  );
  const ask = async (): Promise<EntrySeal[]> =>
    (await reader.get(`${LOG}?sealing=true&${ABOUT}`)).body.sealing.entries;
  assert.deepEqual(
    (await ask()).map(({ state }) => state),
    ['waiting'],
  );
  await past.service.deps.sealer.run();
  const [found] = await ask();
  const { body } = await reader.get(`${LOG}/${id}/proof`);
  assert.deepEqual([found?.state, found?.seal], ['sealed', body.data.log_index]);
  assert.equal(body.data.seal.kind, 'before_sealing');
  await past.sql(
    `insert into audit_logs (id, action, resource_type, position, salt) values ($1, 'role_updated', 'role', null, null)`,
    ['00000000-0000-4000-8000-000000000002'],
  );
  const { sealing } = (await reader.get(`${LOG}?sealing=true&action=role_updated`)).body;
  assert.equal(sealing.entries[0].state, 'inserted');
});

test('an entry at a position whose entry was removed was inserted', async () => {
  const id = await write();
  await sealer.run();
  const [{ position } = {}] = await service.sql<{ position: string }>(
    'select position from audit_logs where id = $1',
    [id],
  );
  assert.ok((await sealer.removeOld(0)) > 0);
  const forged = randomUUID();
  await service.sql(
    `insert into audit_logs (id, action, resource_type, position) values ($1, 'role_created', 'role', $2)`,
    [forged, position],
  );
  assert.equal((await sealOf(forged))?.state, 'inserted');
});
