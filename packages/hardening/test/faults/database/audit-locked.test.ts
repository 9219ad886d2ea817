// The audit log is locked during requests: they get the usual answers, no statement waits for the lock, and every entry
// is written afterwards with the time of its event. It must not judge how fast the service is.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { atEnd, until } from '@castellan/embedded-postgres/testing';
import type { Answer, TestClient } from '@castellan/testing/client';
import { newEmail, PASSWORD, signIn, startTestService, type TestService } from '@castellan/testing/harness';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { type Account, addUser } from '@castellan/testing/sessions/accounts';
import { openPair, type Pair } from '../../fixture.ts';
import { hold, lastFirst, NO_HANG_MS } from './fixture.ts';

const scenario = scenariosOf('faults');

// All change the same row, so one that waited for the audit log with its row lock would make the others wait.
const CHANGES = 24;

type Fixture = { pair: Pair; people: Account[]; outsider: TestClient; role: string };

async function openFixture(t: TestContext): Promise<Fixture> {
  // Sealing reads the entries every ten seconds, beside the requests.
  const pair = await openPair(lastFirst(t), { AUDIT_SEALING: 'off' });
  const people = await Promise.all(Array.from({ length: 6 }, () => addUser(pair.service)));
  const outsider = await signIn(pair.service, await addUser(pair.service));
  const made = await pair.admin.post('/api/v1/roles', { name: 'Contended' });
  assert.equal(made.status, 201, made.text);
  return { pair, people, outsider, role: made.body.data.id };
}

/** Sends many requests of each kind at once to both instances. Returns their statuses in the order of the requests. */
async function volley({ pair, people, outsider, role }: Fixture): Promise<number[]> {
  const { service, twin, admin, at } = pair;
  const answers: Promise<Answer>[] = [
    ...Array.from({ length: CHANGES }, (_, index) =>
      at(admin, index).put(`/api/v1/roles/${role}`, { description: `change ${newEmail()}` }),
    ),
    ...people.map((person, index) => (index % 2 ? service : twin).client().login(person)),
    ...people.map((_, index) =>
      (index % 2 ? service : twin).client().login({ email: newEmail('nobody'), password: PASSWORD }),
    ),
    ...people.map((_, index) => at(outsider, index).get('/api/v1/roles')),
    service.client().request('POST', '/api/v1/auth/login', { headers: { 'x-csrf-token': null } }),
  ];
  return (await Promise.all(answers)).map(({ status }) => status);
}

/** Returns how many statements wait for a lock on the audit log. */
const waitingFor = async ({ sql }: TestService): Promise<number> =>
  (
    await sql<{ count: number }>(
      `select count(*)::int as count from pg_locks where not granted and relation = 'audit_logs'::regclass
         and database = (select oid from pg_database where datname = current_database())`,
    )
  )[0]?.count ?? 0;

/** Returns the largest number of waiting statements seen while `run` ran, and its result. */
async function mostWaiting<T>(
  service: TestService,
  run: () => Promise<T>,
): Promise<{ most: number; result: T }> {
  let isRunning = true;
  let most = 0;
  const watch = (async () => {
    while (isRunning) most = Math.max(most, await waitingFor(service));
  })();
  try {
    return { result: await run(), most };
  } finally {
    isRunning = false;
    await watch;
  }
}

const entriesOf = async ({ sql }: TestService, action: string): Promise<number> =>
  (
    await sql<{ count: number }>('select count(*)::int as count from audit_logs where action = $1', [action])
  )[0]?.count ?? 0;

/** Returns the time of the database's clock. */
const timeOf = async ({ sql }: TestService): Promise<string> =>
  (await sql<{ now: string }>('select clock_timestamp()::text as now'))[0]?.now ?? assert.fail('no time');

scenario(
  'while the audit log is locked under load all answers are as usual, no statement waits for it, and entries are written later with the time of the event',
  async (tally, t) => {
    const fixture = await openFixture(t);
    const { service } = fixture.pair;
    const quiet = await volley(fixture);
    const changesBefore = await entriesOf(service, 'role_updated');
    assert.equal(changesBefore, CHANGES);
    const loginsBefore = await entriesOf(service, 'login_succeeded');

    const held = await hold(t, service.databaseUrl, 'lock table audit_logs in access exclusive mode');
    tally.injected();
    // The first requests wait for the lock until a short timeout; from then on both instances know of it.
    assert.deepEqual(await volley(fixture), quiet);
    await until('nothing waits any more', async () => (await waitingFor(service)) === 0, NO_HANG_MS);
    const afterFirst = await timeOf(service);
    const times = rounds(2, 60);
    for (let time = 0; time < times; time += 1) {
      const { most, result } = await mostWaiting(service, () => volley(fixture));
      assert.deepEqual(result, quiet);
      assert.equal(most, 0, 'statements wait for the locked table');
      tally.tried(quiet.length);
      tally.held(quiet.length + 1);
    }
    const beforeRelease = await timeOf(service);
    await held.release();

    const changes = (times + 1) * CHANGES;
    const logins = (times + 1) * fixture.people.length;
    await until(
      'every entry is written',
      async () =>
        (await entriesOf(service, 'role_updated')) === changesBefore + changes &&
        (await entriesOf(service, 'login_succeeded')) === loginsBefore + logins,
      NO_HANG_MS,
    );
    const changesUntil = async (time: string): Promise<number> =>
      (
        await service.sql(
          `select from audit_logs where action = 'role_updated' and "timestamp" <= $1::timestamptz`,
          [time],
        )
      ).length;
    // A time may be late by the duration of the insert, and is never early.
    const first = changesBefore + CHANGES;
    assert.ok((await changesUntil(beforeRelease)) >= first, 'an entry has the time of its writing');
    assert.ok((await changesUntil(afterFirst)) <= first, 'an entry has a time before it happened');
    tally.held(changes + logins + 2);
  },
);

type Reported = { lost?: Record<string, number>; may_be_written?: Record<string, number> };

/** Returns how many entries of this action the log of a stopped instance reports as lost, and as possibly written. */
function entriesReportedBy({ logLines }: TestService, action: string): { lost: number; doubtful: number } {
  const reported = { lost: 0, doubtful: 0 };
  for (const line of logLines) {
    const { lost, may_be_written }: Reported = JSON.parse(line);
    // Other log lines have one number for all actions.
    if (typeof lost === 'object') reported.lost += lost[action] ?? 0;
    if (typeof may_be_written === 'object') reported.doubtful += may_be_written[action] ?? 0;
  }
  return reported;
}

type Stop = {
  /** The trigger in which a statement is delayed, without a wait for a lock. */
  delayedIn?: string;
  isReleased: boolean;
  /** How the log reports the waiting entries; undefined if they are written. */
  reported: 'lost' | 'doubtful' | undefined;
};

const stops: readonly Stop[] = [
  { isReleased: true, reported: undefined },
  { isReleased: false, reported: 'lost' },
  { delayedIn: 'trigger linger before insert on audit_logs', isReleased: true, reported: 'lost' },
  {
    delayedIn: 'constraint trigger linger after insert on audit_logs deferrable initially deferred',
    isReleased: true,
    reported: 'doubtful',
  },
];

/** Returns the number of database sessions that hold a lock on the audit log or wait for one. */
const sessionsAtTheLog = async ({ sql }: TestService): Promise<number> =>
  (
    await sql(
      `select from pg_locks where relation = 'audit_logs'::regclass
         and database = (select oid from pg_database where datname = current_database())`,
    )
  ).length;

scenario(
  'audit entries that wait at shutdown are written, or reported in the log with their actions and number',
  async (tally, t) => {
    const stopDuring = async ({ delayedIn, isReleased, reported }: Stop): Promise<void> => {
      const service = await startTestService(lastFirst(t), { DATABASE_POOL_SIZE: '3' });
      const people = await Promise.all(Array.from({ length: 6 }, () => addUser(service)));
      if (delayedIn)
        await service.sql(`
          create table lingering as select;
          create function linger() returns trigger language plpgsql as $$ begin
            while exists (select from lingering) loop perform pg_sleep(0.02); end loop;
            return new;
          end $$;
          create ${delayedIn} for each row execute function linger()`);
      const held = await hold(t, service.databaseUrl, 'lock table audit_logs in access exclusive mode');
      tally.injected();
      for (const person of people) assert.equal((await service.client().login(person)).status, 200);
      if (isReleased) await held.release();
      if (delayedIn)
        await until('a statement lingers', async () => (await sessionsAtTheLog(service)) > 0, NO_HANG_MS);
      // The harness reads all tables after its own stop, which would wait for the lock.
      await service.service.stop();
      await held.release();
      if (delayedIn) await service.sql('delete from lingering');
      await until('nobody is at the log', async () => (await sessionsAtTheLog(service)) === 0, NO_HANG_MS);
      const written = await entriesOf(service, 'login_succeeded');
      const { lost, doubtful } = entriesReportedBy(service, 'login_succeeded');
      const all = people.length;
      assert.deepEqual(
        { lost, doubtful },
        { lost: reported === 'lost' ? all : 0, doubtful: reported === 'doubtful' ? all : 0 },
      );
      if (reported === 'doubtful') assert.ok(written === 0 || written === all, `${written} entries`);
      else assert.equal(written, all - lost);
      tally.tried(all);
      tally.held(all + 2);
    };
    await Promise.all(stops.map(stopDuring));
  },
);

scenario(
  'a change that is rolled back leaves no audit entry, even if the audit log was locked',
  async (tally, t) => {
    const { pair, role } = await openFixture(t);
    const { service, admin } = pair;
    const held = await hold(t, service.databaseUrl, 'lock table audit_logs in access exclusive mode');
    tally.injected();
    assert.equal((await admin.put(`/api/v1/roles/${role}`, { description: 'kept' })).status, 200);
    await service.sql(`
      create function refuse() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$;
      create constraint trigger refuse after update on roles deferrable initially deferred
        for each row execute function refuse()`);
    atEnd(t, async () => held.release());
    assert.equal((await admin.put(`/api/v1/roles/${role}`, { description: 'undone' })).status, 500);
    await service.sql('drop trigger refuse on roles; drop function refuse');
    await held.release();
    await until(
      'the first is written',
      async () => (await entriesOf(service, 'role_updated')) === 1,
      NO_HANG_MS,
    );
    assert.equal((await admin.put(`/api/v1/roles/${role}`, { description: 'after' })).status, 200);
    await until(
      'the last is written',
      async () => (await entriesOf(service, 'role_updated')) === 2,
      NO_HANG_MS,
    );
    tally.tried(3);
    tally.held(3);
  },
);
