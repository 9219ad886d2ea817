// Tells another service what a token is worth now (RFC 7662).
// It must cache nothing, and say nothing about a token that this service would not accept.
import type { Introspection } from '@castellan/contract/oauth';
import { looksLikeApiKey, looksLikePersonalToken } from '../../platform/security/api-key.ts';
import { shownEmail } from '../../platform/security/email.ts';
import {
  keyIdOfListed,
  OWN_CLIENT_ID,
  peekClaims,
  readListed,
  tokenHashText,
} from '../../platform/security/jwt.ts';
import type { ApiKeys, KeyRow, PersonalTokenRow, PersonalTokens } from '../api-keys/service.ts';
import {
  type Caller,
  type PersonPrincipal,
  servicePrincipal,
  tokenPrincipal,
  userPrincipal,
} from '../authz/caller.ts';
import { mayActAs, permissionsOf, rolesOf, type Subject } from '../authz/effective.ts';
import type { Graph } from '../authz/graph/graph.ts';
import type { AccessLimit } from '../authz/guard/access-limit.ts';
import { pendingOf } from '../authz/requirement.ts';
import type { Policy } from '../authz/requirements/account.ts';
import { type Proved, provedBy, toldNeed, unmetBy } from '../authz/requirements/call.ts';
import { endOfProof, nextRequirement, secondsUntil } from '../authz/requirements/next-change.ts';
import { everywhere } from '../authz/scope.ts';
import {
  type ApplicationTokenDeps,
  introspectApplicationToken,
  looksLikeApplicationToken,
} from '../openid/tokens/service.ts';
import type { TokenLookup } from '../sessions/token-lookup.ts';
import { accessAudience } from '../sessions/tokens.ts';
import { findClaimValues } from '../user-attributes/service.ts';

export type IntrospectionDeps = ApplicationTokenDeps & {
  apiKeys: ApiKeys;
  personalTokens: PersonalTokens;
  tokenLookup: TokenLookup;
  accessLimit: AccessLimit | null;
};

/**
 * `proved`: by the user of the token; null for a service account, which has nothing to prove. `ends`: when the token ends at the
 * latest, in milliseconds since 1970; null if it must not be kept, because the feed does not tell all that may end it.
 */
type Live = {
  facts: Omit<Introspection, 'active'>;
  subject: Subject;
  authz_stamp: string;
  proved: Proved | null;
  ends: number | null;
};

/**
 * Returns what the token is, or only that it is not active: an unknown or ended one, one of
 * a session that is restricted to something that must be done first, a refresh token, any other text.
 */
export async function introspect(
  deps: IntrospectionDeps,
  { client, principal, policy }: Pick<Caller, 'client' | 'principal' | 'policy'>,
  token: string,
  options: { withPermissions: boolean; withAttributes: boolean; withLive: boolean },
): Promise<Introspection> {
  const { clock } = deps;
  const askedAt = clock.now();
  if (looksLikeApplicationToken(token)) {
    const told = await introspectApplicationToken(deps, token, null, options);
    if (told.active) await deps.accessLimit?.count(client, principal);
    return told;
  }
  const live = await findLive(deps, policy, token);
  if (!live) return { active: false };
  // Someone who sends a service made-up tokens must not use up what it may ask.
  await deps.accessLimit?.count(client, principal);
  const { sub } = live.facts;
  return {
    active: true,
    ...live.facts,
    ...(options.withAttributes && live.proved && sub !== undefined
      ? await findClaimValues(deps.db, sub)
      : {}),
    ...(options.withPermissions ? await permissionsIn(deps, live) : {}),
    ...(options.withLive ? await keepingIn(deps, live, { policy, token, askedAt }) : {}),
  };
}

/**
 * Returns what a caller needs to keep the answer. Times count from before anything was read, so that nothing is missed that took
 * effect in the meantime.
 */
async function keepingIn(
  { graphSource }: IntrospectionDeps,
  { subject, authz_stamp, proved, ends }: Live,
  { policy, token, askedAt: now }: { policy: Policy; token: string; askedAt: number },
) {
  if (ends === null) return {};
  const graph = await graphSource.at(authz_stamp);
  const times = [ends];
  if (proved) times.push(nextRequirement({ graph, policy, now }, subject));
  if (proved && graph.permissions.hasNeeds)
    for (const name of permissionsOf(graph, everywhere(subject))) {
      const id = graph.permissions.idOf(name);
      if (id !== undefined) times.push(endOfProof(proved, graph.permissions.needOf(id), now));
    }
  const kid = keyIdOfListed(token);
  return {
    fresh_for: secondsUntil(times, now),
    role_ids: subject.role_ids.toSorted(),
    ...(kid === undefined ? {} : { kid }),
  };
}

async function permissionsIn(
  { graphSource, clock }: IntrospectionDeps,
  { subject, authz_stamp, proved }: Live,
) {
  const graph = await graphSource.at(authz_stamp);
  const granted = permissionsOf(graph, everywhere(subject));
  const step_up = proved ? unmetAmong(graph, granted, proved, clock.now()) : [];
  const unmet = new Set(step_up.map(({ permission }) => permission));
  return {
    roles: rolesOf(graph, subject).map(({ name }) => name),
    permissions: granted.filter((name) => !unmet.has(name)),
    ...(step_up.length > 0 ? { step_up } : {}),
  };
}

/** Returns those of the permissions that ask for more than was proved. */
function unmetAmong(graph: Graph, names: readonly string[], proved: Proved, now: number) {
  if (!graph.permissions.hasNeeds) return [];
  return names.flatMap((permission) => {
    const id = graph.permissions.idOf(permission);
    const unmet = id === undefined ? null : unmetBy(graph, proved, id, now);
    return unmet ? [{ permission, ...toldNeed(unmet) }] : [];
  });
}

async function findLive(deps: IntrospectionDeps, policy: Policy, token: string): Promise<Live | undefined> {
  if (looksLikePersonalToken(token)) {
    const found = await deps.personalTokens.find(token);
    return found && factsOfPersonalToken(deps, policy, found);
  }
  if (looksLikeApiKey(token)) {
    const key = await deps.apiKeys.find(token);
    return key && factsOfKey(deps, key);
  }
  const claims = peekClaims(token);
  if (!claims) return undefined;
  return claims.client_id === undefined
    ? findUserToken(deps, policy, claims.sub, token)
    : findClientToken(deps, claims.client_id, token);
}

async function findUserToken(
  deps: IntrospectionDeps,
  policy: Policy,
  userId: string,
  token: string,
): Promise<Live | undefined> {
  const row = await deps.tokenLookup(userId, tokenHashText(token));
  const principal = row && userPrincipal(row);
  if (!principal || (await isRestricted(deps, policy, principal))) return undefined;
  const { email, subject, session, actor } = principal;
  const claims = claimsIn(token);
  return {
    facts: { ...claims, username: shownEmail(email), token_type: 'Bearer' },
    subject,
    authz_stamp: principal.record.authz_stamp,
    proved: session.context,
    // The answer does not name the session of the actor, by which it may end.
    ends: actor ? null : Math.min(claims.exp * 1_000, row.session_expires_at.getTime()),
  };
}

/** Returns whether the person must do something first, or somebody who acts as them no longer may. */
async function isRestricted(
  { graphSource, clock }: IntrospectionDeps,
  policy: Policy,
  principal: PersonPrincipal,
): Promise<boolean> {
  const graph = await graphSource.at(principal.record.authz_stamp);
  const { actor, subject } = principal;
  if (actor && !mayActAs(graph, actor, subject)) return true;
  return pendingOf(principal, { graph, policy, now: clock.now() }) !== null;
}

async function factsOfPersonalToken(
  deps: IntrospectionDeps,
  policy: Policy,
  row: PersonalTokenRow,
): Promise<Live | undefined> {
  const principal = tokenPrincipal(row);
  if (await isRestricted(deps, policy, principal)) return undefined;
  return {
    facts: {
      sub: principal.id,
      username: shownEmail(principal.email),
      client_id: OWN_CLIENT_ID,
      token_type: 'Bearer',
      exp: Math.floor(row.token_expires_at.getTime() / 1_000),
      ...madeFacts(deps, row.token_created_at),
      jti: row.token_id,
    },
    subject: principal.subject,
    authz_stamp: row.authz_stamp,
    proved: provedBy(principal),
    ends: row.token_expires_at.getTime(),
  };
}

/** What is told of every secret that is no JWT. */
function madeFacts({ settings }: IntrospectionDeps, at: Date) {
  const made = Math.floor(at.getTime() / 1_000);
  return { iat: made, nbf: made, iss: settings.publicUrl, aud: accessAudience(settings) };
}

async function findClientToken(
  deps: IntrospectionDeps,
  accountId: string,
  token: string,
): Promise<Live | undefined> {
  const row = await deps.apiKeys.byToken(accountId, token);
  if (!row) return undefined;
  const { name, subject } = servicePrincipal(row);
  const { exp: ofToken, ...claims } = claimsIn(token);
  // A key that has been rotated since may end before the token says.
  const exp = Math.min(ofToken, endOf(row) ?? ofToken);
  return {
    facts: { ...claims, username: name, token_type: 'Bearer', exp },
    subject,
    authz_stamp: row.authz_stamp,
    proved: null,
    ends: exp * 1_000,
  };
}

function factsOfKey(deps: IntrospectionDeps, key: KeyRow): Live {
  const { name, subject } = servicePrincipal(key);
  const end = endOf(key);
  return {
    facts: {
      sub: key.account_id,
      username: name,
      client_id: key.account_id,
      token_type: 'Bearer',
      ...(end === undefined ? {} : { exp: end }),
      ...madeFacts(deps, key.key_created_at),
      jti: key.key_id,
    },
    subject,
    authz_stamp: key.authz_stamp,
    proved: null,
    ends: end === undefined ? Number.POSITIVE_INFINITY : end * 1_000,
  };
}

/** Returns when the key ends, in seconds since 1970. */
const endOf = ({ key_expires_at }: { key_expires_at: Date | null }): number | undefined =>
  key_expires_at === null ? undefined : Math.floor(key_expires_at.getTime() / 1_000);

/** Returns the claims of a token that is on the allowlist. */
function claimsIn(token: string) {
  const claims = readListed(token);
  if (!claims) throw new Error('a token on the allowlist cannot be read');
  const { type: _type, client_id = OWN_CLIENT_ID, sid, amr, ...common } = claims;
  return {
    ...common,
    client_id,
    ...(sid === undefined ? {} : { sid }),
    ...(amr === undefined ? {} : { amr: [...amr] }),
  };
}
