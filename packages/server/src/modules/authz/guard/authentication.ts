// Finds the principal of a request from its Authorization header: a user's access token, a personal access token, an API key, or
// an access token made from an API key; where the route allows it, also from client credentials. It decides nothing about permissions.
import type { FastifyRequest } from 'fastify';
import { AppError } from '../../../platform/errors.ts';
import type { Client } from '../../../platform/http/client.ts';
import {
  type ClientCredentials,
  clientCredentials,
} from '../../../platform/http/plugins/client-credentials.ts';
import { looksLikeApiKey, looksLikePersonalToken } from '../../../platform/security/api-key.ts';
import { type PeekedClaims, peekClaims } from '../../../platform/security/jwt.ts';
import type { ApiKeys, ClientRow, PersonalTokens } from '../../api-keys/service.ts';
import { authenticate, bearerToken, refusalOf, type SessionDeps } from '../../sessions/service.ts';
import type { LiveToken } from '../../sessions/token-lookup.ts';
import { type Principal, servicePrincipal, tokenPrincipal, userPrincipal } from '../caller.ts';

export type AuthenticationDeps = SessionDeps & { apiKeys: ApiKeys; personalTokens: PersonalTokens };

export type Authenticated = {
  principal: Principal;
  /** Stamp of the role → permission graph in the snapshot that found the principal. */
  stamp: string;
};

type Credential =
  | { kind: 'user'; token: string | undefined; claims: PeekedClaims | null }
  | { kind: 'key'; key: string }
  | { kind: 'personal token'; text: string }
  | { kind: 'account'; credentials: ClientCredentials }
  | { kind: 'client'; id: string; token: string };

/** Returns what the request presents. The claims of a token are not verified: they only choose the lookup. */
function credentialOf(request: FastifyRequest): Credential {
  const credentials = request.routeOptions.config.clientCredentials ? clientCredentials(request) : undefined;
  if (credentials) return { kind: 'account', credentials };
  const token = bearerToken(request.headers.authorization);
  if (token === undefined) return { kind: 'user', token, claims: null };
  if (looksLikePersonalToken(token)) return { kind: 'personal token', text: token };
  if (looksLikeApiKey(token)) return { kind: 'key', key: token };
  const claims = peekClaims(token);
  const client = claims?.client_id;
  return client === undefined ? { kind: 'user', token, claims } : { kind: 'client', id: client, token };
}

/**
 * Returns whether the request presents the credential of a service account or a personal access token, valid or not. No browser
 * sends one by itself, so such a request needs no CSRF token.
 */
export const presentsProgramCredential = (request: FastifyRequest): boolean =>
  credentialOf(request).kind !== 'user';

/** Returns the principal. Throws 401 with a separate code for each reason, or 429 after too many wrong API keys. */
export async function findPrincipal(
  deps: AuthenticationDeps,
  request: FastifyRequest,
): Promise<Authenticated> {
  const credential = credentialOf(request);
  if (credential.kind === 'user') {
    const { token, claims } = credential;
    if (token === undefined)
      throw new AppError(request.headers.authorization === undefined ? 'token_missing' : 'token_invalid');
    return authenticatedUser(await authenticate(deps, token, claims));
  }
  if (credential.kind === 'personal token') {
    const row = await deps.personalTokens.byToken(credential.text, request.client);
    return { principal: tokenPrincipal(row), stamp: row.authz_stamp };
  }
  const row = await findClient(deps, credential, request.client);
  return { principal: servicePrincipal(row), stamp: row.authz_stamp };
}

async function findClient(
  deps: AuthenticationDeps,
  credential: Exclude<Credential, { kind: 'user' | 'personal token' }>,
  client: Client,
): Promise<ClientRow> {
  if (credential.kind === 'account') return deps.apiKeys.byCredentials(credential.credentials, client);
  if (credential.kind === 'key') return deps.apiKeys.byKey(credential.key, client);
  const row = await deps.apiKeys.byToken(credential.id, credential.token);
  if (!row) throw new AppError(refusalOf(deps, credential.token));
  return row;
}

const authenticatedUser = (live: LiveToken): Authenticated => ({
  principal: userPrincipal(live),
  stamp: live.authz_stamp,
});
