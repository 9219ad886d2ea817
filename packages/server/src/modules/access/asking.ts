// Who may ask about whom: everybody about themselves, and holders of a permission about others.
// It must not answer a question.
import type { Permission } from '@castellan/contract/permissions';
import type { Caller } from '../authz/caller.ts';
import type { Graph } from '../authz/graph/graph.ts';
import { requireMayUse } from '../authz/requirements/call.ts';
import { isOneself, type LoadedSubjects } from '../authz/subjects.ts';

/**
 * Requires the permission unless every subject is the caller. An unknown subject counts as another one. Throws
 * `permission_denied` and `step_up_required`.
 */
export function requireMayAsk(
  caller: Caller,
  { subjects, graph }: LoadedSubjects,
  permission: Permission,
): void {
  if (subjects.every((subject) => isOneself(caller.principal, subject))) return;
  requireMayAskAboutOthers(caller, graph, permission);
}

/** Requires the permission to ask about others. Throws `permission_denied` and `step_up_required`. */
export const requireMayAskAboutOthers = (caller: Caller, graph: Graph, permission: Permission): void =>
  requireMayUse(
    { ...caller, graph },
    permission,
    `You may only ask about yourself. Asking about others requires the permission ${permission}.`,
  );
