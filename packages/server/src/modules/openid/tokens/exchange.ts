// Exchanges a code for the tokens of an application (RFC 6749, 4.1.3; RFC 7636, 4.6; OpenID Connect Core, 3.1.3).
// If a refusal ends the grant, the transaction commits before the error is thrown.
import { hash } from 'node:crypto';
import type { TokenRequest, TokenResponse } from '@castellan/contract/oauth';
import { inTransaction } from '../../../platform/db/transaction.ts';
import { AppError } from '../../../platform/errors.ts';
import type { Client } from '../../../platform/http/client.ts';
import { secretTextHash } from '../../../platform/security/secret-text.ts';
import type { Tx } from '../../../schema/database.ts';
import type { AuthenticatedApplication } from '../../applications/authentication.ts';
import { recordEvent } from '../../audit/service.ts';
import type { Graph } from '../../authz/graph/graph.ts';
import { type KeyProof, useKeyProof } from '../../proofs/service.ts';
import { type ApplicationTokenDeps, type CountedGrant, countRefresh } from './deps.ts';
import {
  allowedOf,
  createAccessToken,
  createIdToken,
  createResourceToken,
  type NewAccessToken,
} from './issue.ts';
import { readRefreshToken, refreshTokenText } from './refresh-token.ts';
import { mayUse } from './standing.ts';
import {
  addToken,
  endGrant,
  type LockedGrant,
  lockGrantOfCode,
  lockGrantWithId,
  type NextEnd,
  redeemCode,
} from './store.ts';
import { targetIn } from './targets.ts';

const CODE_MARK = 'cas_ac_';

type Fields = Pick<
  TokenRequest,
  'code' | 'redirect_uri' | 'code_verifier' | 'refresh_token' | 'scope' | 'resource'
>;

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
const wrongKey: Refused = {
  refused: 'invalid_dpop_proof',
  detail: 'This is bound to a key. Send a DPoP proof with that key.',
};
const usedProof: Refused = {
  refused: 'invalid_dpop_proof',
  detail: 'The DPoP proof was used before, or its iat is more than 60 seconds off. Make a new one.',
};

/**
 * Returns the tokens for a code. Throws `invalid_request`, `invalid_grant`, `unauthorized_client`, `invalid_target` (400),
 * `invalid_dpop_proof` (400), `temporarily_unavailable` (503), and GateFullError if too many exchanges wait.
 */
export async function exchangeCode(
  deps: ApplicationTokenDeps,
  client: Client,
  application: AuthenticatedApplication,
  fields: Fields,
  proof: KeyProof | null,
): Promise<TokenResponse> {
  requireUsable(deps, application, 'authorization_code', proof);
  const { code, redirect_uri } = fields;
  if (code === undefined || redirect_uri === undefined)
    throw new AppError('invalid_request', { detail: 'Send code and redirect_uri.' });
  const codeHash = secretTextHash(CODE_MARK, code);
  const outcome = codeHash
    ? await inTurn(deps, client, { application, key: codeHash.toString('hex') }, (tx) =>
        redeem(tx, deps, application, { ...fields, redirect_uri, codeHash, proof }),
      )
    : refused;
  return settleFirst(deps, client, application, { grantType: 'authorization_code', outcome, proof });
}

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

async function redeem(
  tx: Tx,
  deps: ApplicationTokenDeps,
  application: AuthenticatedApplication,
  {
    codeHash,
    redirect_uri,
    code_verifier,
    resource: asked,
    proof,
  }: Fields & { codeHash: Buffer; proof: KeyProof | null },
): Promise<Outcome> {
  const resource = asked ?? null;
  const grant = await lockGrantOfCode(tx, codeHash, resource);
  if (!grant || grant.application_id !== application.id) return refused;
  if (grant.is_code_used) {
    const ended = await endGrant(tx, grant.grant_id, 'authorization_code_reuse', { isTold: true });
    return ended ? { reused: grant } : refused;
  }
  if (!grant.is_live || !grant.is_session_live || grant.is_code_late) return refused;
  if (grant.redirect_uri !== redirect_uri)
    return { ...refused, detail: 'The redirect_uri is not that of the authorization request.' };
  if (!isProved(grant.code_challenge, code_verifier))
    return { ...refused, detail: 'The code_verifier does not match the authorization request.' };
  if (grant.dpop_jkt !== null && grant.dpop_jkt !== proof?.jkt) return wrongKey;
  const graph = await deps.graphSource.at(grant.authz_stamp);
  return mayUse(deps, { graph, now: grant.now }, grant)
    ? redeemGrant(tx, deps, application, { grant, graph, resource, proof })
    : refused;
}

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

const VERIFIER = /^[\w.~-]{43,128}$/; // RFC 7636, 4.1

/** A verifier without a challenge is refused, too: somebody took the challenge out of the request (RFC 9700, 2.1.1). */
function isProved(challenge: string | null, verifier: string | undefined): boolean {
  if (challenge === null || verifier === undefined) return challenge === null && verifier === undefined;
  return VERIFIER.test(verifier) && hash('sha256', verifier, 'base64url') === challenge;
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
function accessFor(
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

const refreshText = (deps: ApplicationTokenDeps, { grant_id }: LockedGrant, turn: number): string =>
  refreshTokenText(deps.applicationTokens.refreshKey, { grantId: grant_id, turn });

const DAY_MS = 86_400_000;

function nextEnd(grant: LockedGrant, tokenEnd: Date, refreshDays: number | null): NextEnd {
  if (refreshDays === null) return { refresh_expires_at: null, ends_at: tokenEnd };
  const idleEnd = grant.now.getTime() + refreshDays * DAY_MS;
  const refreshEnd = new Date(Math.min(grant.expires_at.getTime(), idleEnd));
  return { refresh_expires_at: refreshEnd, ends_at: refreshEnd > tokenEnd ? refreshEnd : tokenEnd };
}

/** Counts the outcome. Records a reuse, and throws what refuses the request. */
async function settle(
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

function responseOf(
  deps: ApplicationTokenDeps,
  application: AuthenticatedApplication,
  { grant, graph, scopes, idScopes, accessToken, expiresIn, refreshToken }: Issued,
  { nonce, proof }: { nonce: string | null; proof: KeyProof | null },
): TokenResponse {
  return {
    access_token: accessToken,
    token_type: proof ? 'DPoP' : 'Bearer',
    expires_in: expiresIn,
    ...(scopes.length > 0 ? { scope: scopes.join(' ') } : {}),
    ...(idScopes.includes('openid')
      ? { id_token: createIdToken(deps, { application, grant, graph, scopes: idScopes, accessToken, nonce }) }
      : {}),
    ...(refreshToken === null ? {} : { refresh_token: refreshToken }),
  };
}
