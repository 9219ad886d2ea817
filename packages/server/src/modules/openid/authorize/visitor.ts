// Decides what a page may tell the person who looks at it. It has no side effects.
import { userPrincipal } from '../../authz/caller.ts';
import { grantOf } from '../../authz/effective.ts';
import type { Graph } from '../../authz/graph/graph.ts';
import { pendingOf } from '../../authz/requirement.ts';
import type { Policy } from '../../authz/requirements/account.ts';
import { unmetBy } from '../../authz/requirements/call.ts';
import { everywhere } from '../../authz/scope.ts';
import type { BrowserSession } from '../../sessions/browser/presentation.ts';

/** Returns whether the person may see the records of applications, as a caller of their operation is judged. */
export function mayReadApplications({
  session,
  graph,
  policy,
  now,
}: {
  session: BrowserSession | null;
  graph: Graph | null;
  policy: Policy;
  now: Date;
}): boolean {
  if (!session || !graph) return false;
  const principal = userPrincipal(session);
  if (pendingOf(principal, { graph, policy, now: now.getTime() })) return false;
  const id = graph.permissions.idOf('application.read');
  return (
    id !== undefined &&
    grantOf(graph, everywhere(session), id) !== null &&
    unmetBy(graph, principal.session.context, id, now.getTime()) === null
  );
}
