// A mail server that refuses, hangs or lies at any stage: nobody waits for it, no mail is lost or sent twice,
// and nothing secret is written down. It must not shorten the service's own bounds.
import assert from 'node:assert/strict';
import { suite } from 'node:test';
import { addUser } from '../../sessions/accounts.ts';
import { rounds, scenariosOf } from '../scenario.ts';
import {
  at,
  auth,
  inLanes,
  messagesTo,
  type Post,
  playOut,
  retryNow,
  rowsOf,
  saying,
  settle,
  stages,
} from './mail-fixture.ts';
import type { Part } from './smtp-actor.ts';

const scenario = scenariosOf('faults');

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
/** The message of an account's link that works is the last one, and works once. */
async function assertLinkWorks({ actor, visitor }: Post, email: string): Promise<void> {
  const token = messagesTo(actor, email).at(-1)?.token;
  assert.equal((await visitor.post(`${auth}/verify-email`, { token })).status, 200);
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
});
