// Proves again who the person of a browser session is. The proof is in a new token of the browser: no other token gets it.
import type { StepUpBody } from '@castellan/contract/factors';
import { AppError } from '../../../platform/errors.ts';
import type { Client } from '../../../platform/http/client.ts';
import { overLimit } from '../../../platform/http/plugins/rate-limits.ts';
import type { UserPrincipal } from '../../authz/caller.ts';
import type { Graph } from '../../authz/graph/graph.ts';
import { type PolicySettings, policyOf } from '../../authz/requirements/account.ts';
import { addBrowserToken } from '../../sessions/service.ts';
import type { SecondFactorDeps } from './deps.ts';
import { factorRule } from './proofs.ts';
import { stepUp } from './step-up.ts';

/** Returns the value of the new cookie. Throws as `stepUp`, and `rate_limited` (429). */
export async function proveInBrowser(
  deps: SecondFactorDeps & { settings: PolicySettings & { stepUpMaxAgeMinutes: number } },
  client: Client,
  { principal, graph }: { principal: UserPrincipal; graph: Graph },
  body: StepUpBody,
): Promise<string> {
  const counted = await deps.limiter.hit(`factors|session:${principal.session.id}`, factorRule);
  if (!counted.allowed) throw overLimit(counted);
  const caller = {
    principal,
    client,
    access: 'user',
    operation: 'reauthenticate',
    graph,
    policy: policyOf(deps.settings),
    proofMaxAgeSeconds: deps.settings.stepUpMaxAgeMinutes * 60,
    judgedAt: deps.clock.now(),
    ifMatch: null,
    namedSubjects: 0,
  } as const;
  const { tokens } = await stepUp(deps, caller, body, async (tx, _deps, _caller, { held, context }) => {
    const token = await addBrowserToken(tx, deps, client, {
      userId: principal.id,
      sessionId: principal.session.id,
      now: held.locked.now,
      began: held.session.created_at,
      context,
    });
    if (token === undefined) throw new AppError('browser_session_required');
    return token;
  });
  return tokens;
}
