// The signing keys of this deployment, kept in the database and known to every instance.
// A new key signs only after every instance publishes it and cached key sets have had time to learn it.
import type { KeyObject } from 'node:crypto';
import type { Db, Tx } from '../../database.ts';
import { createSigner } from '../../platform/security/jwt.ts';
import {
  generateSigningKey,
  importPublicJwk,
  openPrivateKey,
  type PublicJwk,
  sealPrivateKey,
} from '../../platform/security/signing-keys.ts';
import { findSigningKeys, insertSigningKey } from './key-store.ts';

type Signer = ReturnType<typeof createSigner>;
type Key = {
  id: string;
  publicJwk: PublicJwk;
  publicKey: KeyObject;
  signer: Signer;
  /** On the clock of `performance.now()`, which nobody sets. */
  signsFrom: number;
};

export type KeyRing = {
  /** Reads the keys again; throws when SECRET_KEY does not open them. */
  load(): Promise<void>;
  /** The newest key that may sign now. Throws before the first load. */
  current(): { id: string; signer: Signer };
  /** A key that may have signed earlier; undefined once it is retired. */
  find(keyId: string): { id: string; signer: Signer } | undefined;
  publicKeys(): ReadonlyMap<string, KeyObject>;
  publicJwks(): readonly PublicJwk[];
};

/** How long other services may cache the key set, seconds. */
export const KEY_SET_MAX_AGE_SECONDS = 300;
/** How often an instance reads the keys again, seconds: it knows and publishes a new one after this. */
export const KEY_RELOAD_SECONDS = 60;
/** How long after it is made a key signs: by then every instance publishes it and no cache is older. */
export const KEY_DELAY_SECONDS = KEY_SET_MAX_AGE_SECONDS + 2 * KEY_RELOAD_SECONDS;

export function createKeyRing(deps: { db: Db; secretKey: Buffer }): KeyRing {
  let keys: Key[] = [];
  let publicKeys: ReadonlyMap<string, KeyObject> = new Map();
  return {
    async load() {
      const rows = await findSigningKeys(deps.db);
      const now = performance.now();
      const known = new Map(keys.map((key) => [key.id, key]));
      keys = rows.map((row) => ({
        ...(known.get(row.key_id) ?? openKey(row, deps.secretKey)),
        signsFrom: now + row.waits_ms,
      }));
      publicKeys = new Map(keys.map((key) => [key.id, key.publicKey]));
    },
    current() {
      const now = performance.now();
      // Newest first. Where every key still waits (a clock that was set back), the oldest one signs.
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
  const publicJwk = row.public_jwk as PublicJwk;
  return {
    id: row.key_id,
    publicJwk,
    publicKey: importPublicJwk(publicJwk),
    signer: createSigner({
      kid: row.key_id,
      privateKey: openPrivateKey(secretKey, row.key_id, row.private_key_sealed),
    }),
  };
}

/** Makes a key that signs after `delaySeconds`. Answers its id. */
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
