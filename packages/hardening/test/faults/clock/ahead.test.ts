// Rows written while the database's clock was ahead: windows, locks, leases, slots and mails that seem to last for a
// year end after their own duration. It must not move the clock: it changes rows in SQL.
import assert from 'node:assert/strict';
import { until } from '@castellan/embedded-postgres/testing';
import { newEmail, startTestService } from '@castellan/testing/harness';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { addUser } from '@castellan/testing/sessions/accounts';
import { failLogins, logIn, WRONG } from '@castellan/testing/sessions/attempts';
import { lastFirst, NO_HANG_MS } from '../database/fixture.ts';

const scenario = scenariosOf('faults');

scenario('a limit that was reached while the clock was ahead lasts one window from now', async (tally, t) => {
  const service = await startTestService(lastFirst(t), { RATE_LIMIT_LOGIN: '3/minute' });
  const { sql } = service;
  const client = service.client();
  for (let round = 0; round < rounds(1, 5); round += 1) {
    await sql('delete from rate_limits');
    for (let time = 0; time < 4; time += 1) await logIn(client, newEmail(), WRONG);
    await sql(`update rate_limits set reset_at = now() + interval '1 year' where key like 'login%'`);
    tally.injected();
    const refused = await service.client().login({ email: newEmail(), password: WRONG });
    assert.equal(refused.status, 429, refused.text);
    assert.ok(Number(refused.headers.get('retry-after')) <= 60);
    const stuck = await sql(
      `select from rate_limits where key like 'login%' and reset_at > now() + interval '1 minute'`,
    );
    assert.equal(stuck.length, 0, 'the window begins anew with every hit');
    tally.tried(5);
    tally.held(3);
  }
});

scenario(
  'a lock that was set while the clock was ahead lasts its own duration from now',
  async (tally, t) => {
    const service = await startTestService(lastFirst(t), { ACCOUNT_LOCKOUT_DURATION: '15' });
    const client = service.client();
    for (let round = 0; round < rounds(1, 5); round += 1) {
      const user = await addUser(service);
      await failLogins(client, user.email, 5);
      await service.sql(
        `update login_attempts set locked_until = now() + interval '1 year' where email = $1`,
        [user.email],
      );
      tally.injected();
      const refused = await logIn(client, user.email, user.password);
      assert.equal(refused.body.code, 'account_locked', refused.text);
      assert.ok(Number(refused.headers.get('retry-after')) <= 15 * 60);
      const stuck = await service.sql(
        `select from login_attempts where email = $1 and locked_until > now() + interval '15 minutes'`,
        [user.email],
      );
      assert.equal(stuck.length, 0, 'the lock begins anew with every attempt');
      tally.tried(6);
      tally.held(3);
    }
  },
);

scenario(
  'attempts that died while the clock was ahead keep their slots no longer than any others',
  async (tally, t) => {
    const service = await startTestService(lastFirst(t));
    for (let round = 0; round < rounds(1, 5); round += 1) {
      const user = await addUser(service);
      await service.sql(
        `insert into login_attempts (email, slots)
         select $1, jsonb_object_agg(gen_random_uuid(), extract(epoch from now() + interval '1 year')) from generate_series(1, 5)`,
        [user.email],
      );
      tally.injected();
      const answer = await service.client().login(user);
      assert.equal(answer.status, 200, answer.text);
      tally.tried();
      tally.held();
    }
  },
);

scenario(
  'a job and mails that were scheduled while the clock was ahead run at their next turn',
  async (tally, t) => {
    // The clean-up runs every 0.6 s.
    const service = await startTestService(lastFirst(t), { CLEANUP_INTERVAL_MINUTES: '0.01' });
    const runs = (): number => service.logLines.filter((line) => line.includes('clean-up done')).length;
    const user = await addUser(service, { verified: false });
    for (const [index, column] of ['run_at', 'locked_until'].entries()) {
      await service.sql(
        `insert into outbox (kind, payload, ${column}) values ('verification', $1, now() + interval '1 year')`,
        [JSON.stringify({ email: user.email })],
      );
      await service.sql(`update job_schedule set next_at = now() + interval '1 year'`);
      tally.injected(2);
      const before = runs();
      await until('the job runs', () => runs() > before, NO_HANG_MS);
      await until(
        `the mail with ${column} is sent`,
        () => service.mails().filter(({ to }) => to === user.email).length > index,
        NO_HANG_MS,
      );
      tally.tried(2);
      tally.held(2);
    }
  },
);
