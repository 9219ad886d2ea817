// A mail server that is unreachable or hangs while mails wait: retries back off, and shutdown does not wait for it.
// It must not shorten the service's own timeouts.
import assert from 'node:assert/strict';
import { suite } from 'node:test';
import { atEnd, until } from '@castellan/embedded-postgres/testing';
import { ADMIN, newEmail, PASSWORD } from '@castellan/testing/harness';
import { assertSound } from '@castellan/testing/invariants';
import { isFull, rounds, scenariosOf } from '@castellan/testing/scenario';
import { openProcess } from '@castellan/testing/start/service-process';
import {
  at,
  auth,
  messagesTo,
  openMailSetup,
  requestMails,
  rowsOf,
  SMTP_PASSWORD,
  settle,
  stages,
} from './fixture.ts';
import { type Stage, startScriptedSmtp } from './scripted-smtp.ts';

const scenario = scenariosOf('faults');

suite('a mail server that is away', { concurrency: 2 }, () => {
  scenario(
    'an unreachable mail server is tried less and less often, however many mails wait',
    async (tally, t) => {
      const setup = await openMailSetup(t);
      await setup.smtp.close();
      await setup.smtp.open();
      setup.smtp.follow(at('greeting', 'drop'));
      const emails: string[] = [];
      for (let number = 0; number < rounds(8, 60); number += 1)
        emails.push(...(await requestMails(setup, tally)));
      await until('every mail was tried', async () =>
        (await rowsOf(setup.service, emails)).every(
          ({ attempts, state }) => attempts > 0 && state === 'waiting',
        ),
      );
      tally.injected(setup.smtp.deviations());
      for (let number = 0; number < 20; number += 1)
        for (const instance of [setup.service, setup.twin]) instance.service.deps.outbox.wake();
      // The backoff is 5 s, doubled with each attempt, minus up to a fifth.
      const [row] = await setup.service.sql<{ attempts: number; soon: number; late: number }>(
        `select (select sum(attempts)::int from outbox) as attempts,
           count(*) filter (where run_at < created_at + (2 ^ attempts - 1) * interval '4 seconds')::int as soon,
           count(*) filter (where run_at > now() + 2 ^ attempts * interval '2.5 seconds')::int as late
         from outbox where sent_at is null and locked_until is null and attempts > 0`,
      );
      assert.ok(row);
      assert.equal(row.soon, 0, 'tried again too early');
      assert.equal(row.late, 0);
      // An attempt may reconnect once (maxRequeues), and the pool of the transport may open one for its queue.
      assert.ok(
        setup.smtp.connections() <= 4 * row.attempts,
        `${setup.smtp.connections()} connections for ${row.attempts} attempts`,
      );
      setup.smtp.follow(null);
      await settle(setup, emails, ['sent']);
      for (const email of emails) assert.equal(messagesTo(setup.smtp, email).length, 1, email);
      tally.held(3 + emails.length + (await assertSound(setup.service)));
    },
  );

  scenario(
    'a mail server that hangs does not delay shutdown, and its mails are sent after the next start',
    async (tally, t) => {
      const hanging: readonly Stage[] = isFull ? stages : ['greeting', 'end'];
      await Promise.all(
        hanging.map(async (stage) => {
          const smtp = await startScriptedSmtp();
          atEnd(t, () => smtp.close());
          smtp.follow(at(stage, 'hang'));
          const environment = { SMTP_URL: `smtp://relay:${SMTP_PASSWORD}@127.0.0.1:${smtp.port}` };
          const { child, client, sql, another } = await openProcess(t, environment);
          const admin = client();
          assert.equal((await admin.login(ADMIN)).status, 200);
          const email = newEmail('held');
          const names = { first_name: 'Ada', last_name: 'Love' };
          assert.equal(
            (await admin.post(`${auth}/register`, { email, password: PASSWORD, ...names })).status,
            201,
          );
          await until('it hangs', () => smtp.deviations() > 0);
          tally.tried(2);
          tally.injected();
          child.kill('SIGTERM');
          assert.deepEqual(await child.ended, { code: 0, signal: null });
          // The shutdown logged that it stopped waiting after 8 s; the timeout of a server that hangs is 10 s or more.
          assert.match(child.out(), /mails were still being sent at shutdown/, stage);
          smtp.follow(null);
          // Mails that the stopped instance had leased wait until the lease ends, 90 s.
          await sql('update outbox set locked_until = null, run_at = now() where sent_at is null');
          await another();
          await until('the mail is out', () =>
            smtp.messages.some((message) => message.accepted && message.to === email),
          );
          assert.ok(!(child.out() + child.err()).includes(SMTP_PASSWORD));
          tally.held(4);
        }),
      );
    },
  );
});
