// Decides whether a subject may do something, with the reason: what decisions, searches and explanations answer.
// It has no side effects. The guard stands on the same rule (`grantOf` in effective.ts).
import type { DecisionReason } from '@castellan/contract/decisions';
import { grantOf, type Subject } from './effective.ts';
import type { Graph } from './graph/graph.ts';
import { everywhere } from './scope.ts';

/** A subject whose state counts. */
export type Candidate = Subject & { is_active: boolean };

export type Decision = {
  decision: boolean;
  reason: DecisionReason;
  /** As in the catalogue; as asked if there is no such permission. */
  permission: string;
};

/**
 * Returns whether the subject may do what the permission names. `subject` is undefined if nobody has the reference. The
 * name is compared ignoring case. Nobody may do what is no permission, superusers included.
 */
export function decide(graph: Graph, subject: Candidate | undefined, permissionName: string): Decision {
  const id = graph.permissions.idOf(permissionName);
  const reason = reasonOf(graph, subject, id);
  return {
    decision: reason === 'superuser' || reason === 'granted',
    reason,
    permission: (id === undefined ? undefined : graph.permissions.nameOf(id)) ?? permissionName,
  };
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
