// Decides whether a subject may do something, with the reason: what decisions, searches and explanations answer.
// It has no side effects. The guard stands on the same rule (`grantOf` in effective.ts).
import type { DecisionReason, SubjectType } from '@castellan/contract/decisions';
import { grantOf, type Subject } from './effective.ts';
import type { Graph } from './graph/graph.ts';
import { bothOf, type Need } from './graph/needs.ts';
import { accountLevel, type Policy } from './requirements/account.ts';
import { meets, type Proved } from './requirements/call.ts';
import { everywhere } from './scope.ts';

/** A subject whose state counts. Only users have something to prove. */
export type Candidate = Subject & { type: SubjectType; is_active: boolean };

/** How the subject was authenticated, and by what that is judged. `now`: in milliseconds since 1970. */
export type Judged = {
  proved: Proved;
  /** The setting, if what the account must have proved counts as well; null otherwise. */
  accountPolicy: Policy | null;
  now: number;
};

/** Nothing is known about the subject but that it exists. */
export const unproved: Judged = { proved: { acr: 'aal1', authTime: null }, accountPolicy: null, now: 0 };

export type Decision = {
  decision: boolean;
  reason: DecisionReason;
  /** As in the catalogue; as asked if there is no such permission. */
  permission: string;
  /** With `step_up_required`: what the subject must have proved. */
  unmet: Need | null;
};

/**
 * Returns whether the subject may do what the permission names. `subject` is undefined if nobody has the reference. The
 * name is compared ignoring case. Nobody may do what is no permission, superusers included.
 */
export function decide(
  graph: Graph,
  subject: Candidate | undefined,
  permissionName: string,
  judged: Judged = unproved,
): Decision {
  const id = graph.permissions.idOf(permissionName);
  const reason = reasonOf(graph, subject, id);
  const isHeld = reason === 'superuser' || reason === 'granted';
  const unmet = isHeld && subject && id !== undefined ? unmetNeed(graph, subject, id, judged) : null;
  return {
    decision: isHeld && unmet === null,
    reason: unmet === null ? reason : 'step_up_required',
    unmet,
    permission: (id === undefined ? undefined : graph.permissions.nameOf(id)) ?? permissionName,
  };
}

/** Returns what the permission and the account ask for, if the subject has not proved it; null otherwise. */
function unmetNeed(
  graph: Graph,
  subject: Candidate,
  permissionId: string,
  { proved, accountPolicy: policy, now }: Judged,
): Need | null {
  if (subject.type !== 'user') return null;
  const ofAccount = policy && accountLevel({ graph, policy, now }, subject);
  const need = bothOf(
    graph.permissions.needOf(permissionId) ?? null,
    ofAccount && { acr: ofAccount, maxAgeSeconds: null },
  );
  return need && !meets(proved, need, now) ? need : null;
}

function reasonOf(
  graph: Graph,
  subject: Candidate | undefined,
  permissionId: string | undefined,
): DecisionReason {
  if (!subject) return 'unknown_subject';
  if (permissionId === undefined) return 'unknown_permission';
  if (!subject.is_active) return 'inactive';
  return grantOf(graph, everywhere(subject), permissionId) ?? 'not_granted';
}
