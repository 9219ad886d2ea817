// Makes spans of what a request waits for, and of what runs without one: hashes, mails, jobs. Used only while tracing is on.
import type { MailTransport } from './platform/mail/transport.ts';
import type { PasswordHasher } from './platform/security/password-hasher.ts';
import type { Tracing } from './platform/tracing/tracing.ts';

/** Returns the hasher with a span for each hash, which includes the wait for its turn. */
export const traceHashes = (hasher: PasswordHasher, tracing: Tracing): PasswordHasher => ({
  ...hasher,
  hash: (password, turn) => tracing.span('hash password', () => hasher.hash(password, turn)),
  verify: (phc, password, turn) => tracing.span('verify password', () => hasher.verify(phc, password, turn)),
});

/** Returns the transport with a span for each mail. */
export const traceMails = (transport: MailTransport, tracing: Tracing): MailTransport => ({
  ...transport,
  send: (mail, options) => tracing.span('send mail', () => transport.send(mail, options)),
});

/** Returns the job with a span for each run. */
export const traceJob =
  (name: string, run: () => Promise<void>, tracing: Tracing | null): (() => Promise<void>) =>
  () =>
    tracing ? tracing.span(`job ${name}`, run) : run();
