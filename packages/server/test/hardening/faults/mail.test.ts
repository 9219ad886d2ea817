// A mail server that is away, refuses, hangs or lies at any stage: nobody waits for it, no mail is lost or sent twice,
// and nothing secret is written down. It must not shorten the service's own bounds.
import assert from 'node:assert/strict';
import { suite } from 'node:test';
import type { TestClient } from '../../client.ts';
import { atEnd, until } from '../../embedded/fixture.ts';
import { ADMIN, newEmail, PASSWORD, startTestService, type TestService } from '../../harness.ts';
import { assertSound } from '../../invariants.ts';
import { addUser } from '../../sessions/accounts.ts';
import { isFull, rounds, scenariosOf, type Tally } from '../scenario.ts';
import { openProcess } from './process-fixture.ts';
import {
  type Act,
  type Message,
  type Part,
  type SmtpActor,
  type Stage,
  startSmtpActor,
} from './smtp-actor.ts';

const scenario = scenariosOf('faults');
const auth = '/api/v1/auth';
/** Far below the shortest time-out towards the mail server, 10 s. */
const AT_ONCE_MS = 5_000;
/** 8 s for mails under way, and time for a crowded machine; a server that hangs is given up after 15 s. */
const STOP_MS = 12_000;
const SMTP_PASSWORD = 'relay-Password-7431-secret';

const at =
  (stage: Stage, act: Act): Part =>
  (now) =>
    now === stage ? act : undefined;
const saying = (stage: Stage, say: string): Part => at(stage, { say });
const stages: readonly Stage[] = ['greeting', 'EHLO', 'AUTH', 'MAIL', 'RCPT', 'DATA', 'end'];

/** After these every mail is sent later, once. */
const passing: readonly Part[] = [
  ...stages.map((stage) => saying(stage, '421 4.3.2 try again later\r\n')),
  ...stages.map((stage) => at(stage, 'drop')),
  ...stages.map((stage) => at(stage, 'hang')),
  // About the login, the address or the configuration, which someone may mend.
  ...(['greeting', 'EHLO', 'AUTH', 'MAIL'] as const).map((stage) => saying(stage, '554 5.7.1 no\r\n')),
  saying('greeting', 'HTTP/1.1 400 Bad Request\r\n\r\n'),
  saying('greeting', '\u0000\u0001\u0002\r\n'),
  saying('greeting', `220-${'x'.repeat(1_000_000)}`),
  saying('RCPT', '503 5.5.1 bad sequence\r\n'),
  saying('end', `451 ${'x'.repeat(100_000)}\r\n`),
  saying('end', 'queued, thank you\r\n'),
  // The answers to come, said before STARTTLS is under way; and what follows is no TLS.
  (stage) =>
    stage === 'EHLO'
      ? { say: '250-actor\r\n250 STARTTLS\r\n' }
      : stage === 'STARTTLS'
        ? { say: '220 go ahead\r\n250-actor\r\n250 AUTH PLAIN\r\n235 welcome\r\n250 ok\r\n250 ok\r\n' }
        : undefined,
  // It repeats what it was sent, the link with it.
  (stage, { to, link }) =>
    stage === 'end' ? { say: `450 4.7.1 <${to}> spam: ${link} ${link.split('=')[1]}\r\n` } : undefined,
];
/** These take the mail, and then say what is no plain "250 queued". */
const taking: readonly Part[] = [
  at('end', 'drop after'),
  saying('end', '250 \u00ff\u0007\u001b[31m garbage\r\n'),
  saying('end', '250-2.0.0 queued\r\n250-as\r\n250 0123456789\r\n'),
];
/** And these refuse one mail for good. */
const refusing: readonly Part[] = [
  saying('RCPT', '550 5.1.1 no such user\r\n'),
  saying('end', '554 5.6.0 not this\r\n'),
];

type Post = { actor: SmtpActor; service: TestService; twin: TestService; visitor: TestClient };

async function openPost(t: Parameters<typeof startTestService>[0]): Promise<Post> {
  const actor = await startSmtpActor();
  t.after(() => actor.close());
  const service = await startTestService(t, {
    SMTP_URL: `smtp://relay:${SMTP_PASSWORD}@127.0.0.1:${actor.port}`,
    ACCOUNT_LOCKOUT_ATTEMPTS: '2',
  });
  return { actor, service, twin: await service.another(), visitor: service.client() };
}

async function atOnce<T>(what: string, run: () => Promise<T>): Promise<T> {
  const start = performance.now();
  const answer = await run();
  assert.ok(performance.now() - start < AT_ONCE_MS, `${what} took ${performance.now() - start} ms`);
  return answer;
}

/** One mail of each kind, asked for in odd spelling where that is allowed; answers the stored addresses. */
async function causeMails({ service, twin, visitor }: Post, tally: Tally): Promise<string[]> {
  const [newcomer, forgetful, locked] = [
    newEmail('new'),
    (await addUser(service)).email,
    (await addUser(service)).email,
  ];
  const registered = await atOnce('a registration', () =>
    visitor.post(`${auth}/register`, {
      email: newcomer,
      password: PASSWORD,
      first_name: 'Ada',
      last_name: 'Love',
    }),
  );
  assert.equal(registered.status, 201, registered.text);
  const asked = await atOnce('a reset request', () =>
    visitor.at(twin.url).post(`${auth}/password-reset/request`, { email: ` ${forgetful.toUpperCase()} ` }),
  );
  assert.equal(asked.status, 200, asked.text);
  for (let attempt = 0; attempt < 2; attempt += 1) {
    const login = await atOnce('a login', () =>
      visitor.login({ email: locked, password: 'Wrong#Quartz82Lime' }),
    );
    assert.equal(login.status, 422, login.text);
  }
  tally.tried(4);
  tally.held(4);
  return [newcomer, forgetful, locked];
}

const rowsOf = (service: TestService, emails: readonly string[]) =>
  service.sql<{ id: string; email: string; state: string; attempts: number; last_error: string | null }>(
    `select id, payload ->> 'email' as email, attempts, last_error,
       case when sent_at is not null then 'sent' when failed_at is not null then 'failed'
         when locked_until > now() then 'under way' else 'waiting' end as state
     from outbox where payload ->> 'email' = any($1::text[])`,
    [emails],
  );

/** Retries wait by the clock of the database; this makes them due, and wakes both workers by mails of their own. */
async function retryNow({ service, twin }: Post): Promise<void> {
  await service.sql('update outbox set run_at = now() where sent_at is null and failed_at is null');
  for (const instance of [service, twin]) instance.service.deps.outbox.wake();
}

const messagesTo = (actor: SmtpActor, email: string): Message[] =>
  actor.messages.filter((message) => message.to === email);

async function settle(post: Post, emails: readonly string[], states: readonly string[]): Promise<void> {
  await until(`all mails are ${states}`, async () => {
    await retryNow(post);
    return (await rowsOf(post.service, emails)).every(({ state }) => states.includes(state));
  });
}

/** While the part is played every mail is tried, or held by a server that says no more. */
async function playOut(post: Post, part: Part, tally: Tally): Promise<string[]> {
  const { actor, service } = post;
  const before = actor.acted();
  actor.play(part);
  // The service keeps connections for 10 s, and a part may begin with the greeting.
  actor.dropConnections();
  const emails = await causeMails(post, tally);
  await until('every mail met the fault', async () => {
    const rows = await rowsOf(service, emails);
    return (
      actor.acted() > before &&
      rows.length === emails.length &&
      rows.every(({ state, last_error }) => state === 'under way' || state === 'sent' || last_error !== null)
    );
  });
  tally.injected(actor.acted() - before);
  return emails;
}

/** The message of an account's link that works is the last one, and works once. */
async function assertLinkWorks({ actor, visitor }: Post, email: string): Promise<void> {
  const token = messagesTo(actor, email).at(-1)?.token;
  assert.equal((await visitor.post(`${auth}/verify-email`, { token })).status, 200);
}

/** The faults are dealt out over posts of their own, so that they overlap. */
async function inLanes(
  lanes: number,
  parts: readonly Part[],
  t: Parameters<typeof startTestService>[0],
  run: (post: Post, part: Part) => Promise<number>,
): Promise<number> {
  let held = 0;
  await Promise.all(
    Array.from({ length: lanes }, async (_, lane) => {
      const post = await openPost(t);
      for (const [index, part] of parts.entries()) if (index % lanes === lane) held += await run(post, part);
      held += await assertSound(post.service);
      for (const instance of [post.service, post.twin])
        assert.ok(
          !instance.logLines.join().includes(SMTP_PASSWORD),
          'the log holds the password of the relay',
        );
      const rows = await post.service.sql<{ row: string }>('select o::text as row from outbox o');
      const secrets = [SMTP_PASSWORD, ...post.actor.messages.map(({ token }) => token ?? SMTP_PASSWORD)];
      for (const { row } of rows) for (const secret of secrets) assert.ok(!row.includes(secret), row);
      held += rows.length;
    }),
  );
  return held;
}

suite('mail', { concurrency: 3 }, () => {
  scenario(
    'a mail server that refuses for now, hangs, breaks off or talks nonsense at any stage delays no answer, and gets every mail once when it behaves',
    async (tally, t) => {
      const held = await inLanes(rounds(3, 4), passing, t, async (post, part) => {
        const emails = await playOut(post, part, tally);
        for (const { last_error } of await rowsOf(post.service, emails))
          assert.ok(
            (last_error ?? '').length <= 500 && !/[\p{Cc}]|#token=/u.test(last_error ?? ''),
            String(last_error),
          );
        post.actor.play(null);
        post.actor.dropConnections();
        await settle(post, emails, ['sent']);
        for (const email of emails) {
          const accepted = messagesTo(post.actor, email).filter((message) => message.accepted);
          assert.equal(accepted.length, 1, `${accepted.length} mails to ${email}`);
          assert.equal(new Set(messagesTo(post.actor, email).map(({ id }) => id)).size, 1);
          assert.ok(post.actor.recipients.has(email));
        }
        await assertLinkWorks(post, emails[0] as string);
        return 4 * emails.length + 1;
      });
      tally.held(held);
    },
  );

  scenario(
    'a mail server that takes a mail and then breaks the line, or says more than it should, gets it once',
    async (tally, t) => {
      const held = await inLanes(
        1,
        Array.from({ length: rounds(1, 6) }, () => taking).flat(),
        t,
        async (post, part) => {
          const emails = await playOut(post, part, tally);
          await settle(post, emails, ['sent']);
          post.actor.play(null);
          for (const email of emails) assert.equal(messagesTo(post.actor, email).length, 1, email);
          await assertLinkWorks(post, emails[0] as string);
          return emails.length + 1;
        },
      );
      tally.held(held);
    },
  );

  scenario('a mail that is refused for good is given up, and holds up no other', async (tally, t) => {
    const held = await inLanes(1, refusing, t, async (post, part) => {
      const others: string[] = [];
      let refused: string[] = [];
      for (let round = 0; round < rounds(2, 8); round += 1) {
        const poisoned = await playOut(
          post,
          (stage, about) => (others.includes(about.to) ? undefined : part(stage, about)),
          tally,
        );
        refused = [...refused, ...poisoned];
        await settle(post, poisoned, ['failed']);
        const kinds = ['no such kind', 'verification'];
        for (const kind of kinds)
          await post.service.sql(`insert into outbox (kind, payload) values ($1, '{"email": 7}')`, [kind]);
        tally.injected(kinds.length);
        const email = (await addUser(post.service)).email;
        others.push(email);
        await post.visitor.post(`${auth}/password-reset/request`, { email });
        tally.tried();
        await settle(post, [email], ['sent']);
      }
      post.actor.play(null);
      await retryNow(post);
      await settle(post, others, ['sent']);
      for (const email of others) assert.equal(messagesTo(post.actor, email).length, 1);
      assert.ok((await rowsOf(post.service, refused)).every(({ attempts }) => attempts === 1));
      return refused.length + others.length;
    });
    tally.held(held);
  });

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
