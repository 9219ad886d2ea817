// Reads on a standby: a real one, whose replay is paused, that is stopped, and that is in truth a primary.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '@castellan/embedded-postgres';
import {
  atEnd,
  dataDirWithCluster,
  query,
  throwawaySettings,
  until,
} from '@castellan/embedded-postgres/testing';
import type { Answer, TestClient } from '@castellan/testing/client';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';

const urlOf = ({ connection }: EmbeddedPostgres): string =>
  `postgres://${connection.user}@localhost:${connection.port}/${connection.database}?host=${encodeURIComponent(connection.host)}`;

const audit = '/api/v1/audit-logs?action=role_created&size=1';
const newest = { headers: { 'cache-control': 'no-cache' } };
const agedPaths = [
  audit,
  '/api/v1/audit-logs/export',
  '/api/v1/dashboard',
  '/api/v1/dashboard/stats',
  '/api/v1/dashboard/activity',
  '/api/v1/dashboard/attention',
];

const ageOf = (answer: Answer): string | null => {
  assert.equal(answer.status, 200, answer.text);
  return answer.headers.get('age');
};
const latestOf = (answer: Answer): string | undefined => answer.body.data[0]?.details?.after?.name;

async function createRole(client: TestClient, name: string): Promise<void> {
  const created = await client.post('/api/v1/roles', { name });
  assert.equal(created.status, 201, created.text);
}

test('lists for people are read on the standby and tell their age; nothing else is, and its failures are not seen', async (t) => {
  // Both begin as copies of one cluster that was shut down, which is what a base backup is.
  const [primaryDir, standbyDir] = [await dataDirWithCluster(t), await dataDirWithCluster(t)];
  const primary = await startEmbeddedPostgres({ dataDir: primaryDir, settings: throwawaySettings });
  atEnd(t, () => primary.stop());
  writeFileSync(join(standbyDir, 'postgres', 'standby.signal'), '');
  const { host, port, user } = primary.connection;
  const standby = await startEmbeddedPostgres({
    dataDir: standbyDir,
    settings: { ...throwawaySettings, primary_conninfo: `host='${host}' port=${port} user=${user}` },
  });
  atEnd(t, () => standby.stop());
  const service = await startTestService(
    { after: (hook) => atEnd(t, hook) },
    {
      DATABASE_URL: urlOf(primary),
      DATABASE_REPLICA_URL: urlOf(standby),
      DATABASE_REPLICA_MAX_AGE: '2',
    },
  );
  const client = await signIn(service, ADMIN);

  await createRole(client, 'First');
  for (const path of agedPaths) {
    await until(`${path} is read on the standby`, async () => ageOf(await client.get(path)) !== null);
    assert.equal(ageOf(await client.get(path, newest)), null, path);
  }
  assert.equal(ageOf(await client.get('/api/v1/users')), null);
  assert.equal(ageOf(await client.get('/api/v1/users/me')), null);

  await query(standby.connection, 'select pg_wal_replay_pause()');
  await until('the replay is paused', async () => {
    const [row] = await query(standby.connection, 'select pg_get_wal_replay_pause_state() as state');
    return row?.state === 'paused';
  });
  await createRole(client, 'Second');
  assert.equal(latestOf(await client.get(audit, newest)), 'Second');
  // Old and with its age, until it is too old.
  await until('the standby is too far behind', async () => {
    const answer = await client.get(audit);
    const age = ageOf(answer);
    assert.equal(latestOf(answer), age === null ? 'Second' : 'First');
    return age === null;
  });
  await query(standby.connection, 'select pg_wal_replay_resume()');
  await until('the standby has caught up', async () => ageOf(await client.get(audit)) !== null);

  await standby.stop();
  for (const path of agedPaths) assert.equal(ageOf(await client.get(path)), null, path);
  const warnings = service.logLines.filter((line) => line.includes('DATABASE_REPLICA_URL failed'));
  assert.equal(warnings.length, 1, warnings.join(''));

  const mistaken = await service.another({ DATABASE_REPLICA_URL: urlOf(primary) });
  const other = await signIn(mistaken, ADMIN);
  assert.equal(ageOf(await other.get(audit)), null);
  assert.ok(mistaken.logLines.some((line) => line.includes('does not lead to a standby')));
});
