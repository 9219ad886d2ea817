// Shared by the tests of mail faults: starts two instances and a scripted mail server, requests mails of each kind,
// reads their rows. It must not shorten the service's own timeouts.
import assert from 'node:assert/strict';
import { until } from '@castellan/embedded-postgres/testing';
import type { TestClient } from '@castellan/testing/client';
import { newEmail, PASSWORD, startTestService, type TestService } from '@castellan/testing/harness';
import { assertSound } from '@castellan/testing/invariants';
import type { Tally } from '@castellan/testing/scenario';
import { addUser } from '@castellan/testing/sessions/accounts';
import {
  type Action,
  type Message,
  type Script,
  type ScriptedSmtp,
  type Stage,
  startScriptedSmtp,
} from './scripted-smtp.ts';
export const auth = '/api/v1/auth';
export const SMTP_PASSWORD = 'relay-Password-7431-secret';

export const at =
  (stage: Stage, action: Action): Script =>
  (now) =>
    now === stage ? action : undefined;
export const saying = (stage: Stage, say: string): Script => at(stage, { say });
export const stages: readonly Stage[] = ['greeting', 'EHLO', 'AUTH', 'MAIL', 'RCPT', 'DATA', 'end'];

export type MailSetup = { smtp: ScriptedSmtp; service: TestService; twin: TestService; visitor: TestClient };

export async function openMailSetup(t: Parameters<typeof startTestService>[0]): Promise<MailSetup> {
  const smtp = await startScriptedSmtp();
  t.after(() => smtp.close());
  const service = await startTestService(t, {
    SMTP_URL: `smtp://relay:${SMTP_PASSWORD}@127.0.0.1:${smtp.port}`,
    ACCOUNT_LOCKOUT_ATTEMPTS: '2',
  });
  return { smtp, service, twin: await service.another(), visitor: service.client() };
}

/** Checks that an answer came before the service gave up on a mail server that hangs. */
async function assertNotAwaited({ smtp, service }: MailSetup, email: string): Promise<void> {
  if (!smtp.hasHung()) return;
  for (const { last_error } of await rowsOf(service, [email])) assert.equal(last_error, null, 'too late');
}

/** Requests one mail of each kind, in unusual spelling where that is allowed. Returns the stored emails. */
export async function requestMails(setup: MailSetup, tally: Tally): Promise<string[]> {
  const { service, twin, visitor } = setup;
  const [newcomer, forgetful, locked] = [
    newEmail('new'),
    (await addUser(service)).email,
    (await addUser(service)).email,
  ];
  const registered = await visitor.post(`${auth}/register`, {
    email: newcomer,
    password: PASSWORD,
    first_name: 'Ada',
    last_name: 'Love',
  });
  await assertNotAwaited(setup, newcomer);
  assert.equal(registered.status, 201, registered.text);
  const asked = await visitor
    .at(twin.url)
    .post(`${auth}/password-reset/request`, { email: ` ${forgetful.toUpperCase()} ` });
  await assertNotAwaited(setup, forgetful);
  assert.equal(asked.status, 200, asked.text);
  for (let attempt = 0; attempt < 2; attempt += 1) {
    const login = await visitor.login({ email: locked, password: 'Wrong#Quartz82Lime' });
    await assertNotAwaited(setup, locked);
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

/** Makes all retries due now and wakes the workers of both instances. */
export async function retryNow({ service, twin }: MailSetup): Promise<void> {
  await service.sql('update outbox set run_at = now() where sent_at is null and failed_at is null');
  for (const instance of [service, twin]) instance.service.deps.outbox.wake();
}

export const messagesTo = (smtp: ScriptedSmtp, email: string): Message[] =>
  smtp.messages.filter((message) => message.to === email);

export async function settle(
  setup: MailSetup,
  emails: readonly string[],
  states: readonly string[],
): Promise<void> {
  await until(`all mails are ${states}`, async () => {
    await retryNow(setup);
    return (await rowsOf(setup.service, emails)).every(({ state }) => states.includes(state));
  });
}

/** Follows the script until every requested mail was tried, or is held by a server that hangs. Returns the emails. */
export async function runScript(setup: MailSetup, script: Script, tally: Tally): Promise<string[]> {
  const { smtp, service } = setup;
  const before = smtp.deviations();
  smtp.follow(script);
  // The service keeps connections for 10 s, and a script may begin with the greeting.
  smtp.dropConnections();
  const emails = await requestMails(setup, tally);
  await until('every mail met the fault', async () => {
    const rows = await rowsOf(service, emails);
    return (
      smtp.deviations() > before &&
      rows.length === emails.length &&
      rows.every(({ state, last_error }) => state === 'under way' || state === 'sent' || last_error !== null)
    );
  });
  tally.injected(smtp.deviations() - before);
  return emails;
}

/**
 * Distributes the scripts over `lanes` setups, so that they run in parallel. Returns the number of statements checked.
 */
export async function inParallel(
  lanes: number,
  scripts: readonly Script[],
  t: Parameters<typeof startTestService>[0],
  run: (setup: MailSetup, script: Script) => Promise<number>,
): Promise<number> {
  let held = 0;
  await Promise.all(
    Array.from({ length: lanes }, async (_, lane) => {
      const setup = await openMailSetup(t);
      for (const [index, script] of scripts.entries())
        if (index % lanes === lane) held += await run(setup, script);
      held += await assertSound(setup.service);
      for (const instance of [setup.service, setup.twin])
        assert.ok(
          !instance.logLines.join().includes(SMTP_PASSWORD),
          'the log holds the password of the relay',
        );
      const rows = await setup.service.sql<{ row: string }>('select o::text as row from outbox o');
      const secrets = [SMTP_PASSWORD, ...setup.smtp.messages.map(({ token }) => token ?? SMTP_PASSWORD)];
      for (const { row } of rows) for (const secret of secrets) assert.ok(!row.includes(secret), row);
      held += rows.length;
    }),
  );
  return held;
}
