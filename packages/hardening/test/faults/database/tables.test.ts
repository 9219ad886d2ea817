// One table is locked, missing or refuses writes: requests that do not need it succeed, the others are refused until
// the repair. It must repair the table before it checks the database.
import assert from 'node:assert/strict';
import { suite, type TestContext } from 'node:test';
import { atEnd, until } from '@castellan/embedded-postgres/testing';
import { ADMIN, eventually, newEmail, PASSWORD, signIn, type TestService } from '@castellan/testing/harness';
import { assertRefused } from '@castellan/testing/http/fixture';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { checkAfter, hold, inTime, NO_HANG_MS, openTarget, untilSucceeded } from './fixture.ts';
import { type LoadTarget, startLoad } from './load.ts';

const scenario = scenariosOf('faults');

type Breakage = { name: string; begin(t: TestContext, service: TestService): Promise<() => Promise<void>> };

const bySql = (name: string, broken: string, mended: string): Breakage => ({
  name,
  async begin(t, { sql }) {
    await sql(broken);
    let undone: Promise<unknown> | undefined;
    const undo = async (): Promise<void> => {
      undone ??= sql(mended);
      await undone;
    };
    atEnd(t, undo);
    return undo;
  },
});
const gone = (table: string): Breakage =>
  bySql(
    'gone',
    `alter table ${table} rename to ${table}_away`,
    `alter table ${table}_away rename to ${table}`,
  );
const locked = (table: string): Breakage => ({
  name: 'locked',
  begin: async (t, { databaseUrl }) =>
    (await hold(t, databaseUrl, `lock table ${table} in access exclusive mode`)).release,
});
const raising = (table: string): Breakage =>
  bySql(
    'raising',
    `create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no room'; end $$;
     create trigger refuse before insert on ${table} for each row execute function refuse()`,
    `drop trigger refuse on ${table}; drop function refuse`,
  );
const unchecked = (table: string): Breakage =>
  bySql(
    'against a check',
    `alter table ${table} add constraint never check (false) not valid`,
    `alter table ${table} drop constraint never`,
  );

const entries = async ({ sql }: TestService, action: string): Promise<number> =>
  (await sql<{ count: number }>('select count(*)::int from audit_logs where action = $1', [action]))[0]
    ?.count ?? 0;

const lossesIn = ({ service, twin }: LoadTarget): number =>
  [...service.logLines, ...twin.logLines].filter((line) => /audit entr(y|ies) (lost|delayed)/.test(line))
    .length;

suite('tables', { concurrency: 2 }, () => {
  scenario(
    'an audit log that is locked, missing or refuses entries changes no answer, is reported in the log, and is written again later',
    async (tally, t) => {
      const target = await openTarget(t);
      const { service } = target;
      const load = await startLoad(t, target, tally);
      const table = 'audit_logs';
      for (let round = 0; round < rounds(1, 4); round += 1)
        for (const fault of [gone(table), raising(table), unchecked(table), locked(table)]) {
          await untilSucceeded(load, 40);
          const refusals = load.refused;
          const losses = lossesIn(target);
          const mend = await fault.begin(t, service);
          tally.injected();
          const denied = await inTime(
            fault.name,
            service.client().login({ email: newEmail('nobody'), password: PASSWORD }),
          );
          assert.equal(denied.status, 422, denied.text);
          const bare = await service
            .client()
            .request('POST', '/api/v1/auth/login', { headers: { 'x-csrf-token': null } });
          assert.equal(bare.status, 403, bare.text);
          await untilSucceeded(load, 60);
          assert.equal(load.refused, refusals, `${fault.name}: an answer depended on the audit log`);
          assert.ok(lossesIn(target) > losses, `${fault.name}: the loss is not in the log`);
          // A refused caller does not wait until the service gives up the lock on the audit log.
          if (fault.name === 'locked')
            assert.ok(service.logLines.some((line) => line.includes('audit entry delayed')));
          await mend();
          const before = await entries(service, 'login_succeeded');
          await eventually(
            async () => (await entries(service, 'login_succeeded')) > before || undefined,
            `${fault.name}: entries again`,
          );
          tally.tried(2);
          tally.held(5);
        }
      await checkAfter(target, load, tally, { audited: false });
    },
  );

  scenario(
    'a limiter without its table refuses its routes, and counts again after the repair',
    async (tally, t) => {
      const limits = {
        RATE_LIMIT_LOGIN: '1000/hour',
        RATE_LIMIT_REGISTER: '1000/hour',
        RATE_LIMIT_PASSWORD_RESET: '1000/hour',
        RATE_LIMIT_NEW_ACCESS_TOKEN: '1000/hour',
        RATE_LIMIT_RESEND_VERIFICATION: '1000/hour',
        CONCURRENT_SESSION_LIMIT: '0',
      };
      const { service, twin } = await openTarget(t, limits);
      const account = { password: PASSWORD, first_name: 'Ada', last_name: 'Lovelace' };
      const admin = await signIn(service, ADMIN);
      const limited = (url: string): Promise<{ status: number; text: string }[]> =>
        Promise.all(
          (
            [
              ['login', ADMIN],
              ['register', { email: newEmail('limited'), ...account }],
              ['password-reset/request', { email: ADMIN.email }],
              ['resend-verification-email', { email: newEmail('limited') }],
              ['new_access_token', { refresh_token: admin.refreshToken }],
            ] as const
          ).map(([path, json]) => service.client().at(url).post(`/api/v1/auth/${path}`, json)),
        );
      for (let round = 0; round < rounds(1, 5); round += 1)
        for (const fault of [gone('rate_limits'), locked('rate_limits'), raising('rate_limits')]) {
          const mend = await fault.begin(t, service);
          tally.injected();
          const answers = (
            await inTime(fault.name, Promise.all([limited(service.url), limited(twin.url)]))
          ).flat();
          for (const answer of answers) assert.ok(answer.status >= 500, `${fault.name}: ${answer.text}`);
          assert.equal((await admin.get('/api/v1/users/me')).status, 200, 'a route without a limit');
          await mend();
          for (const answer of [...(await limited(service.url)), ...(await limited(twin.url))])
            assert.ok(answer.status < 300, `after ${fault.name}: ${answer.text}`);
          tally.tried(21);
          tally.held(21);
        }
    },
  );

  scenario(
    'without the outbox table no account is created without its mail, and everything else works',
    async (tally, t) => {
      const target = await openTarget(t);
      const { service } = target;
      const admin = await signIn(service, ADMIN);
      const account = { password: PASSWORD, first_name: 'Ada', last_name: 'Lovelace' };
      for (let round = 0; round < rounds(1, 5); round += 1)
        for (const fault of [gone('outbox'), raising('outbox'), locked('outbox')]) {
          const mend = await fault.begin(t, service);
          tally.injected();
          const emails = Array.from({ length: 8 }, () => newEmail('mailless'));
          const answers = await inTime(
            fault.name,
            Promise.all(
              emails.map((email) => service.client().post('/api/v1/auth/register', { email, ...account })),
            ),
          );
          for (const answer of answers) assert.ok(answer.status >= 500, `${fault.name}: ${answer.text}`);
          const others = await Promise.all([
            admin.login(ADMIN),
            admin.post('/api/v1/roles', { name: `Mailless ${fault.name} ${round}` }),
          ]);
          assert.deepEqual(
            others.map(({ status }) => status),
            [200, 201],
          );
          await mend();
          const kept = await service.sql('select from users where email = any($1)', [emails]);
          assert.equal(kept.length, 0, `${fault.name}: an account without its mail`);
          const again = await service
            .client()
            .post('/api/v1/auth/register', { email: emails[0], ...account });
          assert.equal(again.status, 201, again.text);
          await until('the mail comes', () => service.mails().some(({ to }) => to === emails[0]), NO_HANG_MS);
          tally.tried(11);
          tally.held(13);
        }
      const load = await startLoad(t, target, tally);
      await checkAfter(target, load, tally);
    },
  );

  scenario(
    'signing keys that disappear from the database still work while an instance knows them',
    async (tally, t) => {
      const target = await openTarget(t);
      const { service, twin } = target;
      const load = await startLoad(t, target, tally);
      const leaver = await signIn(service, ADMIN);
      await leaver.post('/api/v1/auth/logout');
      const mend = await gone('signing_keys').begin(t, service);
      tally.injected();
      for (const instance of [service, twin]) await assert.rejects(instance.service.deps.keyRing.load());
      const refusals = load.refused;
      await untilSucceeded(load, 100);
      assert.equal(load.refused, refusals);
      for (const { url } of [service, twin])
        assertRefused(await leaver.at(url).get('/api/v1/users/me'), 401, 'token_revoked');
      const keys = await service.client().get('/.well-known/jwks.json');
      assert.ok(keys.body.keys.length >= 1, 'the key set must not become empty');
      await mend();
      for (const instance of [service, twin]) await instance.service.deps.keyRing.load();
      tally.tried(5);
      tally.held(6);
      await checkAfter(target, load, tally);
    },
  );
});
