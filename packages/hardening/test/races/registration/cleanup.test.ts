// The clean-up of unverified accounts on two instances: each slot runs once, each account is deleted once, and an
// account that is verified meanwhile stays. It must not call the clean-up: it runs by itself, every 600 ms.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import {
  type AgedAccount,
  insertAccounts,
  remaining,
  waitForCleanup,
} from '@castellan/testing/accounts/aged-accounts';
import { paths, registration } from '@castellan/testing/accounts/self-service';
import type { Answer } from '@castellan/testing/client';
import { eventually, startTestService, type TestService } from '@castellan/testing/harness';
import { assertListed, assertSound } from '@castellan/testing/invariants';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { type Instances, linksTo, openInstances, sendAtOnce, times } from '../requests.ts';

const scenario = scenariosOf('races');
const INTERVAL_MS = 600;
const frequentSweeps = { CLEANUP_INTERVAL_MINUTES: String(INTERVAL_MS / 60_000) };

// Three scenarios share these instances; the others need their own.
const instances = await openInstances({ after }, frequentSweeps);

const sweeps = (service: TestService): number =>
  service.logLines.filter((line) => line.includes('clean-up done')).length;

const removals = async (service: TestService): Promise<string[]> => {
  const rows = await service.sql<{ resource_id: string }>(
    "select resource_id from audit_logs where action = 'unverified_account_deleted'",
  );
  return rows.map(({ resource_id }) => resource_id).sort();
};

/** Makes the accounts 73 hours old. */
const makeOld = (service: TestService, accounts: readonly AgedAccount[]) =>
  service.sql("update users set created_at = now() - interval '73 hours' where id = any($1::uuid[])", [
    accounts.map(({ id }) => id),
  ]);

scenario('two instances share the slots of the clean-up: no slot runs twice', async (tally, t) => {
  const one = await startTestService(t, frequentSweeps);
  const two = await one.another();
  const before = performance.now();
  const earlier = sweeps(one) + sweeps(two);
  const seen = () => sweeps(one) + sweeps(two) - earlier;
  await eventually(() => seen() >= 6 || undefined, 'six sweeps');
  await Promise.all([one.service.stop(), two.service.stop()]);
  const slots = Math.ceil((performance.now() - before) / INTERVAL_MS) + 1;
  assert.ok(seen() <= slots, `${seen()} sweeps in ${slots} slots`);
  tally.tried(seen());
  tally.held();
});

scenario('an instance that starts later keeps to the schedule of the first', async (tally, t) => {
  const one = await startTestService(t, { CLEANUP_INTERVAL_MINUTES: '60' });
  const scheduled = () => one.sql("select next_at from job_schedule where name = 'clean-up'");
  const first = await eventually(async () => (await scheduled())[0], 'its schedule');
  const two = await one.another();
  await two.service.stop();
  assert.equal(sweeps(one) + sweeps(two), 0);
  assert.deepEqual(await scheduled(), [first]);
  tally.tried(2);
  tally.held(2);
});

scenario(
  'two instances delete and record each old account once, also when there are more than one batch',
  async (tally) => {
    const { service } = instances;
    for (let round = 0; round < rounds(1, 4); round += 1) {
      const before = await removals(service);
      const accounts = await insertAccounts(service, 450, { ageHours: 73 });
      const all = 'all to be gone';
      await eventually(async () => (await remaining(service, accounts)).length === 0 || undefined, all);
      const ids = accounts.map(({ id }) => id);
      assert.deepEqual(await removals(service), [...before, ...ids].sort());
      assert.deepEqual(
        await service.sql('select from user_roles where user_id = any($1::uuid[])', [ids]),
        [],
      );
      tally.tried(450);
      tally.held(450 + 1);
    }
    tally.held((await assertSound(service)) + (await assertListed(service, instances.admin)));
  },
);

type Registered = AgedAccount & { token: string };

async function register(instances: Instances): Promise<Registered> {
  const body = registration();
  const answer = await instances.visitor.post(paths.register, body);
  const [token] = await linksTo(instances, body.email as string, 'verification', 1);
  return { id: answer.body.data.id, email: body.email as string, token: token as string };
}

/**
 * Checks that each account is complete if one of its answers verified it, and deleted if none did. Every account has
 * equally many answers.
 */
async function assertKeptOrGone(
  service: TestService,
  accounts: readonly Registered[],
  answers: readonly Answer[],
): Promise<number> {
  const there = new Set(await remaining(service, [...accounts]));
  const gone = new Set(await removals(service));
  const clicks = answers.length / accounts.length;
  for (const [index, { id }] of accounts.entries()) {
    const own = answers.slice(index * clicks, (index + 1) * clicks);
    for (const { status, text } of own) assert.ok(status === 200 || status === 400, text);
    const verified = own.filter(({ status }) => status === 200).length;
    assert.ok(verified <= 1, 'one link verified the account twice');
    assert.equal(there.has(id), verified === 1);
    assert.equal(gone.has(id), verified === 0);
    const roles = await service.sql('select from user_roles where user_id = $1', [id]);
    assert.equal(roles.length, verified, 'a half-deleted account');
  }
  return accounts.length * 4;
}

scenario(
  'an account that is verified during clean-ups is either verified and complete, or refused and deleted',
  async (tally) => {
    const { service } = instances;
    for (let round = 0; round < rounds(1, 12); round += 1) {
      const accounts = await Promise.all(times(40, () => register(instances)));
      // Makes them old one after another, the last one first, while all verify at once with two requests each.
      const makingOld = (async () => {
        for (const account of accounts.toReversed()) await makeOld(service, [account]);
      })();
      const answers = await sendAtOnce(
        instances,
        accounts.flatMap(({ token }) => times(2, () => ({ path: paths.verify, json: { token } }))),
        round,
      );
      await makingOld;
      await waitForCleanup(service);
      tally.tried(answers.length);
      tally.held(await assertKeptOrGone(service, accounts, answers));
    }
    tally.held((await assertSound(service)) + (await assertListed(service, instances.admin)));
  },
);

/** Waits until the next slot begins within `marginMs`, by the database's clock. */
const untilSlotIsNear = (service: TestService, marginMs: number) =>
  eventually(async () => {
    const rows = await service.sql(
      "select from job_schedule where name = 'clean-up' and next_at - clock_timestamp() < $1 * interval '1 millisecond'",
      [marginMs],
    );
    return rows.length > 0 || undefined;
  }, 'the next slot of the sweep');

scenario(
  'an account that is verified during the clean-up that finds it old is kept, or was never answered as verified',
  async (tally) => {
    const { service } = instances;
    for (let round = 0; round < rounds(2, 30); round += 1) {
      const accounts: Registered[] = await Promise.all(times(16, () => register(instances)));
      // A volley takes about 30 ms from its start to its release, so it reaches the clean-up at another moment in each
      // round.
      await untilSlotIsNear(service, 20 + (round % 6) * 8);
      await makeOld(service, accounts);
      const answers = await sendAtOnce(
        instances,
        accounts.map(({ token }) => ({ path: paths.verify, json: { token } })),
        round,
      );
      await waitForCleanup(service);
      tally.tried(16);
      tally.held(await assertKeptOrGone(service, accounts, answers));
    }
    tally.held((await assertSound(service)) + (await assertListed(service, instances.admin)));
  },
);
