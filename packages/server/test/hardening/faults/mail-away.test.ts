// A mail server that is away or hangs while mails wait: it is not hammered, and a stop does not wait for it.
// It must not shorten the service's own bounds.
import assert from 'node:assert/strict';
import { suite } from 'node:test';
import { atEnd, until } from '../../embedded/fixture.ts';
import { ADMIN, newEmail, PASSWORD } from '../../harness.ts';
import { assertSound } from '../../invariants.ts';
import { isFull, rounds, scenariosOf } from '../scenario.ts';
import {
  at,
  auth,
  causeMails,
  messagesTo,
  openPost,
  rowsOf,
  SMTP_PASSWORD,
  settle,
  stages,
} from './mail-fixture.ts';
import { openProcess } from './process-fixture.ts';
import { type Stage, startSmtpActor } from './smtp-actor.ts';

const scenario = scenariosOf('faults');
/** 8 s for mails under way, and time for a crowded machine; a server that hangs is given up after 15 s. */
const STOP_MS = 12_000;

suite('a mail server that is away', { concurrency: 2 }, () => {
  scenario(
    'a mail server that is away is asked less and less often, however many mails wait',
    async (tally, t) => {
      const post = await openPost(t);
      await post.actor.close();
      await post.actor.open();
      post.actor.play(at('greeting', 'drop'));
      const emails: string[] = [];
      for (let number = 0; number < rounds(8, 60); number += 1)
        emails.push(...(await causeMails(post, tally)));
      await until('every mail was tried', async () =>
        (await rowsOf(post.service, emails)).every(
          ({ attempts, state }) => attempts > 0 && state === 'waiting',
        ),
      );
      tally.injected(post.actor.acted());
      for (let number = 0; number < 20; number += 1)
        for (const instance of [post.service, post.twin]) instance.service.deps.outbox.wake();
      // 5 s, doubled with each attempt, and up to a fifth less.
      const [row] = await post.service.sql<{ attempts: number; soon: number; late: number }>(
        `select (select sum(attempts)::int from outbox) as attempts,
           count(*) filter (where run_at < created_at + (2 ^ attempts - 1) * interval '4 seconds')::int as soon,
           count(*) filter (where run_at > now() + 2 ^ attempts * interval '2.5 seconds')::int as late
         from outbox where sent_at is null and locked_until is null and attempts > 0`,
      );
      assert.ok(row);
      assert.equal(row.soon, 0, 'tried again at once');
      assert.equal(row.late, 0);
      // An attempt may open a connection again (maxRequeues), and the pool of the transport one for what is queued.
      assert.ok(
        post.actor.connections() <= 4 * row.attempts,
        `${post.actor.connections()} connections for ${row.attempts} attempts`,
      );
      post.actor.play(null);
      await settle(post, emails, ['sent']);
      for (const email of emails) assert.equal(messagesTo(post.actor, email).length, 1, email);
      tally.held(3 + emails.length + (await assertSound(post.service)));
    },
  );

  scenario(
    'a mail server that hangs does not hold a stop up, and what it held is sent after the next start',
    async (tally, t) => {
      const hanging: readonly Stage[] = isFull ? stages : ['greeting', 'end'];
      await Promise.all(
        hanging.map(async (stage) => {
          const actor = await startSmtpActor();
          atEnd(t, () => actor.close());
          actor.play(at(stage, 'hang'));
          const smtp = { SMTP_URL: `smtp://relay:${SMTP_PASSWORD}@127.0.0.1:${actor.port}` };
          const { child, client, sql, another } = await openProcess(t, smtp);
          const admin = client();
          assert.equal((await admin.login(ADMIN)).status, 200);
          const email = newEmail('held');
          const names = { first_name: 'Ada', last_name: 'Love' };
          assert.equal(
            (await admin.post(`${auth}/register`, { email, password: PASSWORD, ...names })).status,
            201,
          );
          await until('it hangs', () => actor.acted() > 0);
          tally.tried(2);
          tally.injected();
          const start = performance.now();
          child.kill('SIGTERM');
          assert.deepEqual(await child.ended, { code: 0, signal: null });
          assert.ok(
            performance.now() - start < STOP_MS,
            `${stage}: stopped after ${performance.now() - start} ms`,
          );
          actor.play(null);
          // What the stopped instance had taken is its own until the lease ends, 90 s.
          await sql('update outbox set locked_until = null, run_at = now() where sent_at is null');
          await another();
          await until('the mail is out', () =>
            actor.messages.some((message) => message.accepted && message.to === email),
          );
          assert.ok(!(child.out() + child.err()).includes(SMTP_PASSWORD));
          tally.held(4);
        }),
      );
    },
  );
});
