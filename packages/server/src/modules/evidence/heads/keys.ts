// The keys that sign the heads of the audit log: made when they are first needed, stored encrypted.
// A private key must not leave this module.
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
} from 'node:crypto';
import { sql } from 'kysely';
import { publicKeyOf, rawPublicKey, writeVerifierKey } from '../../../platform/evidence/signed-note.ts';
import { seal, UnsealError, unseal } from '../../../platform/security/sealing.ts';
import type { Db, Row, Tx } from '../../../schema/database.ts';

export type AuditKey = { id: string; publicKey: KeyObject; privateKey: KeyObject };

type StoredKey = Pick<Row<'audit_keys'>, 'key_id' | 'private_key_sealed'>;

/** SECRET_KEY does not open the key: it was encrypted with another one, or is damaged. */
export class AuditKeyLostError extends Error {
  override readonly name = 'AuditKeyLostError';
}

/** Returns the key that signs now; null if there is none. Throws AuditKeyLostError. */
export async function findKey(db: Db, secretKey: Buffer): Promise<AuditKey | null> {
  const { rows } = await sql<StoredKey>`
    select key_id, private_key_sealed from audit_keys where retired_at is null
    order by created_at desc, key_id limit 1`.execute(db);
  const [row] = rows;
  return row ? open(row, secretKey) : null;
}

function open({ key_id: id, private_key_sealed }: StoredKey, secretKey: Buffer): AuditKey {
  try {
    const der = unseal(secretKey, { kind: 'audit key', id }, private_key_sealed);
    const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
    // Not the stored one: a change of the database could put another in its place.
    return { id, publicKey: createPublicKey(privateKey), privateKey };
  } catch (cause) {
    if (!(cause instanceof UnsealError)) throw cause;
    throw new AuditKeyLostError(`SECRET_KEY does not open the key ${id} of the audit log`, { cause });
  }
}

/** Makes a key that signs from now on; the earlier ones sign no more. */
export async function addKey(tx: Tx, secretKey: Buffer): Promise<AuditKey> {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const raw = rawPublicKey(publicKey);
  const id = createHash('sha256').update(raw).digest('hex').slice(0, 16);
  const der = privateKey.export({ format: 'der', type: 'pkcs8' });
  const sealed = seal(secretKey, { kind: 'audit key', id }, der);
  der.fill(0);
  await sql`update audit_keys set retired_at = clock_timestamp() where retired_at is null`.execute(tx);
  await sql`
    insert into audit_keys (key_id, public_key, private_key_sealed) values (${id}, ${raw}, ${sealed})`.execute(
    tx,
  );
  return { id, publicKey, privateKey };
}

/** Returns the public keys, also former ones, whose private part SECRET_KEY opens: others may be whose they like. */
export async function findOwnKeys(db: Db, secretKey: Buffer): Promise<KeyObject[]> {
  const { rows } = await sql<StoredKey>`select key_id, private_key_sealed from audit_keys`.execute(db);
  return rows.flatMap((row) => {
    try {
      return [open(row, secretKey).publicKey];
    } catch (error) {
      if (error instanceof AuditKeyLostError) return [];
      throw error;
    }
  });
}

/** Returns every key under the name of a log, as verifiers read them, newest first. */
export async function listVerifierKeys(db: Db, origin: string): Promise<string[]> {
  const { rows } = await sql<Pick<Row<'audit_keys'>, 'public_key'>>`
    select public_key from audit_keys order by retired_at desc nulls first, created_at desc`.execute(db);
  return rows.map(({ public_key }) => writeVerifierKey({ name: origin, publicKey: publicKeyOf(public_key) }));
}
