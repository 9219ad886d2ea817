// The sweep of accounts that nobody verified, on two instances: each slot runs once, each account goes once, and
// nobody goes who verifies meanwhile. It must not call the sweep: it runs by itself, every 600 ms.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { type AgedAccount, insertAccounts, remaining, sweepPassed } from '../../accounts/aged-accounts.ts';
import { paths, registration } from '../../accounts/self-service.ts';
import type { Answer } from '../../client.ts';
import { eventually, startTestService, type TestService } from '../../harness.ts';
import { assertListed, assertSound } from '../../invariants.ts';
import { rounds, scenariosOf } from '../scenario.ts';
import { fire, linksTo, openRange, type Range, times } from './shots.ts';

const scenario = scenariosOf('races');
const INTERVAL_MS = 600;
const everyMoment = { CLEANUP_INTERVAL_MINUTES: String(INTERVAL_MS / 60_000) };

// Three scenarios share it; the others need instances of their own.
const range = await openRange({ after }, everyMoment);

const sweeps = (service: TestService): number =>
  service.logLines.filter((line) => line.includes('clean-up done')).length;

const removals = async (service: TestService): Promise<string[]> => {
  const rows = await service.sql<{ resource_id: string }>(
    "select resource_id from audit_logs where action = 'unverified_account_deleted'",
  );
  return rows.map(({ resource_id }) => resource_id).sort();
};

/** As if they had been opened 73 hours ago. */
const age = (service: TestService, accounts: readonly AgedAccount[]) =>
  service.sql("update users set created_at = now() - interval '73 hours' where id = any($1::uuid[])", [
    accounts.map(({ id }) => id),
  ]);

scenario('two instances share the slots of the sweep: no slot runs twice', async (tally, t) => {
  const one = await startTestService(t, everyMoment);
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

scenario('an instance that starts later keeps to the timetable of the first', async (tally, t) => {
  const one = await startTestService(t, { CLEANUP_INTERVAL_MINUTES: '60' });
  await eventually(() => (sweeps(one) === 1 ? true : undefined), 'the first sweep, at once');
  const [first] = await one.sql('select next_at from job_schedule');
  const two = await one.another();
  await two.service.stop();
  assert.equal(sweeps(two), 0);
  assert.deepEqual(await one.sql('select next_at from job_schedule'), [first]);
  tally.tried(2);
  tally.held(2);
});

scenario(
  'old accounts, more than one batch, are each removed and recorded once by two instances',
  async (tally) => {
    const { service } = range;
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
    tally.held((await assertSound(service)) + (await assertListed(service, range.admin)));
  },
);

type Registered = AgedAccount & { token: string };

async function register(range: Range): Promise<Registered> {
  const body = registration();
  const answer = await range.visitor.post(paths.register, body);
  const [token] = await linksTo(range, body.email as string, 'verification', 1);
  return { id: answer.body.data.id, email: body.email as string, token: token as string };
}

/** Each account was verified by exactly one of its equally many answers and is whole, or by none and is gone. */
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
    assert.ok(verified <= 1, 'one link verified twice');
    assert.equal(there.has(id), verified === 1);
    assert.equal(gone.has(id), verified === 0);
    const roles = await service.sql('select from user_roles where user_id = $1', [id]);
    assert.equal(roles.length, verified, 'a half-deleted account');
  }
  return accounts.length * 4;
}

scenario(
  'of accounts that verify during sweeps each is either verified and whole, or refused and gone',
  async (tally) => {
    const { service } = range;
    for (let round = 0; round < rounds(1, 12); round += 1) {
      const accounts = await Promise.all(times(40, () => register(range)));
      // They become old one after another, from the end, while all verify at once, each with two clicks.
      const ageing = (async () => {
        for (const account of accounts.toReversed()) await age(service, [account]);
      })();
      const answers = await fire(
        range,
        accounts.flatMap(({ token }) => times(2, () => ({ path: paths.verify, json: { token } }))),
        round,
      );
      await ageing;
      await sweepPassed(service);
      tally.tried(answers.length);
      tally.held(await assertKeptOrGone(service, accounts, answers));
    }
    tally.held((await assertSound(service)) + (await assertListed(service, range.admin)));
  },
);

/** Until the next slot is about to begin, by the database's clock. */
const slotNear = (service: TestService, marginMs: number) =>
  eventually(async () => {
    const rows = await service.sql(
      "select from job_schedule where next_at - clock_timestamp() < $1 * interval '1 millisecond'",
      [marginMs],
    );
    return rows.length > 0 || undefined;
  }, 'the next slot of the sweep');

scenario(
  'accounts that verify in the very sweep that finds them old are kept, or never were answered as verified',
  async (tally) => {
    const { service } = range;
    for (let round = 0; round < rounds(4, 30); round += 1) {
      const accounts: Registered[] = await Promise.all(times(16, () => register(range)));
      // A volley takes about 30 ms to be loaded and released: it meets the sweep, earlier or later in each round.
      await slotNear(service, 20 + (round % 6) * 8);
      await age(service, accounts);
      const answers = await fire(
        range,
        accounts.map(({ token }) => ({ path: paths.verify, json: { token } })),
        round,
      );
      await sweepPassed(service);
      tally.tried(16);
      tally.held(await assertKeptOrGone(service, accounts, answers));
    }
    tally.held((await assertSound(service)) + (await assertListed(service, range.admin)));
  },
);
