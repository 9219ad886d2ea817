// Decides whether a call has proved what a permission asks for. It has no side effects.
import { type Acr, levelsFrom, reaches } from '@castellan/contract/authentication';
import { AppError } from '../../../platform/errors.ts';
import { stepUpRequired } from '../../factors/service.ts';
import type { Caller } from '../caller.ts';
import { mayDo } from '../effective.ts';
import type { Graph } from '../graph/graph.ts';
import type { Need } from '../graph/needs.ts';
import { everywhere } from '../scope.ts';

/** How strongly and when somebody was authenticated; null: no time is known. */
export type Proved = { readonly acr: Acr; readonly authTime: Date | null };

/** `now`: in milliseconds since 1970. */
export const meets = ({ acr, authTime }: Proved, need: Need, now: number): boolean =>
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
  return id === undefined ? null : unmetBy(graph, principal.session.context, id, judgedAt);
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
  if (unmet) throw stepUpRequired(unmet);
}

/** How answers to other services tell what is missing: as the parameters of RFC 9470. */
export const toldNeed = ({ acr, maxAgeSeconds }: Need) => ({
  acr_values: levelsFrom(acr).join(' '),
  ...(maxAgeSeconds === null ? {} : { max_age: maxAgeSeconds }),
});
