// Exports what the service keeps about the caller, as one JSON document that is sent while it is read.
// It must not contain a secret, a hash or a credential, nor data of other people.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { MAX_OWN_ENTRIES, type OwnData } from '@castellan/contract/leaving';
import type { PageKey } from '../../platform/cursors.ts';
import { overLimit } from '../../platform/http/plugins/rate-limits.ts';
import type { RateLimitRule } from '../../platform/limits/rate-limit.ts';
import { type EffectivePermissionsDeps, effectivePermissionsOf } from '../access/effective-permissions.ts';
import { listOwnApplications } from '../application-grants/own.ts';
import { readOwnEntries } from '../audit/personal/own-entries.ts';
import { recordBounded, recordEvent } from '../audit/service.ts';
import { type OwnDeviceDeps, readDevices } from '../auth/devices/own-devices.ts';
import type { UserCaller } from '../authz/caller.ts';
import type { PreviewDeps } from '../authz/impact/preview.ts';
import { findShownFactors, type PresentationDeps } from '../factors/service.ts';
import { listOwnIdentities } from '../identities/own.ts';
import { listTokens } from '../personal-tokens/service.ts';
import { listSessions, type SessionDeps } from '../sessions/service.ts';
import { getOwnAttributes } from '../users/attributes/service.ts';
import { getVersionedUser, type UserDeps } from '../users/service.ts';

export type OwnDataDeps = UserDeps &
  SessionDeps &
  EffectivePermissionsDeps &
  OwnDeviceDeps &
  PresentationDeps &
  PreviewDeps;

type Sections = Omit<OwnData, 'exported_at' | 'audit_log'>;
type Read<T> = (deps: OwnDataDeps, caller: UserCaller) => Promise<T>;

/** More than CONCURRENT_SESSION_LIMIT can be. */
const MAX_SESSIONS = 10_000;

/** What is small, by the name of its section: one line each. The contract declares the section in `OwnData`. */
const sections: { [S in keyof Sections]: Read<Sections[S]> } = {
  user: async (deps, { principal }) => (await getVersionedUser(deps, principal.id)).record,
  attributes: async (deps, caller) => (await getOwnAttributes(deps, caller)).record,
  access: (deps, caller) => effectivePermissionsOf(deps, caller, caller.principal),
  sessions: async (deps, { principal: { id, session } }) =>
    (await listSessions(deps, id, session.id, { page: 1, size: MAX_SESSIONS })).data,
  devices: readDevices,
  factors: async (deps, { principal }) => {
    const found = await findShownFactors(deps, principal.id);
    const { totp = null, passkeys = [], recovery_codes = null } = found?.shown ?? {};
    return { totp, passkeys, recovery_codes };
  },
  identities: async (deps, caller) => (await listOwnIdentities(deps, caller)).identities,
  applications: listOwnApplications,
  tokens: (deps, { principal }) => listTokens(deps, principal.id),
};

/** Building the text of a batch takes a few milliseconds. */
const ENTRIES_BATCH = 200;
const exportRule: RateLimitRule = { limit: 1, windowSeconds: 3_600 };

/** Counts the export, and returns its text. Throws `rate_limited` (429). */
export async function beginOwnExport(deps: OwnDataDeps, caller: UserCaller): Promise<AsyncIterable<string>> {
  const { client, principal } = caller;
  const { id } = principal;
  const counted = await deps.limiter.hit(`own-data|${id}`, exportRule);
  if (!counted.allowed) {
    await recordBounded(deps, client, {
      action: 'rate_limited',
      actorId: id,
      resourceId: id,
      details: { limit: 'own-data' },
    });
    throw overLimit(counted);
  }
  await recordEvent(deps, client, { action: 'data_exported', actorId: id, resourceId: id });
  return textOf(deps, caller);
}

async function* textOf(deps: OwnDataDeps, caller: UserCaller): AsyncGenerator<string, void> {
  yield `{"data":{"exported_at":${JSON.stringify(new Date().toISOString())}`;
  for (const [name, read] of Object.entries<Read<unknown>>(sections))
    yield `,${JSON.stringify(name)}:${JSON.stringify(await read(deps, caller))}`;
  yield ',"audit_log":{"entries":[';
  let after: PageKey | null = null;
  let count = 0;
  let isTruncated = false;
  for (let isLast = false; !isLast; ) {
    const batch = await readOwnEntries(deps.db, caller.principal.id, after, ENTRIES_BATCH);
    const shown = batch.slice(0, MAX_OWN_ENTRIES - count);
    isTruncated = shown.length < batch.length;
    const text = shown.map(({ entry }) => JSON.stringify(entry)).join(',');
    if (text !== '') yield count === 0 ? text : `,${text}`;
    count += shown.length;
    after = batch.at(-1)?.key ?? null;
    isLast = isTruncated || batch.length < ENTRIES_BATCH;
    // Other requests run between two batches.
    await nextTurn();
  }
  yield `],"truncated":${isTruncated}}},"message":"Your data."}`;
}
