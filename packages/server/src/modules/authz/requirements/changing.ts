// Rules of changing what a role or a permission requires: nobody lifts what they could not pass, nobody locks themselves out.
import { reaches } from '@castellan/contract/authentication';
import { sql } from 'kysely';
import { onlyRow } from '../../../platform/db/sql.ts';
import { AppError } from '../../../platform/errors.ts';
import type { Row } from '../../../schema/database.ts';
import type { FreshnessDeps } from '../../factors/service.ts';
import type { Entitled } from '../change.ts';
import { type Need, needIn } from '../graph/needs.ts';
import { requireFreshCall, requireProof } from './call.ts';

/** What is required before and after a change. `isLater`: it counts from a later time on. */
export type Replaced = { before: Need | null; after: Need | null; isLater?: boolean };

/**
 * Requires that the call has a fresh proof, and one that meets both requirements. Throws `step_up_required` (403). A service
 * account, which proves nothing, may only make a requirement stricter: `user_required` (403) otherwise.
 */
export async function requireMayReplace(
  { tx, caller: { principal } }: Entitled,
  deps: FreshnessDeps,
  replaced: Replaced,
): Promise<void> {
  if (principal.type !== 'user') {
    if (isWeaker(replaced)) throw new AppError('user_required');
    return;
  }
  await requireFreshCall(tx, deps, principal);
  for (const need of [replaced.before, replaced.after]) if (need) await requireProof(tx, principal, need);
}

/**
 * Requires of a change that takes away these permissions, or their names, that the call meets what they require: under the same
 * name, others could then be made that require nothing. Throws `step_up_required` and, for service accounts,
 * `user_required` (403).
 */
export async function requireMayLift(
  { tx, caller: { principal } }: Entitled,
  permissionIds: readonly string[],
): Promise<void> {
  const { rows } = await sql<Pick<Row<'permissions'>, 'required_acr' | 'max_auth_age'>>`
    select distinct required_acr, max_auth_age from permissions
    where id = any(${permissionIds}::uuid[]) and required_acr is not null`.execute(tx);
  const needs = rows.map(needIn).filter((need) => need !== null);
  if (needs.length > 0 && principal.type !== 'user') throw new AppError('user_required');
  if (principal.type !== 'user') return;
  for (const need of needs) await requireProof(tx, principal, need);
}

function isWeaker({ before, after, isLater = false }: Replaced): boolean {
  if (!before) return false;
  if (!after || isLater || !reaches(after.acr, before.acr)) return true;
  if (before.maxAgeSeconds === null) return false;
  return after.maxAgeSeconds === null || after.maxAgeSeconds > before.maxAgeSeconds;
}

/** Throws `passkeys_unavailable` (409) for a requirement that nobody here could meet. */
export function requireReachable(
  { passkeysAvailable }: { passkeysAvailable: boolean },
  requiredAcr: string | null,
): void {
  if (requiredAcr === 'phr' && !passkeysAvailable) throw new AppError('passkeys_unavailable');
}

/** The database's clock. */
export async function timeIn({ tx }: Entitled): Promise<Date> {
  const answer = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(tx);
  return onlyRow(answer).now;
}
