// The signing keys, which are stored in the database and loaded by every instance.
// A new key signs only after every instance publishes it and the copies that others keep of the key set contain it.
import type { KeyObject } from 'node:crypto';
import { AppError } from '../../../platform/errors.ts';
import { createSigner } from '../../../platform/security/jwt.ts';
import {
  generateSigningKey,
  importPublicJwk,
  openPrivateKey,
  type PublicJwk,
  sealPrivateKey,
} from '../../../platform/security/signing-keys.ts';
import type { Db, Tx } from '../../../schema/database.ts';
import {
  findMissingFamilies,
  findSigningKeys,
  hasActiveApplication,
  insertSigningKey,
  type KeyFamily,
  lockSigningKeys,
  type StoredKey,
  sessionKeys,
} from './store.ts';

type Signer = ReturnType<typeof createSigner>;
type ApplicationAlgorithm = Extract<KeyFamily, { purpose: 'application' }>['alg'];
type Opened = { id: string; family: KeyFamily; publicJwk: PublicJwk };
type SessionKey = Opened & { publicKey: KeyObject; signer: Signer };
type ApplicationKey = Opened & { privateKey: KeyObject };
/** `signsFrom`: by the monotonic clock `performance.now()`, in milliseconds. */
type Loaded<K extends Opened> = K & { signsFrom: number };

export type KeyRing = {
  /**
   * Reloads the keys and drops deleted ones. Throws `SealedKeyError` if SECRET_KEY does not decrypt a key; the other
   * keys are loaded nevertheless.
   */
  load(): Promise<void>;
  /** Returns the newest key that may sign now. Throws if no key is loaded. */
  current(): { id: string; signer: Signer };
  /**
   * Returns the newest key that may sign tokens of applications now. Throws `temporarily_unavailable` (503) if this instance has
   * none: the first application is younger than its last read, at most 2 s.
   */
  currentOfApplications(alg: ApplicationAlgorithm): { id: string; privateKey: KeyObject };
  /** Returns a key that may have signed earlier; undefined if it is retired or revoked. */
  find(keyId: string): { id: string; signer: Signer } | undefined;
  /** Returns the keys of sessions. */
  publicKeys(): ReadonlyMap<string, KeyObject>;
  /** Returns the keys of one purpose as they are published, or all of them. */
  publicJwks(purpose?: KeyFamily['purpose']): readonly PublicJwk[];
  /** Returns whether there was an active application when the keys were last read. Sends no statement. */
  hasActiveApplication(): boolean;
  /** Adds the keys that the database lacks: see `addMissingKeys`. */
  addMissing(tx: Tx): Promise<void>;
};

/**
 * How long a response with the key set may be cached, in seconds. Verifiers with their own interval keep their copy longer.
 */
export const KEY_SET_MAX_AGE_SECONDS = 60;
/** The same for the key set of applications. Their keys are announced for a day. */
export const APPLICATION_KEY_SET_MAX_AGE_SECONDS = 300;
/** How often an instance reloads the keys, in seconds. */
export const KEY_RELOAD_SECONDS = 2;
/** Seconds until every instance has loaded a change of the keys: two reload intervals, and the time of a read. */
export const KEY_SPREAD_SECONDS = 5;

export function createKeyRing(deps: { db: Db; secretKey: Buffer }): KeyRing {
  let ofSessions: Loaded<SessionKey>[] = [];
  let ofApplications: Loaded<ApplicationKey>[] = [];
  let publicKeys: ReadonlyMap<string, KeyObject> = new Map();
  let isAnyActive = false;
  return {
    async load() {
      // Read before the keys: an instance that learns of an application has its keys.
      const isActive = await hasActiveApplication(deps.db);
      const rows = await findSigningKeys(deps.db);
      const { session = [], application = [] } = Object.groupBy(rows, ({ family }) => family.purpose);
      const faults: unknown[] = [];
      ofSessions = openNew(session, ofSessions, (row) => openSessionKey(row, deps.secretKey), faults);
      ofApplications = openNew(
        application,
        ofApplications,
        (row) => openApplicationKey(row, deps.secretKey),
        faults,
      );
      publicKeys = new Map(ofSessions.map((key) => [key.id, key.publicKey]));
      isAnyActive = isActive;
      if (faults.length > 0) throw faults[0];
    },
    current() {
      const key = signingOne(ofSessions);
      if (!key) throw new Error('no signing key is loaded');
      return key;
    },
    currentOfApplications(alg) {
      const key = signingOne(ofApplications.filter(({ family }) => family.alg === alg));
      if (!key) throw new AppError('temporarily_unavailable');
      return key;
    },
    find: (keyId) => ofSessions.find((key) => key.id === keyId),
    publicKeys: () => publicKeys,
    publicJwks: (purpose) =>
      [...ofSessions, ...ofApplications]
        .filter(({ family }) => purpose === undefined || family.purpose === purpose)
        .map(({ publicJwk }) => publicJwk),
    hasActiveApplication: () => isAnyActive,
    addMissing: (tx) => addMissingKeys(tx, deps.secretKey),
  };
}

/** Returns the keys of the rows: known ones as they are, others opened. Leaves out those that cannot be opened. */
function openNew<K extends Opened>(
  rows: readonly StoredKey[],
  known: readonly Loaded<K>[],
  open: (row: StoredKey) => K,
  faults: unknown[],
): Loaded<K>[] {
  const now = performance.now();
  const byId = new Map(known.map((key) => [key.id, key]));
  const keys: Loaded<K>[] = [];
  for (const row of rows)
    try {
      keys.push({ ...(byId.get(row.key_id) ?? open(row)), signsFrom: now + row.waits_ms });
    } catch (error) {
      faults.push(error);
    }
  return keys;
}

/** Of keys that are sorted newest first. If all of them are pending because a clock was set back, the oldest one signs. */
function signingOne<K extends Opened>(keys: readonly Loaded<K>[]): Loaded<K> | undefined {
  const now = performance.now();
  return keys.find((one) => one.signsFrom <= now) ?? keys.at(-1);
}

function openSessionKey(row: StoredKey, secretKey: Buffer): SessionKey {
  const { id, privateKey, publicKey, ...opened } = openKey(row, secretKey);
  return { id, publicKey, ...opened, signer: createSigner({ kid: id, privateKey }) };
}

function openApplicationKey(row: StoredKey, secretKey: Buffer): ApplicationKey {
  const { publicKey: _, ...opened } = openKey(row, secretKey);
  return opened;
}

const openKey = (
  { key_id: id, family, public_jwk: publicJwk, private_key_sealed }: StoredKey,
  secretKey: Buffer,
) => ({
  id,
  family,
  publicJwk,
  publicKey: importPublicJwk(publicJwk),
  privateKey: openPrivateKey(secretKey, id, private_key_sealed),
});

/**
 * Adds a key of each family that has none: one for sessions, and those for applications when there is an application. Making
 * the latter takes about 0.1 s, once in the life of a database.
 */
export async function addMissingKeys(tx: Tx, secretKey: Buffer): Promise<void> {
  if ((await findMissingFamilies(tx)).length === 0) return;
  await lockSigningKeys(tx);
  for (const family of await findMissingFamilies(tx)) await addSigningKey(tx, secretKey, 0, family);
}

/** Creates a key that signs after `delaySeconds`. Returns its id. */
export async function addSigningKey(
  tx: Tx,
  secretKey: Buffer,
  delaySeconds: number,
  family: KeyFamily = sessionKeys,
): Promise<string> {
  const { kid, publicJwk, privateDer } = await generateSigningKey(family.alg);
  await insertSigningKey(tx, family, {
    key_id: kid,
    public_jwk: JSON.stringify(publicJwk),
    private_key_sealed: sealPrivateKey(secretKey, kid, privateDer),
    delaySeconds,
  });
  privateDer.fill(0);
  return kid;
}
