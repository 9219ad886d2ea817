// What the faults of the mail server share: two instances and a server that plays a part, mails of each kind, their rows.
// It must not shorten the service's own bounds.
import assert from 'node:assert/strict';
import type { TestClient } from '../../client.ts';
import { until } from '../../embedded/fixture.ts';
import { newEmail, PASSWORD, startTestService, type TestService } from '../../harness.ts';
import { assertSound } from '../../invariants.ts';
import { addUser } from '../../sessions/accounts.ts';
import type { Tally } from '../scenario.ts';
import {
  type Act,
  type Message,
  type Part,
  type SmtpActor,
  type Stage,
  startSmtpActor,
} from './smtp-actor.ts';
export const auth = '/api/v1/auth';
/** Far below the shortest time-out towards the mail server, 10 s. */
const AT_ONCE_MS = 5_000;
export const SMTP_PASSWORD = 'relay-Password-7431-secret';

export const at =
  (stage: Stage, act: Act): Part =>
  (now) =>
    now === stage ? act : undefined;
export const saying = (stage: Stage, say: string): Part => at(stage, { say });
export const stages: readonly Stage[] = ['greeting', 'EHLO', 'AUTH', 'MAIL', 'RCPT', 'DATA', 'end'];

export type Post = { actor: SmtpActor; service: TestService; twin: TestService; visitor: TestClient };

export async function openPost(t: Parameters<typeof startTestService>[0]): Promise<Post> {
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
export async function causeMails({ service, twin, visitor }: Post, tally: Tally): Promise<string[]> {
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

export const rowsOf = (service: TestService, emails: readonly string[]) =>
  service.sql<{ id: string; email: string; state: string; attempts: number; last_error: string | null }>(
    `select id, payload ->> 'email' as email, attempts, last_error,
       case when sent_at is not null then 'sent' when failed_at is not null then 'failed'
         when locked_until > now() then 'under way' else 'waiting' end as state
     from outbox where payload ->> 'email' = any($1::text[])`,
    [emails],
  );

/** Retries wait by the clock of the database; this makes them due, and wakes both workers by mails of their own. */
export async function retryNow({ service, twin }: Post): Promise<void> {
  await service.sql('update outbox set run_at = now() where sent_at is null and failed_at is null');
  for (const instance of [service, twin]) instance.service.deps.outbox.wake();
}

export const messagesTo = (actor: SmtpActor, email: string): Message[] =>
  actor.messages.filter((message) => message.to === email);

export async function settle(
  post: Post,
  emails: readonly string[],
  states: readonly string[],
): Promise<void> {
  await until(`all mails are ${states}`, async () => {
    await retryNow(post);
    return (await rowsOf(post.service, emails)).every(({ state }) => states.includes(state));
  });
}

/** While the part is played every mail is tried, or held by a server that says no more. */
export async function playOut(post: Post, part: Part, tally: Tally): Promise<string[]> {
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

/** The faults are dealt out over posts of their own, so that they overlap. */
export async function inLanes(
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
