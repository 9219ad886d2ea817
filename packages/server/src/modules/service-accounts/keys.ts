// Creates, rotates, lists and revokes the API keys of a service account.
// The text of a key leaves this file only in the response that creates it.
import type {
  ApiKey,
  CreateApiKeyBody,
  NewApiKey,
  RotateApiKeyBody,
} from '@castellan/contract/service-accounts';
import { readTime, requireFuture } from '../../platform/db/database-time.ts';
import { AppError } from '../../platform/errors.ts';
import { allHandled } from '../../platform/fields.ts';
import type { Settle } from '../../platform/http/plugins/idempotency.ts';
import { newId } from '../../platform/ids.ts';
import { createApiKey } from '../../platform/security/api-key.ts';
import { cleanName } from '../../platform/security/record-text.ts';
import type { Tx } from '../../schema/database.ts';
import { type Caller, requireLasting } from '../authz/caller.ts';
import {
  change,
  type Entitled,
  type Entry,
  isNonEmpty,
  type Locking,
  lockSubjects,
} from '../authz/change.ts';
import { findGrantable, requireMayGrantPermissions, requireMayGrantRoles } from '../authz/delegation.ts';
import { sameAccess } from '../authz/impact/impact.ts';
import { requirePermissionIds } from '../permissions/service.ts';
import {
  countLiveKeys,
  type Descendant,
  deleteOlderEndedKeys,
  endDescendantsWith,
  endKeyAfter,
  findDescendants,
  findKey,
  findKeysOf,
  findLineage,
  insertKey,
  type KeyRecord,
  type Lineage,
  revokeKeys,
} from './keys-store.ts';
import { accountEntry, requireAccount, requireMayActOn, type ServiceAccountDeps } from './record.ts';
import { type AccountRow, findAccount } from './store.ts';

/** Maximum characters of a name. The database repeats it as a CHECK constraint. */
const MAX_NAME_LENGTH = 250;
/** Maximum live keys of one account. Every further one is one more secret to lose. */
const MAX_LIVE_KEYS = 100;
/** Ended keys that are listed. The audit log has them all. */
const KEPT_ENDED_KEYS = 100;
const DEFAULT_OVERLAP_SECONDS = 86_400;

function toApiKey({ permission_ids, is_ended, lifetime_ms, ...key }: KeyRecord): ApiKey {
  return {
    ...key,
    expires_at: key.expires_at?.toISOString() ?? null,
    last_used_at: key.last_used_at?.toISOString() ?? null,
    created_at: key.created_at.toISOString(),
    revoked_at: key.revoked_at?.toISOString() ?? null,
  };
}

/** Returns the keys of an account, newest first. Throws `service_account_not_found`. */
export async function listKeys({ db }: ServiceAccountDeps, accountId: string): Promise<ApiKey[]> {
  if (!(await findAccount(db, accountId))) throw new AppError('service_account_not_found');
  return (await findKeysOf(db, accountId)).map(toApiKey);
}

/** Returns a key of an account. Throws `api_key_not_found`. */
export async function getKey({ db }: ServiceAccountDeps, accountId: string, id: string): Promise<ApiKey> {
  const key = await findKey(db, accountId, id);
  if (!key) throw new AppError('api_key_not_found');
  return toApiKey(key);
}

/** Creates a key. Throws 404 (account, permission), 403 (it would carry permissions that the caller lacks), 409, 422. */
export async function createKey(
  deps: ServiceAccountDeps,
  caller: Caller,
  accountId: string,
  { body, settle }: { body: CreateApiKeyBody; settle: Settle<NewApiKey> },
): Promise<NewApiKey> {
  const { name: given, expires_at = null, permissions = null, ...rest } = body;
  allHandled(rest);
  const name = cleanName(given, MAX_NAME_LENGTH);
  return change(
    deps,
    caller,
    async (locking) => {
      const { entitled, account } = await requireAccount(locking, accountId);
      const permissionIds = permissions && (await requirePermissionIds(locking.tx, permissions));
      const expiresAt = await requireFuture(locking.tx, expires_at);
      const issued = await issue(entitled, account, { name, permissionIds, expiresAt });
      const { id: key_id, prefix } = issued;
      return entitled.done(
        issued,
        sameAccess,
        accountEntry('api_key_created', accountId, {
          details: {
            ...subjectKey(key_id),
            prefix,
            key_name: name,
            expires_at: issued.expires_at,
            permissions: issued.permissions,
            narrowed_by: issued.narrowed_by,
          },
        }),
      );
    },
    settle,
  );
}

/**
 * Names the key that an entry is about. `key_id` is overwritten with the caller's own key if a key makes the change;
 * entries of earlier versions have `key_id` alone.
 */
const subjectKey = (id: string) => ({ key_id: id, api_key_id: id });

type Wanted = {
  name: string;
  permissionIds: readonly string[] | null;
  /** Whether `permissionIds` are what the maker of a former key held. */
  isNarrowedByMaker?: boolean;
  expiresAt: Date | null;
  /** Id of the key that the new one replaces: it does not count. */
  replaces?: string;
};

/**
 * Checks that the caller holds what the key would carry, and inserts it: narrowed to that unless the caller is a superuser,
 * and ending with the caller's own key at the latest. Returns it with its text. Throws 403, 409.
 */
async function issue(entitled: Entitled, account: AccountRow, wanted: Wanted): Promise<NewApiKey> {
  requireLasting(entitled.caller);
  if (wanted.permissionIds === null) await requireMayGrantRoles(entitled, account.role_ids);
  else await requireMayGrantPermissions(entitled, wanted.permissionIds);
  const narrowsByMaker = wanted.permissionIds === null && !entitled.isSuperuser;
  const permissionIds = narrowsByMaker
    ? await findGrantable(entitled, account.role_ids)
    : wanted.permissionIds;
  const maker = await lineageOfCaller(entitled);
  if ((await countLiveKeys(entitled.tx, account.id, wanted.replaces ?? null)) >= MAX_LIVE_KEYS)
    throw new AppError('too_many_keys');
  await deleteOlderEndedKeys(entitled, account.id, KEPT_ENDED_KEYS);
  const { text, prefix, hash } = createApiKey();
  const id = newId();
  await insertKey(entitled, {
    id,
    service_account_id: account.id,
    name: wanted.name,
    prefix,
    secret_hash: hash,
    expires_at: earlierOf(wanted.expiresAt, maker?.expires_at ?? null),
    permissionIds,
    is_narrowed_by_maker: narrowsByMaker || (wanted.isNarrowedByMaker ?? false),
    made_with_key_ids: maker?.key_ids ?? [],
  });
  return { ...toApiKey(await readKey(entitled.tx, account.id, id)), key: text };
}

/** Returns the lineage of the key that the caller presents; undefined for a signed-in user. */
async function lineageOfCaller({ tx, caller }: Entitled): Promise<Lineage | undefined> {
  const { principal } = caller;
  if (principal.type === 'user') return undefined;
  const lineage = await findLineage(tx, principal.keyId);
  if (!lineage) throw new AppError('api_key_revoked');
  return lineage;
}

/** Null is never. */
const earlierOf = (one: Date | null, other: Date | null): Date | null =>
  one === null || (other !== null && other < one) ? other : one;

async function readKey(tx: Tx, accountId: string, id: string): Promise<KeyRecord> {
  const key = await findKey(tx, accountId, id);
  if (!key) throw new AppError('api_key_not_found');
  return key;
}

/** Replaces a key: the old one ends after the overlap. Throws as `createKey` does, and `key_ended` (409). */
export async function rotateKey(
  deps: ServiceAccountDeps,
  caller: Caller,
  { accountId, keyId }: { accountId: string; keyId: string },
  { body, settle }: { body: RotateApiKeyBody; settle: Settle<NewApiKey> },
): Promise<NewApiKey> {
  const { overlap_seconds = DEFAULT_OVERLAP_SECONDS, expires_at, ...rest } = body ?? {};
  allHandled(rest);
  return change(
    deps,
    caller,
    async (locking) => {
      const { entitled, account } = await requireAccount(locking, accountId);
      const old = await readKey(locking.tx, accountId, keyId);
      if (old.is_ended) throw new AppError('key_ended');
      const expiresAt =
        expires_at === undefined
          ? await sameLifetime(locking.tx, old)
          : await requireFuture(locking.tx, expires_at);
      const issued = await issue(entitled, account, {
        name: old.name,
        permissionIds: old.permission_ids,
        isNarrowedByMaker: old.narrowed_by === 'maker',
        expiresAt,
        replaces: keyId,
      });
      // After the checks of the caller, whose own key this may be.
      const endsAt = await endKeyAfter(entitled, keyId, overlap_seconds);
      await endDescendantsWith(entitled, keyId, issued.id);
      const { id: key_id, prefix } = issued;
      return entitled.done(
        issued,
        sameAccess,
        accountEntry('api_key_rotated', accountId, {
          details: {
            ...subjectKey(key_id),
            prefix,
            key_name: old.name,
            replaced_key_id: keyId,
            ends_at: endsAt,
          },
        }),
      );
    },
    settle,
  );
}

async function sameLifetime(tx: Tx, { lifetime_ms }: KeyRecord): Promise<Date | null> {
  return lifetime_ms === null ? null : new Date((await readTime(tx)).getTime() + lifetime_ms);
}

type EndedKey = {
  /** With the number of live keys that were made with it, directly or through others. */
  key: ApiKey & { descendants: number };
  wasLive: boolean;
};

/**
 * Ends a key at the next request, and with `withDescendants` the keys that were made with it. Returns it, and whether it
 * was live. Throws 404, 403.
 */
export const endKey = (
  deps: ServiceAccountDeps,
  caller: Caller,
  { accountId, keyId, withDescendants }: { accountId: string; keyId: string; withDescendants: boolean },
): Promise<EndedKey> =>
  change<EndedKey>(deps, caller, async (locking) => {
    if (withDescendants) await lockDescendants(locking, accountId, keyId);
    const { entitled } = await requireAccount(locking, accountId);
    const key = await readKey(locking.tx, accountId, keyId);
    const descendants = await findDescendants(locking.tx, keyId);
    if (withDescendants)
      await requireMayActOn(
        entitled,
        descendants.map((one) => one.service_account_id),
      );
    const ending = [
      ...(key.is_ended ? [] : [{ ...key, service_account_id: accountId }]),
      ...(withDescendants ? descendants : []),
    ];
    await revokeKeys(
      entitled,
      ending.map(({ id }) => id),
    );
    const result = {
      key: {
        ...toApiKey(await readKey(locking.tx, accountId, keyId)),
        descendants: descendants.length,
      },
      wasLive: !key.is_ended,
    };
    const entries: readonly Entry[] = ending.map((one) => revocationEntry(one, keyId));
    return isNonEmpty(entries) ? entitled.done(result, sameAccess, ...entries) : entitled.unchanged(result);
  });

const revocationEntry = ({ id, name, prefix, service_account_id }: Descendant, root: string): Entry =>
  accountEntry('api_key_revoked', service_account_id, {
    details: {
      ...subjectKey(id),
      prefix,
      key_name: name,
      ...(id === root ? {} : { descends_from_key_id: root }),
    },
  });

/**
 * Locks the accounts of a key and of the keys made with it, until no further one appears: an account whose key makes
 * another one in between is locked too.
 */
async function lockDescendants(locking: Locking, accountId: string, keyId: string): Promise<void> {
  let locked = 0;
  const accounts = new Set([accountId]);
  for (;;) {
    for (const one of await findDescendants(locking.tx, keyId)) accounts.add(one.service_account_id);
    if (accounts.size === locked) return;
    locked = accounts.size;
    await lockSubjects(locking, { accounts: [...accounts] });
  }
}
