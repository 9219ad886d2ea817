// Exchanges a refresh token for new tokens, and the next refresh token (RFC 6749, 6). Each turn of a grant counts once, but for
// retries.
import type { TokenRequest, TokenResponse } from '@castellan/contract/oauth';
import { AppError } from '../../../platform/errors.ts';
import type { Client } from '../../../platform/http/client.ts';
import type { Tx } from '../../../schema/database.ts';
import type { AuthenticatedApplication } from '../../applications/authentication.ts';
import { recordEvent } from '../../audit/service.ts';
import { type KeyProof, useKeyProof } from '../../proofs/service.ts';
import { type ApplicationTokenDeps, countRefresh } from './deps.ts';
import {
  accessFor,
  inTurn,
  nextEnd,
  type Outcome,
  refreshText,
  refused,
  requireUsable,
  responseOf,
  settle,
  usedProof,
  wrongKey,
} from './exchange.ts';
import { allowedOf } from './issue.ts';
import { readRefreshToken } from './refresh-token.ts';
import { mayUse } from './standing.ts';
import { addToken, endGrant, lockGrantWithId } from './store.ts';

type Fields = Pick<TokenRequest, 'refresh_token' | 'scope' | 'resource'>;

/**
 * Returns new tokens for a refresh token, with the next refresh token. Throws as `exchangeCode`, and `invalid_scope`, and
 * `rate_limited` (429) if the grant exceeds RATE_LIMIT_REFRESH.
 */
export async function refreshTokens(
  deps: ApplicationTokenDeps,
  client: Client,
  application: AuthenticatedApplication,
  fields: Fields,
  proof: KeyProof | null,
): Promise<TokenResponse> {
  requireUsable(deps, application, 'refresh_token', proof);
  const { refresh_token, scope, resource = null } = fields;
  if (refresh_token === undefined) throw new AppError('invalid_request', { detail: 'Send refresh_token.' });
  const presented = readRefreshToken(deps.applicationTokens.refreshKey, refresh_token);
  if (presented) await countRefresh(deps, client, { ...presented, applicationId: application.id });
  const outcome = presented
    ? await inTurn(deps, client, { application, key: presented.grantId }, (tx) =>
        refresh(tx, deps, application, { ...presented, scope, resource, proof }),
      )
    : refused;
  const issued = await settle(deps, client, 'refresh_token', outcome);
  await recordEvent(deps, client, {
    action: 'application_tokens_refreshed',
    actorId: issued.grant.user_id,
    resourceType: 'application',
    resourceId: application.id,
    resourceName: application.name,
    details: { grant_id: issued.grant.grant_id },
  });
  return responseOf(deps, application, issued, { nonce: null, proof });
}

async function refresh(
  tx: Tx,
  deps: ApplicationTokenDeps,
  application: AuthenticatedApplication,
  {
    grantId,
    turn,
    scope,
    resource,
    proof,
  }: {
    grantId: string;
    turn: number;
    scope: string | undefined;
    resource: string | null;
    proof: KeyProof | null;
  },
): Promise<Outcome> {
  const grant = await lockGrantWithId(tx, grantId, {
    reuseSeconds: deps.settings.refreshReuseSeconds,
    resource,
  });
  if (!grant || grant.application_id !== application.id) return refused;
  if (!grant.is_live || !(grant.offline || grant.is_session_live)) return refused;
  // Before the turn: a thief of the text who lacks the key ends nothing.
  if (application.auth_method === 'none' && grant.dpop_jkt !== null && grant.dpop_jkt !== proof?.jkt)
    return wrongKey;
  // A turn ahead belongs to a state that the database has lost (restored backup, failover): it ends nothing.
  if (turn > grant.turn) return refused;
  const isRepeated = turn === grant.turn - 1 && grant.is_just_turned;
  if (turn < grant.turn && !isRepeated) {
    await endGrant(tx, grantId, 'application_refresh_token_reuse', { isTold: true });
    return { reused: grant };
  }
  if (!grant.is_refreshable) return refused;
  const graph = await deps.graphSource.at(grant.authz_stamp);
  if (!mayUse(deps, { graph, now: grant.now }, grant)) return refused;
  const asked = scope?.split(' ').filter((one) => one !== '');
  const idScopes = allowedOf(asked ? grant.scopes.filter((one) => asked.includes(one)) : grant.scopes, grant);
  const jkt = proof?.jkt ?? null;
  const access = accessFor(deps, { application, grant, graph, resource, idScopes, asked, jkt });
  if ('refused' in access) return access;
  if (proof && !(await useKeyProof(tx, proof, grant.now))) return usedProof;
  await addToken(
    tx,
    access.row,
    isRepeated ? null : nextEnd(grant, access.row.expires_at, application.refresh_idle_days),
  );
  return {
    grant,
    graph,
    scopes: access.row.scopes,
    idScopes,
    accessToken: access.text,
    expiresIn: access.expiresIn,
    refreshToken: refreshText(deps, grant, isRepeated ? grant.turn : grant.turn + 1),
    ended: 0,
  };
}
