// Decides whether a call has proved what a permission asks for. It has no side effects.
import { type Acr, levelsFrom, reaches } from '@castellan/contract/authentication';
import { AppError } from '../../../platform/errors.ts';
import type { Db } from '../../../schema/database.ts';
import { type FreshnessDeps, requireContext, requireFresh, stepUpRequired } from '../../factors/service.ts';
import { type Caller, isByToken, type PersonPrincipal, type Principal } from '../caller.ts';
import { mayDo } from '../effective.ts';
import type { Graph } from '../graph/graph.ts';
import type { Need } from '../graph/needs.ts';
import { everywhere } from '../scope.ts';

/** How strongly and when somebody was authenticated; null: not at all, and no time is known. */
export type Proved = { readonly acr: Acr | null; readonly authTime: Date | null };

/** What a personal access token proves of its owner: nothing. No permission that asks for a proof works with one. */
const nothing: Proved = { acr: null, authTime: null };

/** Returns what the call proves of the person who sends it. */
export const provedBy = ({ session }: PersonPrincipal): Proved => session?.context ?? nothing;

/** Returns the refusal of a call that has not proved enough. Nobody can step up with a personal access token. */
export const proofRequired = (principal: Principal, need: Need): AppError =>
  isByToken(principal)
    ? new AppError('user_session_required', {
        detail:
          'This asks for a proof of who you are, which a personal access token cannot give. Sign in, and use the access token of the session.',
      })
    : stepUpRequired(need);

/** As `requireFresh` of the factors. Throws `user_session_required` (403) for a personal access token, which is never fresh. */
export async function requireFreshCall(
  db: Db,
  deps: FreshnessDeps,
  principal: PersonPrincipal,
): Promise<void> {
  if (isByToken(principal)) throw new AppError('user_session_required');
  await requireFresh(db, deps, principal);
}

/** As `requireContext` of the factors. Throws as `requireFreshCall` for a personal access token. */
export async function requireProof(db: Db, principal: PersonPrincipal, need: Need): Promise<void> {
  if (isByToken(principal)) throw proofRequired(principal, need);
  await requireContext(db, principal.session.context, need);
}

/** `now`: in milliseconds since 1970. */
export const meets = ({ acr, authTime }: Proved, need: Need, now: number): boolean =>
  acr !== null &&
  reaches(acr, need.acr) &&
  (need.maxAgeSeconds === null ||
    (authTime !== null && now - authTime.getTime() <= need.maxAgeSeconds * 1_000));

/** Returns what the permission asks for and the proof does not meet; null if it may be used. */
export function unmetBy(graph: Graph, proved: Proved, permissionId: string, now: number): Need | null {
  const need = graph.permissions.needOf(permissionId);
  return need && !meets(proved, need, now) ? need : null;
}

/** Returns what a permission asks for and this call has not proved; null also for service accounts. */
export function unmetByCall({ principal, graph, judgedAt }: Caller, permission: string): Need | null {
  if (!graph.permissions.hasNeeds || principal.type !== 'user') return null;
  const id = graph.permissions.idOf(permission);
  return id === undefined ? null : unmetBy(graph, provedBy(principal), id, judgedAt);
}

/** Returns whether this call may use the permission: its caller holds it, and has proved what it asks for. */
export const mayUse = (caller: Caller, permission: string): boolean =>
  mayDo(caller.graph, everywhere(caller.principal.subject), permission) &&
  unmetByCall(caller, permission) === null;

/** Throws `permission_denied` (403) unless the caller holds the permission, and `step_up_required` (403) unless it may use it. */
export function requireMayUse(caller: Caller, permission: string, detail?: string): void {
  if (!mayDo(caller.graph, everywhere(caller.principal.subject), permission))
    throw new AppError('permission_denied', {
      ...(detail === undefined ? {} : { detail }),
      requiredPermission: permission,
    });
  const unmet = unmetByCall(caller, permission);
  if (unmet) throw proofRequired(caller.principal, unmet);
}

/** How answers to other services tell what is missing: as the parameters of RFC 9470. */
export const toldNeed = ({ acr, maxAgeSeconds }: Need) => ({
  acr_values: levelsFrom(acr).join(' '),
  ...(maxAgeSeconds === null ? {} : { max_age: maxAgeSeconds }),
});
