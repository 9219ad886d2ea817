// A mail server that refuses, hangs or misbehaves at any stage: no request waits for it, no mail is lost or sent twice,
// and no secret is recorded. It must not shorten the service's own timeouts.
import assert from 'node:assert/strict';
import { suite } from 'node:test';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { addUser } from '@castellan/testing/sessions/accounts';
import {
  at,
  auth,
  inParallel,
  type MailSetup,
  messagesTo,
  retryNow,
  rowsOf,
  runScript,
  saying,
  settle,
  stages,
} from './fixture.ts';
import type { Script } from './scripted-smtp.ts';

const scenario = scenariosOf('faults');

/** Faults after which every mail is sent once, later. */
const passing: readonly Script[] = [
  ...stages.map((stage) => saying(stage, '421 4.3.2 try again later\r\n')),
  ...stages.map((stage) => at(stage, 'drop')),
  ...stages.map((stage) => at(stage, 'hang')),
  // Refusals of the login, the address or the configuration, which an operator may correct.
  ...(['greeting', 'EHLO', 'AUTH', 'MAIL'] as const).map((stage) => saying(stage, '554 5.7.1 no\r\n')),
  saying('greeting', 'HTTP/1.1 400 Bad Request\r\n\r\n'),
  saying('greeting', '\u0000\u0001\u0002\r\n'),
  saying('greeting', `220-${'x'.repeat(1_000_000)}`),
  saying('RCPT', '503 5.5.1 bad sequence\r\n'),
  saying('end', `451 ${'x'.repeat(100_000)}\r\n`),
  saying('end', 'queued, thank you\r\n'),
  // Answers sent before STARTTLS has completed, and plain text instead of TLS.
  (stage) =>
    stage === 'EHLO'
      ? { say: '250-actor\r\n250 STARTTLS\r\n' }
      : stage === 'STARTTLS'
        ? { say: '220 go ahead\r\n250-actor\r\n250 AUTH PLAIN\r\n235 welcome\r\n250 ok\r\n250 ok\r\n' }
        : undefined,
  // The server repeats what it was sent, including the link.
  (stage, { to, link }) =>
    stage === 'end' ? { say: `450 4.7.1 <${to}> spam: ${link} ${link.split('=')[1]}\r\n` } : undefined,
];
/** Faults where the server takes the mail and then does not answer with a plain "250 queued". */
const taking: readonly Script[] = [
  at('end', 'drop after'),
  saying('end', '250 \u00ff\u0007\u001b[31m garbage\r\n'),
  saying('end', '250-2.0.0 queued\r\n250-as\r\n250 0123456789\r\n'),
];
/** Permanent refusals of one mail. */
const refusing: readonly Script[] = [
  saying('RCPT', '550 5.1.1 no such user\r\n'),
  saying('end', '554 5.6.0 not this\r\n'),
];
/** Checks that the link of the last message works, and works once. */
async function assertLinkWorks({ smtp, visitor }: MailSetup, email: string): Promise<void> {
  const token = messagesTo(smtp, email).at(-1)?.token;
  assert.equal((await visitor.post(`${auth}/verify-email`, { token })).status, 200);
}

suite('mail', { concurrency: 3 }, () => {
  scenario(
    'a mail server that refuses temporarily, hangs, disconnects or answers nonsense at any stage delays no request, and gets every mail once when it recovers',
    async (tally, t) => {
      const held = await inParallel(rounds(3, 4), passing, t, async (setup, script) => {
        const emails = await runScript(setup, script, tally);
        for (const { last_error } of await rowsOf(setup.service, emails))
          assert.ok(
            (last_error ?? '').length <= 500 && !/[\p{Cc}]|#token=/u.test(last_error ?? ''),
            String(last_error),
          );
        setup.smtp.follow(null);
        setup.smtp.dropConnections();
        await settle(setup, emails, ['sent']);
        for (const email of emails) {
          const accepted = messagesTo(setup.smtp, email).filter((message) => message.accepted);
          assert.equal(accepted.length, 1, `${accepted.length} mails to ${email}`);
          assert.equal(new Set(messagesTo(setup.smtp, email).map(({ id }) => id)).size, 1);
          assert.ok(setup.smtp.recipients.has(email));
        }
        await assertLinkWorks(setup, emails[0] as string);
        return 4 * emails.length + 1;
      });
      tally.held(held);
    },
  );

  scenario(
    'a mail server that accepts a mail and then disconnects, or answers too much, gets it once',
    async (tally, t) => {
      const held = await inParallel(
        1,
        Array.from({ length: rounds(1, 6) }, () => taking).flat(),
        t,
        async (setup, script) => {
          const emails = await runScript(setup, script, tally);
          await settle(setup, emails, ['sent']);
          setup.smtp.follow(null);
          for (const email of emails) assert.equal(messagesTo(setup.smtp, email).length, 1, email);
          await assertLinkWorks(setup, emails[0] as string);
          return emails.length + 1;
        },
      );
      tally.held(held);
    },
  );

  scenario('a mail that is refused permanently is given up and delays no other', async (tally, t) => {
    const held = await inParallel(1, refusing, t, async (setup, script) => {
      const others: string[] = [];
      let refused: string[] = [];
      for (let round = 0; round < rounds(2, 8); round += 1) {
        const poisoned = await runScript(
          setup,
          (stage, about) => (others.includes(about.to) ? undefined : script(stage, about)),
          tally,
        );
        refused = [...refused, ...poisoned];
        await settle(setup, poisoned, ['failed']);
        const kinds = ['no such kind', 'verification'];
        for (const kind of kinds)
          await setup.service.sql(`insert into outbox (kind, payload) values ($1, '{"email": 7}')`, [kind]);
        tally.injected(kinds.length);
        const email = (await addUser(setup.service)).email;
        others.push(email);
        await setup.visitor.post(`${auth}/password-reset/request`, { email });
        tally.tried();
        await settle(setup, [email], ['sent']);
      }
      setup.smtp.follow(null);
      await retryNow(setup);
      await settle(setup, others, ['sent']);
      for (const email of others) assert.equal(messagesTo(setup.smtp, email).length, 1);
      assert.ok((await rowsOf(setup.service, refused)).every(({ attempts }) => attempts === 1));
      return refused.length + others.length;
    });
    tally.held(held);
  });
});
