// Makes the tokens of a response: an opaque access token with its row, and a signed ID token.
// It must not use the database: an access token becomes live when its row is written.
import { newId } from '../../../platform/ids.ts';
import { createSecretText } from '../../../platform/security/secret-text.ts';
import type { AuthenticatedApplication } from '../../applications/authentication.ts';
import type { Graph } from '../../authz/graph/graph.ts';
import { claimsIn, fittedToToken, subjectIn, toldAcr } from '../claims/service.ts';
import { sidOf } from '../session-sid.ts';
import type { ApplicationTokenDeps } from './deps.ts';
import type { GrantedAccess } from './grant-columns.ts';
import { leftHalfOfHash, signJwt } from './signed-jwt.ts';
import type { LockedGrant, NewToken } from './store.ts';
import { levelOf, type Target } from './targets.ts';
import { ACCESS_MARK, accessTokenHash, MAX_JWT_LENGTH } from './token-lookup.ts';

const inSeconds = (time: Date): number => Math.floor(time.getTime() / 1_000);

/** Returns those of the scopes that the application may still ask for. */
export const allowedOf = (
  scopes: readonly string[],
  { allowed_scopes }: Pick<GrantedAccess, 'allowed_scopes'>,
): string[] => scopes.filter((scope) => allowed_scopes.some((allowed) => allowed === scope));

/** `expiresIn`: in seconds. */
export type NewAccessToken = { text: string; row: NewToken; expiresIn: number };

/**
 * Returns a new access token and its row. It ends with the grant, and with the session of one that is bound to it. Times are whole
 * seconds, of the database.
 */
export function createAccessToken(
  grant: LockedGrant,
  scopes: string[],
  lifetimeSeconds: number,
  dpop_jkt: string | null,
): NewAccessToken {
  const text = createSecretText(ACCESS_MARK);
  const { times, expiresIn } = timesOf(grant, lifetimeSeconds);
  const row = { ...rowOf(grant, scopes, text), ...times, aud: null, key_id: null, dpop_jkt };
  return { text, row, expiresIn };
}

/** As `createAccessToken`, for an API resource: a JWT (RFC 9068). Returns null if it would be too long for its scopes. Throws `temporarily_unavailable` (503) without a key. */
export function createResourceToken(
  deps: ApplicationTokenDeps,
  grant: LockedGrant,
  graph: Graph,
  {
    resource,
    target,
    scopes,
    jkt,
  }: { resource: string; target: Target; scopes: string[]; jkt: string | null },
): NewAccessToken | null {
  const key = deps.keyRing.currentOfApplications(target.alg);
  const { times, expiresIn } = timesOf(grant, target.seconds);
  const jti = newId();
  const { claim_mappings: mappings } = grant;
  const mapped = claimsIn(
    'access_token',
    {
      scopes: allowedOf(grant.scopes, grant),
      allowedScopes: grant.allowed_scopes,
      requested: null,
      idTokenClaims: grant.id_token_claims,
      mappings,
    },
    grant,
    graph,
  );
  const own = {
    iss: deps.settings.publicUrl,
    sub: subjectIn(grant),
    aud: resource,
    client_id: grant.client_id,
    ...(scopes.length > 0 ? { scope: scopes.join(' ') } : {}),
    iat: inSeconds(times.issued_at),
    nbf: inSeconds(times.issued_at),
    exp: inSeconds(times.expires_at),
    jti,
    sid: sidOf(deps.applicationTokens.sidKey, grant.session_id, grant.application_id),
    auth_time: inSeconds(grant.auth_time),
    acr: grant.acr,
    amr: grant.amr,
    ...(jkt === null ? {} : { cnf: { jkt } }),
  };
  const { told, bytes, isOver } = fittedToToken({ alg: target.alg, own, mappings, attributes: {} }, mapped);
  if (isOver)
    deps.log.warn(
      { application_id: grant.application_id, user_id: grant.user_id, bytes },
      'an access token would be larger than 6 KiB: it was issued without the lists and texts of the mappings of its application',
    );
  const text = signJwt({ alg: target.alg, key, typ: 'at+jwt' }, { ...own, ...told });
  if (text.length > MAX_JWT_LENGTH) return null;
  const row = { ...rowOf(grant, scopes, text), ...times, jti, aud: resource, key_id: key.id, dpop_jkt: jkt };
  return { text, row, expiresIn };
}

function rowOf({ grant_id, user_id }: LockedGrant, scopes: string[], text: string) {
  const token_hash = accessTokenHash(text);
  if (!token_hash) throw new Error('a new token has the wrong form');
  return { token_hash, grant_id, user_id, jti: newId(), scopes };
}

function timesOf(grant: LockedGrant, lifetimeSeconds: number) {
  const issuedAt = inSeconds(grant.now);
  const session = grant.offline ? null : grant.session_expires_at;
  const end = Math.min(
    issuedAt + lifetimeSeconds,
    inSeconds(grant.expires_at),
    session === null ? Number.POSITIVE_INFINITY : inSeconds(session),
  );
  return {
    times: { issued_at: new Date(issuedAt * 1_000), expires_at: new Date(end * 1_000) },
    expiresIn: Math.max(0, end - issuedAt),
  };
}

type IdTokenParts = {
  application: Pick<
    AuthenticatedApplication,
    'id' | 'client_id' | 'id_token_signing_alg' | 'id_token_seconds'
  >;
  grant: LockedGrant;
  graph: Graph;
  scopes: readonly string[];
  accessToken: string;
  /** Null: the request had none, or this is a refresh (OpenID Connect Core, 12.2). */
  nonce: string | null;
};

/** Returns an ID token (OpenID Connect Core, 2). Throws `temporarily_unavailable` (503) if this instance has no key yet. */
export function createIdToken(deps: ApplicationTokenDeps, parts: IdTokenParts): string {
  const { application, grant, graph, scopes, accessToken, nonce } = parts;
  const alg = application.id_token_signing_alg;
  const key = deps.keyRing.currentOfApplications(alg);
  const issuedAt = inSeconds(grant.now);
  const { claim_mappings: mappings } = grant;
  const all = claimsIn(
    'id_token',
    {
      scopes,
      allowedScopes: grant.allowed_scopes,
      requested: grant.claims,
      idTokenClaims: grant.id_token_claims,
      mappings,
    },
    grant,
    graph,
  );
  const own = {
    iss: deps.settings.publicUrl,
    sub: subjectIn(grant),
    aud: application.client_id,
    iat: issuedAt,
    exp: inSeconds(timesOf(grant, application.id_token_seconds).times.expires_at),
    auth_time: inSeconds(grant.auth_time),
    acr: toldAcr(levelOf(grant.acr), grant.claims),
    amr: grant.amr,
    sid: sidOf(deps.applicationTokens.sidKey, grant.session_id, grant.application_id),
    at_hash: leftHalfOfHash(accessToken),
    ...(nonce === null ? {} : { nonce }),
  };
  const { told, bytes, isOver } = fittedToToken(
    { alg, own, mappings, attributes: grant.attribute_claims },
    all,
  );
  if (isOver)
    deps.log.warn(
      { application_id: application.id, user_id: grant.user_id, bytes },
      'an ID token would be larger than 6 KiB: it was issued without attributes and lists such as roles and groups, which userinfo has',
    );
  return signJwt({ alg, key, typ: 'JWT' }, { ...own, ...told });
}
