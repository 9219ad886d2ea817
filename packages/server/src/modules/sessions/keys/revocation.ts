// Revokes signing keys: a leaked key, or all keys after SECRET_KEY was lost.
// One write of a few rows makes every instance refuse the tokens of these keys from the next request on. Afterwards
// their sessions are marked as ended, in batches.
import { inTransaction } from '../../../platform/db/transaction.ts';
import type { Db } from '../../../schema/database.ts';
import { recordChange } from '../../audit/service.ts';
import { addMissingKeys, addSigningKey, KEY_SPREAD_SECONDS } from './ring.ts';
import type { KeyDeps } from './rotation.ts';
import {
  endSessionsOfKeys,
  findKeyIds,
  findRevokedAt,
  findSigningKeys,
  findUnsweptKeys,
  type KeyFamily,
  keyFamilies,
  lockSigningKeys,
  markSwept,
  revokeKeys,
} from './store.ts';

/** `signing`: the key signs now. `pending`: it will sign later. `former`: it signed earlier. */
export type ListedKey = {
  id: string;
  family: KeyFamily;
  state: 'signing' | 'pending' | 'former';
  signsFrom: Date;
};

/** Returns the keys of all families, each newest first. */
export async function listSigningKeys(db: Db): Promise<ListedKey[]> {
  const all = await findSigningKeys(db);
  return keyFamilies.flatMap((family) => {
    const keys = all.filter((key) => key.family === family);
    // If every key is pending, the oldest one signs, as in the key ring.
    const signing = keys.find((key) => key.waits_ms <= 0) ?? keys.at(-1);
    return keys.map((key) => ({
      id: key.key_id,
      family,
      state: key === signing ? 'signing' : key.waits_ms > 0 ? 'pending' : 'former',
      signsFrom: key.signs_from,
    }));
  });
}

export type Revocation =
  /** `successorId` is the key that was created because the revoked key was signing. */
  | { outcome: 'revoked'; successorId: string | null }
  | { outcome: 'revoked_before'; revokedAt: Date }
  | { outcome: 'unknown'; keys: ListedKey[] };

export function revokeSigningKey(deps: KeyDeps, keyId: string): Promise<Revocation> {
  return inTransaction(deps.db, async (tx) => {
    await lockSigningKeys(tx);
    const keys = await listSigningKeys(tx);
    const key = keys.find(({ id }) => id === keyId);
    if (!key) {
      const revokedAt = await findRevokedAt(tx, keyId);
      return revokedAt ? { outcome: 'revoked_before', revokedAt } : { outcome: 'unknown', keys };
    }
    await revokeKeys(tx, [keyId]);
    const successorId =
      key.state === 'signing' ? await addSigningKey(tx, deps.secretKey, 0, key.family) : null;
    await recordChange(tx, deps.auditLog, null, {
      action: 'signing_key_revoked',
      actorId: null,
      resourceType: 'signing_key',
      resourceId: keyId,
      details: { via: 'command_line', successor: successorId },
    });
    return { outcome: 'revoked', successorId };
  });
}

/**
 * Revokes every key, of every purpose, without decrypting any, and creates new ones encrypted under the current SECRET_KEY.
 * Returns the new key of sessions.
 */
export function resetSigningKeys(deps: KeyDeps): Promise<{ keyId: string; revoked: string[] }> {
  return inTransaction(deps.db, async (tx) => {
    await lockSigningKeys(tx);
    const revoked = await findKeyIds(tx);
    await revokeKeys(tx, revoked);
    const keyId = await addSigningKey(tx, deps.secretKey, 0);
    await addMissingKeys(tx, deps.secretKey);
    await recordChange(tx, deps.auditLog, null, {
      action: 'signing_keys_reset',
      actorId: null,
      resourceType: 'signing_key',
      resourceId: keyId,
      details: { via: 'command_line', revoked },
    });
    return { keyId, revoked };
  });
}

/**
 * Ends the sessions whose refresh token was signed by a revoked key. Returns how many it ended, and `done` if none is
 * left. It is not done while another transaction locks such a session, nor in the first seconds, when an instance may
 * still sign with the key. It can be repeated and interrupted at any time; the clean-up ends the remaining sessions.
 */
export async function endSessionsOfRevokedKeys(db: Db): Promise<{ ended: number; done: boolean }> {
  const keys = await findUnsweptKeys(db, KEY_SPREAD_SECONDS);
  const keyIds = keys.map((key) => key.key_id);
  let [ended, left] = [0, 0];
  if (keys.length > 0)
    for (let last: string | null = null; ; ) {
      const page = await endSessionsOfKeys(db, keyIds, last);
      ended += page.ended;
      left += page.due - page.ended;
      if (page.last === null) break;
      last = page.last;
    }
  if (left === 0)
    await markSwept(
      db,
      keys.filter((key) => key.settled).map((key) => key.key_id),
    );
  return { ended, done: left === 0 && keys.every((key) => key.settled) };
}
