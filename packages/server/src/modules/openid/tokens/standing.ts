// Whether the tokens of a grant count now: the account may use the application, and signed in as it must.
// It must end nothing: what refuses today may be met again tomorrow.

import type { Graph } from '../../authz/graph/graph.ts';
import { pendingAt } from '../../authz/requirement.ts';
import { accountLevel } from '../../authz/requirements/account.ts';
import { meetsRule } from '../claims/service.ts';
import type { ApplicationTokenDeps } from './deps.ts';
import type { GrantedAccess } from './grant-columns.ts';
import { levelOf } from './targets.ts';

/**
 * Returns whether the account meets the rule of the application, and the grant what the account requires first: a password to
 * change, or a stronger sign-in. `graph`: at the stamp of the row, or newer. `now`: of the database.
 */
export function mayUse(
  { applicationTokens: { policy } }: Pick<ApplicationTokenDeps, 'applicationTokens'>,
  { graph, now }: { graph: Graph; now: Date },
  grant: GrantedAccess,
): boolean {
  const { must_change_password, has_password } = grant;
  const required = accountLevel({ graph, policy, now: now.getTime() }, grant);
  return (
    meetsRule(graph, grant) &&
    pendingAt(levelOf(grant.acr), { must_change_password, has_password, required }) === null
  );
}
