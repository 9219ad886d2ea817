// The signing keys, which are stored in the database and loaded by every instance.
// A new key signs only after every instance publishes it and the copies that others keep of the key set contain it.
import type { KeyObject } from 'node:crypto';
import { createSigner } from '../../platform/security/jwt.ts';
import {
  generateSigningKey,
  importPublicJwk,
  openPrivateKey,
  type PublicJwk,
  sealPrivateKey,
} from '../../platform/security/signing-keys.ts';
import type { Db, Tx } from '../../schema/database.ts';
import { findSigningKeys, insertSigningKey } from './key-store.ts';

type Signer = ReturnType<typeof createSigner>;
type Key = {
  id: string;
  publicJwk: PublicJwk;
  publicKey: KeyObject;
  signer: Signer;
  /** By the monotonic clock `performance.now()`, in milliseconds. */
  signsFrom: number;
};

export type KeyRing = {
  /**
   * Reloads the keys and drops deleted ones. Throws `SealedKeyError` if SECRET_KEY does not decrypt a key; the other
   * keys are loaded nevertheless.
   */
  load(): Promise<void>;
  /** Returns the newest key that may sign now. Throws if no key is loaded. */
  current(): { id: string; signer: Signer };
  /** Returns a key that may have signed earlier; undefined if it is retired or revoked. */
  find(keyId: string): { id: string; signer: Signer } | undefined;
  publicKeys(): ReadonlyMap<string, KeyObject>;
  publicJwks(): readonly PublicJwk[];
};

/**
 * How long a response with the key set may be cached, in seconds. Verifiers with their own interval keep their copy longer.
 */
export const KEY_SET_MAX_AGE_SECONDS = 60;
/** How often an instance reloads the keys, in seconds. */
export const KEY_RELOAD_SECONDS = 2;
/** Seconds until every instance has loaded a change of the keys: two reload intervals, and the time of a read. */
export const KEY_SPREAD_SECONDS = 5;

export function createKeyRing(deps: { db: Db; secretKey: Buffer }): KeyRing {
  let keys: Key[] = [];
  let publicKeys: ReadonlyMap<string, KeyObject> = new Map();
  return {
    async load() {
      const rows = await findSigningKeys(deps.db);
      const now = performance.now();
      const known = new Map(keys.map((key) => [key.id, key]));
      const opened: Key[] = [];
      let fault: unknown;
      for (const row of rows)
        try {
          const key = known.get(row.key_id) ?? openKey(row, deps.secretKey);
          opened.push({ ...key, signsFrom: now + row.waits_ms });
        } catch (error) {
          fault = error;
        }
      keys = opened;
      publicKeys = new Map(keys.map((key) => [key.id, key.publicKey]));
      if (fault !== undefined) throw fault;
    },
    current() {
      const now = performance.now();
      // Keys are sorted newest first. If all of them are pending because a clock was set back, the oldest one signs.
      const key = keys.find((one) => one.signsFrom <= now) ?? keys.at(-1);
      if (!key) throw new Error('no signing key is loaded');
      return key;
    },
    find: (keyId) => keys.find((key) => key.id === keyId),
    publicKeys: () => publicKeys,
    publicJwks: () => keys.map((key) => key.publicJwk),
  };
}

function openKey(
  row: Awaited<ReturnType<typeof findSigningKeys>>[number],
  secretKey: Buffer,
): Omit<Key, 'signsFrom'> {
  return {
    id: row.key_id,
    publicJwk: row.public_jwk,
    publicKey: importPublicJwk(row.public_jwk),
    signer: createSigner({
      kid: row.key_id,
      privateKey: openPrivateKey(secretKey, row.key_id, row.private_key_sealed),
    }),
  };
}

/** Creates a key that signs after `delaySeconds`. Returns its id. */
export async function addSigningKey(tx: Tx, secretKey: Buffer, delaySeconds: number): Promise<string> {
  const { kid, publicJwk, privateDer } = generateSigningKey();
  await insertSigningKey(tx, {
    key_id: kid,
    public_jwk: JSON.stringify(publicJwk),
    private_key_sealed: sealPrivateKey(secretKey, kid, privateDer),
    delaySeconds,
  });
  privateDer.fill(0);
  return kid;
}
