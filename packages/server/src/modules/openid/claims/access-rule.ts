// Who may sign in to an application: holders of the permission that it requires, and superusers.
import { grantOf, type Subject } from '../../authz/effective.ts';
import type { Graph } from '../../authz/graph/graph.ts';
import { everywhere } from '../../authz/scope.ts';

/** Returns whether the account may use the application now. `graph`: at the stamp of the row, or newer. */
export const meetsRule = (
  graph: Graph,
  account: Pick<Subject, 'is_superuser' | 'role_ids'> & { required_permission_id: string | null },
): boolean =>
  account.required_permission_id === null ||
  grantOf(graph, everywhere(account), account.required_permission_id) !== null;
