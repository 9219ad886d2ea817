// Keeps an account that its owner deleted: with the link of the mail, until the clean-up removes it.
// It must not start a session, nor activate an account that an administrator deactivated: that ends the link.
import { inTransaction } from '../../platform/db/transaction.ts';
import { AppError } from '../../platform/errors.ts';
import type { Client } from '../../platform/http/client.ts';
import type { Gate } from '../../platform/limits/gate.ts';
import { type Audited, recordBounded, recordChange } from '../audit/service.ts';
import { consumeOneTimeToken, endLinksButUndo, turnKeyOf } from '../auth/one-time-tokens.ts';
import { endOwnDeletion } from '../users/service.ts';

export type UndoDeps = Audited & { attemptGate: Gate };

/** Reactivates the account of the link. Throws `undo_token_invalid` (400), and GateFullError. */
export async function undoDeletion(deps: UndoDeps, client: Client, token: string): Promise<void> {
  const isUndone = await deps.attemptGate.run(turnKeyOf(token), client, () =>
    inTransaction(deps.db, async (tx) => {
      const consumed = await consumeOneTimeToken(tx, 'undo_deletion', token);
      if (!consumed) return false;
      const { user_id: id, email } = consumed;
      await endOwnDeletion(tx, id);
      await endLinksButUndo(tx, id);
      await recordChange(tx, deps.auditLog, client, {
        action: 'self_deletion_undone',
        actorId: id,
        resourceType: 'user',
        resourceId: id,
        details: { email },
      });
      return true;
    }),
  );
  if (isUndone) return;
  const reason = 'undo_token_invalid';
  await recordBounded(deps, client, { action: 'verification_refused', actorId: null, details: { reason } });
  throw new AppError(reason);
}
