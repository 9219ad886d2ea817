// The sweep on several instances: each slot runs once, each account goes once, however many there are.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually, startTestService, type TestService } from '../harness.ts';
import { insertAccounts, remaining } from './aged-accounts.ts';

const INTERVAL_MS = 600;
const everyMoment = { CLEANUP_INTERVAL_MINUTES: String(INTERVAL_MS / 60_000) };
const sweeps = (service: TestService) =>
  service.logLines.filter((line) => line.includes('clean-up done')).length;

test('two instances share the slots: no slot runs twice', async (t) => {
  const before = performance.now();
  const one = await startTestService(t, everyMoment);
  const two = await one.another();
  await eventually(() => sweeps(one) + sweeps(two) >= 6 || undefined, 'six sweeps');
  await Promise.all([one.service.stop(), two.service.stop()]);
  const slots = Math.ceil((performance.now() - before) / INTERVAL_MS) + 1;
  assert.ok(sweeps(one) + sweeps(two) <= slots, `${sweeps(one)} + ${sweeps(two)} sweeps in ${slots} slots`);
});

test('450 old accounts, more than one batch, are each removed and recorded once by two instances', async (t) => {
  const one = await startTestService(t, everyMoment);
  await one.another();
  const accounts = await insertAccounts(one, 450, { ageHours: 73 });
  await eventually(async () => (await remaining(one, accounts)).length === 0 || undefined, 'all to be gone');
  const entries = await one.sql<{ resource_id: string }>(
    `select resource_id from audit_logs where action = 'unverified_account_deleted'`,
  );
  assert.deepEqual(
    entries.map((entry) => entry.resource_id).sort(),
    accounts.map((account) => account.id).sort(),
  );
});

test('an instance that starts later keeps to the timetable of the first', async (t) => {
  const one = await startTestService(t, { CLEANUP_INTERVAL_MINUTES: '60' });
  await eventually(() => (sweeps(one) === 1 ? true : undefined), 'the first sweep, at once');
  const [first] = await one.sql('select next_at from job_schedule');
  const two = await one.another();
  await two.service.stop();
  assert.equal(sweeps(two), 0);
  assert.deepEqual(await one.sql('select next_at from job_schedule'), [first]);
});
