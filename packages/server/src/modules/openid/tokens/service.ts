// The tokens of applications: issues them, tells what they are worth, and ends them.
// It must not make a token of an application worth anything to the API of this service.
import type { Introspection } from '@castellan/contract/oauth';
import type { Userinfo } from '@castellan/contract/openid-tokens';
import { AppError } from '../../../platform/errors.ts';
import type { Client } from '../../../platform/http/client.ts';
import { shownEmail } from '../../../platform/security/email.ts';
import type { AuthenticatedApplication } from '../../applications/authentication.ts';
import { recordEvent } from '../../audit/service.ts';
import { rolesOf } from '../../authz/effective.ts';
import type { Graph } from '../../authz/graph/graph.ts';
import { type KeyProof, keyChallenge, useKeyProof } from '../../proofs/service.ts';
import { attributesIn, claimsIn, subjectIn } from '../claims/service.ts';
import { sidOf } from '../session-sid.ts';
import { type ApplicationTokenDeps, countRequest } from './deps.ts';
import { allowedOf } from './issue.ts';
import { REFRESH_MARK, readRefreshToken } from './refresh-token.ts';
import { mayUse } from './standing.ts';
import { deleteAccessToken, endGrant } from './store.ts';
import { targetIn } from './targets.ts';
import {
  ACCESS_MARK,
  accessTokenHash,
  type LiveApplicationToken,
  looksLikeResourceToken,
} from './token-lookup.ts';

export { exchangeCode } from './code.ts';
export {
  type ApplicationTokenDeps,
  type ApplicationTokens,
  countRequest,
  createApplicationTokens,
} from './deps.ts';
export { refreshTokens } from './refresh.ts';

/** Returns whether the text claims to be a token of an application, well-formed or not. */
export const looksLikeApplicationToken = (text: string): boolean =>
  text.startsWith(ACCESS_MARK) || text.startsWith(REFRESH_MARK) || looksLikeResourceToken(text);

/** Returns the path of userinfo, which opaque access tokens are for. */
const userinfoAddress = ({ publicUrl }: { publicUrl: string }): string =>
  `${publicUrl}/api/v1/oauth/userinfo`;

type Live = { token: LiveApplicationToken; graph: Graph };

/** Returns a live access token whose account may still use the application; undefined for any other text. */
async function findLive(deps: ApplicationTokenDeps, text: string): Promise<Live | undefined> {
  const token = await deps.applicationTokens.lookup(text);
  if (!token) return undefined;
  const graph = await deps.graphSource.at(token.authz_stamp);
  return mayUse(deps, { graph, now: token.now }, token) ? { token, graph } : undefined;
}

/**
 * Returns what userinfo tells for an access token, read now. `onKnown` runs as soon as the application is known. `prove` returns the verified
 * proof that came with the token; null for a bearer token. Throws
 * `invalid_token` (401), `insufficient_scope` (403) without `openid`, `rate_limited` (429).
 */
export async function userinfoOf(
  deps: ApplicationTokenDeps,
  client: Client,
  text: string,
  onKnown: (application: LiveApplicationToken) => void,
  prove: (() => Promise<KeyProof>) | null,
): Promise<Userinfo> {
  const live = await findLive(deps, text);
  if (!live) throw new AppError('invalid_token');
  const { token, graph } = live;
  onKnown(token);
  await countRequest(deps, client, { id: token.application_id });
  // For an API resource; or sent without the key that it is bound to, or with one though it is bound to none.
  if (token.aud !== null || (token.dpop_jkt === null) !== (prove === null))
    throw new AppError('invalid_token', token.dpop_jkt === null ? {} : { headers: keyChallenge });
  const proof = await prove?.();
  if (proof && (proof.jkt !== token.dpop_jkt || !(await useKeyProof(deps.db, proof, token.now))))
    throw new AppError('invalid_token', {
      detail: 'The DPoP proof has another key, was used before, or its iat is more than 60 seconds off.',
      headers: keyChallenge,
    });
  const scopes = allowedOf(token.token_scopes, token);
  if (!scopes.includes('openid')) throw new AppError('insufficient_scope');
  const choice = {
    scopes,
    allowedScopes: token.allowed_scopes,
    requested: token.claims,
    idTokenClaims: token.id_token_claims,
    mappings: token.claim_mappings,
  };
  return { sub: subjectIn(token), ...claimsIn('userinfo', choice, token, graph) };
}

/** Returns what holds now of the scopes of a token, sorted; undefined if its API resource is no longer open to it. */
function scopesNow({ token, graph }: Live, now: number): string[] | undefined {
  if (token.aud === null) return allowedOf(token.token_scopes, token);
  const names = targetIn(token, graph, now)?.names;
  const ids = new Set(token.token_scopes.map((name) => graph.permissions.idOf(name)));
  return names?.filter((name) => ids.has(graph.permissions.idOf(name)));
}

/** Returns whether the token is for the profile of its account. */
const isProfileTold = (token: LiveApplicationToken): boolean =>
  token.aud === null && allowedOf(token.token_scopes, token).includes('profile');

/** Returns whether the application was granted to know the email, which is the name of an account. */
const isNameTold = (token: LiveApplicationToken): boolean =>
  allowedOf(token.aud === null ? token.token_scopes : token.scopes, token).some(
    (scope) => scope === 'email' || scope === 'profile',
  );

/**
 * Returns what an access token of an application is worth now. `asking`: the application that asks, which learns about its own
 * tokens only; null for a caller that may ask about all.
 */
export async function introspectApplicationToken(
  deps: ApplicationTokenDeps,
  text: string,
  asking: Pick<AuthenticatedApplication, 'id'> | null,
  options: { withPermissions: boolean; withAttributes: boolean },
): Promise<Introspection> {
  const live = await findLive(deps, text);
  if (!live || (asking && asking.id !== live.token.application_id)) return { active: false };
  const { token, graph } = live;
  const scopes = scopesNow(live, deps.clock.now());
  const sub = subjectIn(token);
  // Callers take a subject that is its own client for a service account: an application may be named as a pairwise subject.
  if (!scopes || sub === token.client_id) return { active: false };
  const issuedAt = Math.floor(token.issued_at.getTime() / 1_000);
  return {
    active: true,
    sub,
    ...(asking && !isNameTold(token) ? {} : { username: shownEmail(token.email) }),
    client_id: token.client_id,
    ...(scopes.length > 0 ? { scope: scopes.join(' ') } : {}),
    token_type: token.dpop_jkt === null ? 'Bearer' : 'DPoP',
    ...(token.dpop_jkt === null ? {} : { cnf: { jkt: token.dpop_jkt } }),
    exp: Math.floor(token.expires_at.getTime() / 1_000),
    iat: issuedAt,
    nbf: issuedAt,
    iss: deps.settings.publicUrl,
    aud: token.aud ?? userinfoAddress(deps.settings),
    jti: token.jti,
    sid: sidOf(deps.applicationTokens.sidKey, token.session_id, token.application_id),
    acr: token.acr,
    amr: token.amr,
    auth_time: Math.floor(token.auth_time.getTime() / 1_000),
    ...(options.withAttributes && isProfileTold(token) ? attributesIn(token, token.claim_mappings) : {}),
    // A token carries what it is for, whatever its account holds: none for userinfo. A service that asks about all tokens may not be
    // the one that this one is for: it reads `aud` and `scope`.
    ...(options.withPermissions
      ? {
          roles: asking && scopes.includes('roles') ? rolesOf(graph, token).map(({ name }) => name) : [],
          permissions: asking && token.aud !== null ? scopes : [],
        }
      : {}),
  };
}

/**
 * Ends an access token alone, and with a refresh token of any turn its grant. Does nothing for any other text. `asking`: the
 * application that authenticated itself, which ends its own tokens only. Throws GateFullError if too many exchanges of the grant wait.
 */
export async function revokeApplicationToken(
  deps: ApplicationTokenDeps,
  client: Client,
  text: string,
  asking: Pick<AuthenticatedApplication, 'id'> | null,
): Promise<void> {
  const accessHash = accessTokenHash(text);
  if (accessHash) {
    const ended = await deleteAccessToken(deps.db, accessHash, asking?.id ?? null);
    if (ended)
      await recordEvent(deps, client, {
        action: 'access_token_revoked',
        actorId: ended.user_id,
        resourceId: ended.user_id,
        details: { application_id: ended.application_id, grant_id: ended.grant_id },
      });
    return;
  }
  const refreshToken = readRefreshToken(deps.applicationTokens.refreshKey, text);
  if (!refreshToken) return;
  const { grantId } = refreshToken;
  const ended = await deps.exchangeGate.run(grantId, client, () =>
    endGrant(deps.db, grantId, 'revoked_by_application', {
      applicationId: asking?.id ?? null,
      isTold: false,
    }),
  );
  if (!ended) return;
  await recordEvent(deps, client, {
    action: 'application_access_ended',
    actorId: ended.user_id,
    resourceType: 'application',
    resourceId: ended.application_id,
    details: { reason: 'revoked_by_application', grants: 1, grant_id: grantId },
  });
}
