// Exchanges an API key for an access token: the client credentials grant (RFC 6749, section 4.4; RFC 9068).
// It must not give the token a right or a lifetime that its key does not have.
import type { TokenRequest, TokenResponse } from '@castellan/contract/oauth';
import { AppError } from '../../platform/errors.ts';
import type { Client } from '../../platform/http/client.ts';
import type { ClientCredentials } from '../../platform/http/plugins/client-credentials.ts';
import { newId } from '../../platform/ids.ts';
import type { Gate } from '../../platform/limits/gate.ts';
import type { LocalLimit } from '../../platform/limits/local-limit.ts';
import { type RateLimitRule, rateLimitHeaders } from '../../platform/limits/rate-limit.ts';
import { type ClientClaims, tokenHash } from '../../platform/security/jwt.ts';
import type { Db } from '../../schema/database.ts';
import type { ApiKeys, KeyRow } from '../api-keys/service.ts';
import { type AuditLog, recordBounded, recordEvent } from '../audit/service.ts';
import type { KeyRing } from '../sessions/keys/ring.ts';
import { accessAudience } from '../sessions/tokens.ts';
import { insertClientToken } from './store.ts';

export type TokenDeps = {
  db: Db;
  auditLog: AuditLog;
  apiKeys: ApiKeys;
  keyRing: KeyRing;
  settings: { publicUrl: string };
  clientTokens: {
    /** Counts the tokens of one account, in this process. */
    limit: LocalLimit;
    /** Limits the tokens of one account that are written at once. */
    gate: Gate;
  };
};

/** Seconds. Short, because services that only verify signatures learn of no revocation. */
const CLIENT_TOKEN_SECONDS = 600;
/** Tokens of one account and instance. A client needs one in ten minutes; each of its processes may have its own. */
export const clientTokenRule: RateLimitRule = { limit: 600, windowSeconds: 60 };

/** Throws the error of a request that no client may send, before anything else is looked at. */
export function requireClientCredentialsGrant({ grant_type, scope }: TokenRequest): void {
  if (grant_type !== 'client_credentials') throw new AppError('unsupported_grant_type');
  // A client that asks for a part of its rights must not get all of them (RFC 6749, section 3.3).
  if (scope !== undefined) throw new AppError('invalid_scope');
}

/**
 * Returns a new access token. Throws 401 if the credentials are missing or not those of a live API key, and
 * `rate_limited` (429) after too many wrong keys of the network or too many tokens of the account.
 */
export async function issueToken(
  deps: TokenDeps,
  client: Client,
  credentials: ClientCredentials | undefined,
): Promise<TokenResponse> {
  if (!credentials) throw new AppError('invalid_client');
  const key = await deps.apiKeys.byCredentials(credentials, client);
  await countToken(deps, client, key);
  const token = await deps.clientTokens.gate.run(key.account_id, client, () => createClientToken(deps, key));
  // The key has ended since it was read, or ends within this second.
  if (!token) throw new AppError('invalid_client');
  await recordEvent(deps, client, {
    action: 'client_token_issued',
    ...actorOf(key),
    resourceId: key.account_id,
    details: { key_id: key.key_id },
  });
  return token;
}

const actorOf = (key: KeyRow) =>
  ({ actorId: key.account_id, actorType: 'service_account', actorName: key.account_name }) as const;

async function countToken(deps: TokenDeps, client: Client, key: KeyRow): Promise<void> {
  const result = deps.clientTokens.limit.hit(key.account_id);
  if (result.allowed) return;
  if (result.firstRefusal)
    await recordBounded(deps, client, {
      action: 'rate_limited',
      ...actorOf(key),
      resourceId: key.account_id,
      details: { limit: 'client_token', key_id: key.key_id },
    });
  throw new AppError('rate_limited', {
    retryAfterSeconds: result.resetSeconds,
    headers: rateLimitHeaders(result),
  });
}

/** Returns undefined if the key is no longer live. Times are whole seconds, in the token and in its row. */
async function createClientToken(deps: TokenDeps, key: KeyRow): Promise<TokenResponse | undefined> {
  const { id: keyId, signer } = deps.keyRing.current();
  const claims = claimsOf(deps.settings, key);
  if (claims.exp <= claims.iat) return undefined;
  const text = signer.sign(claims);
  const isListed = await insertClientToken(deps.db, {
    service_account_id: key.account_id,
    token_hash: tokenHash(text),
    api_key_id: key.key_id,
    jti: claims.jti,
    key_id: keyId,
    issued_at: new Date(claims.iat * 1_000),
    expires_at: new Date(claims.exp * 1_000),
  });
  return isListed
    ? { access_token: text, token_type: 'Bearer', expires_in: claims.exp - claims.iat }
    : undefined;
}

function claimsOf(settings: { publicUrl: string }, key: KeyRow): ClientClaims {
  const now = Math.floor(key.now.getTime() / 1_000);
  const end = (key.key_expires_at?.getTime() ?? Number.POSITIVE_INFINITY) / 1_000;
  return {
    iss: settings.publicUrl,
    sub: key.account_id,
    aud: accessAudience(settings),
    iat: now,
    exp: Math.min(now + CLIENT_TOKEN_SECONDS, Math.floor(end)),
    jti: newId(),
    client_id: key.account_id,
    type: 'access',
  };
}
