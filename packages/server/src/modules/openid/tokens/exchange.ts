// What every exchange for the tokens of an application has in common: its turn, its access token, its outcome and its answer.
// If a refusal ends the grant, the transaction commits before the error is thrown.
import type { TokenResponse } from '@castellan/contract/oauth';
import { inTransaction } from '../../../platform/db/transaction.ts';
import { AppError } from '../../../platform/errors.ts';
import type { Client } from '../../../platform/http/client.ts';
import type { Tx } from '../../../schema/database.ts';
import type { AuthenticatedApplication } from '../../applications/authentication.ts';
import { recordEvent } from '../../audit/service.ts';
import type { Graph } from '../../authz/graph/graph.ts';
import { type KeyProof, useKeyProof } from '../../proofs/service.ts';
import type { ApplicationTokenDeps, CountedGrant } from './deps.ts';
import {
  allowedOf,
  createAccessToken,
  createIdToken,
  createResourceToken,
  type NewAccessToken,
} from './issue.ts';
import { refreshTokenText } from './refresh-token.ts';
import { type LockedGrant, type NextEnd, redeemCode } from './store.ts';
import { targetIn } from './targets.ts';

/** `detail`: what to tell; undefined for the text that unknown, used, expired and foreign ones share. */
type Refused = {
  refused:
    | 'invalid_grant'
    | 'invalid_scope'
    | 'invalid_target'
    | 'invalid_dpop_proof'
    | 'access_denied'
    | 'expired_token';
  detail?: string;
};
/** A code or a refresh token that was used before: the grant has ended. */
type Reused = { reused: LockedGrant };
type Issued = {
  grant: LockedGrant;
  graph: Graph;
  /** Of the access token. */
  scopes: string[];
  /** What the ID token may tell. */
  idScopes: string[];
  accessToken: string;
  expiresIn: number;
  refreshToken: string | null;
  ended: number;
};
export type Outcome = Refused | Reused | Issued;

export const refused: Refused = { refused: 'invalid_grant' };
export const wrongKey: Refused = {
  refused: 'invalid_dpop_proof',
  detail: 'This is bound to a key. Send a DPoP proof with that key.',
};
export const usedProof: Refused = {
  refused: 'invalid_dpop_proof',
  detail: 'The DPoP proof was used before, or its iat is more than 60 seconds off. Make a new one.',
};

/** Returns the first tokens of a grant, or throws why there are none. */
export async function settleFirst(
  deps: ApplicationTokenDeps,
  client: Client,
  application: AuthenticatedApplication,
  { grantType, outcome, proof }: { grantType: CountedGrant; outcome: Outcome; proof: KeyProof | null },
): Promise<TokenResponse> {
  const issued = await settle(deps, client, grantType, outcome);
  if (issued.ended > 0)
    await recordEvent(deps, client, {
      action: 'application_access_ended',
      actorId: issued.grant.user_id,
      resourceType: 'application',
      resourceId: application.id,
      resourceName: application.name,
      details: { reason: 'grant_limit', grants: issued.ended },
    });
  return responseOf(deps, application, issued, { nonce: issued.grant.nonce, proof });
}

/** Throws what no code and no token changes. The signing key is asked for now, because a code counts once. */
export function requireUsable(
  deps: ApplicationTokenDeps,
  application: AuthenticatedApplication,
  grantType: CountedGrant,
  proof: KeyProof | null,
): void {
  if (!application.grant_types.includes(grantType)) throw new AppError('unauthorized_client');
  if (application.require_dpop && !proof)
    throw new AppError('invalid_dpop_proof', {
      detail: 'This application must send a DPoP proof, or have require_dpop set to false.',
    });
  deps.keyRing.currentOfApplications(application.id_token_signing_alg);
}

/** One exchange of a grant runs at a time, and some of an application. The others wait in the process, without a connection. */
export const inTurn = <T>(
  deps: ApplicationTokenDeps,
  client: Client,
  { application, key }: { application: AuthenticatedApplication; key: string },
  work: (tx: Tx) => Promise<T>,
): Promise<T> =>
  deps.exchangeGate.run(key, client, () =>
    deps.applicationTokens.gate.run(application.id, client, () => inTransaction(deps.db, work)),
  );

/** Adds the first tokens of a locked grant that nothing speaks against. */
export async function redeemGrant(
  tx: Tx,
  deps: ApplicationTokenDeps,
  application: AuthenticatedApplication,
  {
    grant,
    graph,
    resource,
    proof,
  }: { grant: LockedGrant; graph: Graph; resource: string | null; proof: KeyProof | null },
): Promise<Outcome> {
  const idScopes = allowedOf(grant.scopes, grant);
  const access = accessFor(deps, {
    application,
    grant,
    graph,
    resource,
    idScopes,
    asked: undefined,
    jkt: proof?.jkt ?? null,
  });
  if ('refused' in access) return access;
  if (proof && !(await useKeyProof(tx, proof, grant.now))) return usedProof;
  const isRefreshed = application.grant_types.includes('refresh_token');
  const next = nextEnd(grant, access.row.expires_at, isRefreshed ? application.refresh_idle_days : null);
  const ended = await redeemCode(tx, access.row, {
    ...next,
    applicationId: application.id,
    // A confidential application proves itself anyway (RFC 9449, 5).
    dpopJkt: application.auth_method === 'none' ? (proof?.jkt ?? null) : null,
  });
  return {
    grant,
    graph,
    scopes: access.row.scopes,
    idScopes,
    accessToken: access.text,
    expiresIn: access.expiresIn,
    refreshToken: isRefreshed ? refreshText(deps, grant, grant.turn) : null,
    ended,
  };
}

/** More scopes do not fit into a header with the rest of the token. */
const MAX_SCOPES = 100;

type Wanted = {
  application: AuthenticatedApplication;
  grant: LockedGrant;
  graph: Graph;
  /** Null: userinfo. */
  resource: string | null;
  idScopes: string[];
  /** A part of what was granted; undefined for all. */
  asked: readonly string[] | undefined;
  /** The thumbprint of the key that the token is bound to; null: it is a bearer token. */
  jkt: string | null;
};

/** Returns the access token of an exchange, or why there is none. */
export function accessFor(
  deps: ApplicationTokenDeps,
  { application, grant, graph, resource, idScopes, asked, jkt }: Wanted,
): NewAccessToken | Refused {
  const target = resource === null ? undefined : targetIn(grant, graph, grant.now.getTime());
  if (resource !== null && !target) return { refused: 'invalid_target' };
  const names = target?.names ?? [];
  const isGranted = (scope: string): boolean => grant.scopes.includes(scope) || names.includes(scope);
  if (asked && !asked.every(isGranted)) return { refused: 'invalid_scope' };
  if (resource === null || !target)
    return createAccessToken(grant, idScopes, application.access_token_seconds, jkt);
  const scopes = asked ? names.filter((name) => asked.includes(name)) : names;
  if (scopes.length > MAX_SCOPES)
    return {
      refused: 'invalid_scope',
      detail: `A token carries at most ${MAX_SCOPES} scopes. Ask for fewer.`,
    };
  return (
    createResourceToken(deps, grant, graph, { resource, target, scopes, jkt }) ?? {
      refused: 'invalid_scope',
      detail: 'The names of the scopes are too long for a token together. Ask for fewer.',
    }
  );
}

export const refreshText = (deps: ApplicationTokenDeps, { grant_id }: LockedGrant, turn: number): string =>
  refreshTokenText(deps.applicationTokens.refreshKey, { grantId: grant_id, turn });

const DAY_MS = 86_400_000;

export function nextEnd(grant: LockedGrant, tokenEnd: Date, refreshDays: number | null): NextEnd {
  if (refreshDays === null) return { refresh_expires_at: null, ends_at: tokenEnd };
  const idleEnd = grant.now.getTime() + refreshDays * DAY_MS;
  const refreshEnd = new Date(Math.min(grant.expires_at.getTime(), idleEnd));
  return { refresh_expires_at: refreshEnd, ends_at: refreshEnd > tokenEnd ? refreshEnd : tokenEnd };
}

/** Counts the outcome. Records a reuse, and throws what refuses the request. */
export async function settle(
  deps: ApplicationTokenDeps,
  client: Client,
  grantType: CountedGrant,
  outcome: Outcome,
): Promise<Issued> {
  const { applicationTokens } = deps;
  if ('grant' in outcome) {
    applicationTokens.count(grantType, 'issued');
    return outcome;
  }
  applicationTokens.count(grantType, 'reused' in outcome ? 'reused' : 'refused');
  if ('refused' in outcome)
    throw new AppError(outcome.refused, outcome.detail === undefined ? {} : { detail: outcome.detail });
  const { grant_id, user_id, application_id } = outcome.reused;
  await recordEvent(deps, client, {
    action: grantType === 'refresh_token' ? 'application_refresh_token_reuse' : 'authorization_code_reuse',
    actorId: user_id,
    resourceType: 'application',
    resourceId: application_id,
    details: { grant_id },
  });
  throw new AppError('invalid_grant');
}

export function responseOf(
  deps: ApplicationTokenDeps,
  application: AuthenticatedApplication,
  { grant, graph, scopes, idScopes, accessToken, expiresIn, refreshToken }: Issued,
  { nonce, proof }: { nonce: string | null; proof: KeyProof | null },
): TokenResponse {
  return {
    access_token: accessToken,
    token_type: proof ? 'DPoP' : 'Bearer',
    expires_in: expiresIn,
    // Empty too: without the member, a client takes what it asked for as granted (RFC 6749, 5.1).
    scope: scopes.join(' '),
    ...(idScopes.includes('openid')
      ? { id_token: createIdToken(deps, { application, grant, graph, scopes: idScopes, accessToken, nonce }) }
      : {}),
    ...(refreshToken === null ? {} : { refresh_token: refreshToken }),
  };
}
