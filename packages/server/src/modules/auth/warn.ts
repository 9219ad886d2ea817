// Queues the mails that warn people about the sign-in of their account, in the transaction of what they are about.
// It must not limit them: the composer of mails does, after the commit.
import { afterCommit } from '../../platform/db/transaction.ts';
import type { Client } from '../../platform/http/client.ts';
import { networkOf } from '../../platform/security/client-address.ts';
import type { Tx } from '../../schema/database.ts';
import type { AuditEvent } from '../audit/service.ts';
import type { MailPayloads, SecurityEvent, WarningKind } from './mails/payloads.ts';
import type { AccountMail } from './mails.ts';

type Mailer = { accountMail: AccountMail };

/** Returns what every warning says. `now`: the transaction's time. */
export const seenFrom = (client: Client, email: string, now: Date): SecurityEvent => ({
  email,
  at: now.toISOString(),
  network: networkOf(client.address),
  user_agent: client.userAgent,
});

/** Queues a warning, and wakes the worker after the commit. */
export async function warn<K extends WarningKind>(
  tx: Tx,
  { accountMail }: Mailer,
  kind: K,
  payload: MailPayloads[K],
): Promise<void> {
  await accountMail.enqueue(tx, kind, payload);
  afterCommit(tx, () => accountMail.wake());
}

/** Warns of what a code led to: a used recovery code, a suspended app. */
export async function warnOfCode(
  tx: Tx,
  mailer: Mailer,
  seen: SecurityEvent,
  { left, consequences = [] }: { accepted?: string; left?: number; consequences?: readonly AuditEvent[] },
): Promise<void> {
  if (left !== undefined) await warn(tx, mailer, 'recovery_code_used', { ...seen, left });
  if (consequences.some(({ action }) => action === 'totp_suspended'))
    await warn(tx, mailer, 'app_suspended', seen);
}
