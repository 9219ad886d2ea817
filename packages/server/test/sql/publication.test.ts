// Logical replication, for an upgrade of PostgreSQL or another system: a publication of all tables must stop no write.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startTestService } from '@castellan/testing/harness';
import { renewPositions } from '../../src/cleanup.ts';
import { countLiveSessions } from '../../src/modules/sessions/live-count-store.ts';

const service = await startTestService({ after });

test('every table has a replica identity', async () => {
  const without = await service.sql(`
    select c.relname from pg_class c
    where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace and (c.relreplident = 'n'
      or c.relreplident = 'd' and not exists (select from pg_index i where i.indrelid = c.oid and i.indisprimary))`);
  assert.deepEqual(without, []);
});

test('the jobs that keep numbers delete rows although a publication includes all tables', async () => {
  const { deps } = service.service;
  await service.sql('create publication everything for all tables');
  await service.sql('insert into role_holder_changes default values');
  await renewPositions(deps);
  await countLiveSessions(deps.db);
  assert.deepEqual(await service.sql('select from role_holder_changes where change is null'), []);
});
