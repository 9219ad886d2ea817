// Decides what a page may tell the person who looks at it. It has no side effects.
import { grantOf } from '../../authz/effective.ts';
import type { Graph } from '../../authz/graph/graph.ts';
import { everywhere } from '../../authz/scope.ts';
import type { BrowserSession } from '../../sessions/browser/presentation.ts';

/** Returns whether the person may see the records of applications. */
export function mayReadApplications({
  session,
  graph,
}: {
  session: BrowserSession | null;
  graph: Graph | null;
}): boolean {
  const id = graph?.permissions.idOf('application.read');
  return !!session && !!graph && id !== undefined && grantOf(graph, everywhere(session), id) !== null;
}
