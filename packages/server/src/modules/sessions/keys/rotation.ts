// Replaces the key that signs tokens. The clean-up deletes the old key once all of its tokens have expired.
import { inTransaction } from '../../../platform/db/transaction.ts';
import type { Db } from '../../../schema/database.ts';
import { type ChangeLog, recordChange } from '../../audit/service.ts';
import { refreshLifetimeSeconds, type TokenSettings } from '../tokens.ts';
import { addSigningKey, KEY_SPREAD_SECONDS } from './ring.ts';
import {
  deleteKeysAfter,
  findSigningKeys,
  type KeyFamily,
  lockSigningKeys,
  sessionKeys,
  settleSigningKey,
} from './store.ts';

export type KeyDeps = { db: Db; auditLog: ChangeLog; secretKey: Buffer };

/**
 * Creates a key of the family that signs after `announceMinutes`; until then it is only in the key set. The time is stored with
 * the key, so that every instance begins to sign at once, also after a restart. With `atOnce` it signs after KEY_SPREAD_SECONDS, when every
 * instance has it; keys of earlier rotations that would sign later are then deleted and their ids returned in `dropped`.
 */
export function rotateSigningKey(
  deps: KeyDeps,
  options: { atOnce: true } | { atOnce: false; announceMinutes: number },
  family: KeyFamily = sessionKeys,
): Promise<{ keyId: string; signsFrom: Date; dropped: string[] }> {
  const delaySeconds = options.atOnce ? KEY_SPREAD_SECONDS : options.announceMinutes * 60;
  return inTransaction(deps.db, async (tx) => {
    await lockSigningKeys(tx);
    // The current key signs until the new one does, and is never dropped.
    await settleSigningKey(tx, family);
    const keyId = await addSigningKey(tx, deps.secretKey, delaySeconds, family);
    const dropped = options.atOnce ? await deleteKeysAfter(tx, family, keyId) : [];
    const made = (await findSigningKeys(tx)).find((key) => key.key_id === keyId);
    if (!made) throw new Error('the new signing key is missing');
    await recordChange(tx, deps.auditLog, null, {
      action: 'signing_key_rotated',
      actorId: null,
      resourceType: 'signing_key',
      resourceId: keyId,
      details: {
        ...family,
        signs_from: made.signs_from.toISOString(),
        via: 'command_line',
        ...(dropped.length > 0 ? { dropped } : {}),
      },
    });
    return { keyId, signsFrom: made.signs_from, dropped };
  });
}

/**
 * Returns for how long a key is in the key set after its successor has begun to sign, in seconds: as long as a token that it
 * signed may be valid, and as long as a new key is announced.
 */
export const keyRetentionSeconds = (settings: TokenSettings & { keyAnnounceMinutes: number }): number =>
  Math.max(
    refreshLifetimeSeconds(settings),
    settings.accessTokenMinutes * 60,
    settings.keyAnnounceMinutes * 60,
  );
