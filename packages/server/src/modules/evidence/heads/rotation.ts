// Replaces the key that signs the heads of the audit log, for `castellan audit key --rotate`.
// It must not delete a key: heads that it signed are verified for years.
import { inTransaction } from '../../../platform/db/transaction.ts';
import { writeVerifierKey } from '../../../platform/evidence/signed-note.ts';
import type { Db } from '../../../schema/database.ts';
import { type ChangeLog, recordChange } from '../../audit/service.ts';
import { appendSeal, signHead } from '../log.ts';
import { lockHead, readHead, writeHead } from '../log-store.ts';
import { addKey, findKey, listVerifierKeys } from './keys.ts';
import { requireSigned } from './signed.ts';

export type RotationDeps = { db: Db; auditLog: ChangeLog; secretKey: Buffer };

/** The new key as verifiers read it, and the head that both keys signed. */
export type Rotated = { verifierKey: string; checkpoint: string };

/**
 * Makes a new key. A seal says so, and the head with it is signed by both keys, so that verifiers who trust the old one can trust the new one.
 * Returns null if nothing was ever sealed. Throws AuditKeyLostError if SECRET_KEY does not open the old key,
 * and DamagedLogError if the old key has not signed the head.
 */
export function rotateAuditKey(deps: RotationDeps): Promise<Rotated | null> {
  return inTransaction(deps.db, async (tx) => {
    const head = await lockHead(tx);
    const old = await findKey(tx, deps.secretKey);
    if (!head.log || !old) return null;
    requireSigned(head, old);
    const key = await addKey(tx, deps.secretKey);
    const name = head.log.origin;
    const verifierKey = writeVerifierKey({ name, publicKey: key.publicKey });
    const grown = await appendSeal(tx, head, {
      kind: 'key',
      old_key: writeVerifierKey({ name, publicKey: old.publicKey }),
      new_key: verifierKey,
      at: new Date().toISOString(),
    });
    const signed = signHead(grown, [old, key]);
    await writeHead(tx, signed, false);
    await recordChange(tx, deps.auditLog, null, {
      action: 'audit_key_rotated',
      actorId: null,
      resourceType: 'audit_log',
      resourceId: head.log.id,
      details: { old_key: old.id, new_key: key.id, via: 'command_line' },
    });
    if (signed.checkpoint === null) throw new Error('a log has a head');
    return { verifierKey, checkpoint: signed.checkpoint };
  });
}

/** Returns every key under the name of the current log, newest first; none if nothing was ever sealed. */
export async function listAuditKeys(db: Db): Promise<string[]> {
  const { log } = await readHead(db);
  return log ? listVerifierKeys(db, log.origin) : [];
}
