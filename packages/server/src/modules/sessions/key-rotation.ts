// Replaces the key that signs tokens. It deletes none: the clean-up does, once no token of an old key can live.
import type { Db } from '../../database.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import type { Logger } from '../../platform/log.ts';
import { recordChange } from '../audit/service.ts';
import { addSigningKey, KEY_DELAY_SECONDS } from './key-ring.ts';
import { findSigningKeys } from './key-store.ts';

/**
 * The new key is published within a minute. It signs after KEY_DELAY_SECONDS, when every cached key set has it, or at
 * once, when tokens of the present key should end sooner than caches.
 */
export function rotateSigningKey(
  deps: { db: Db; log: Logger; secretKey: Buffer },
  options: { atOnce: boolean },
): Promise<{ keyId: string; signsFrom: Date }> {
  const delaySeconds = options.atOnce ? 0 : KEY_DELAY_SECONDS;
  return inTransaction(deps.db, async (tx) => {
    const keyId = await addSigningKey(tx, deps.secretKey, delaySeconds);
    const made = (await findSigningKeys(tx)).find((key) => key.key_id === keyId);
    if (!made) throw new Error('the new signing key is not there');
    await recordChange(tx, deps.log, null, {
      action: 'signing_key_rotated',
      actorId: null,
      resourceType: 'signing_key',
      resourceId: keyId,
      details: { signs_from: made.signs_from.toISOString(), via: 'command_line' },
    });
    return { keyId, signsFrom: made.signs_from };
  });
}
