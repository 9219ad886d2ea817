// Ends a token at the request of its holder (RFC 7009).
// It must not tell the holder whether anything ended, nor end an API key.
import type { Client } from '../../platform/http/client.ts';
import { looksLikeApiKey, looksLikePersonalToken } from '../../platform/security/api-key.ts';
import { peekClaims, tokenHash } from '../../platform/security/jwt.ts';
import { recordEvent } from '../audit/service.ts';
import { revokeUserToken, type TokenRevocationDeps } from '../sessions/token-revocation.ts';
import { expireClientToken } from './store.ts';

/** Ends an access token alone, and with a refresh token its session. Does nothing for any other text. */
export async function revokeToken(deps: TokenRevocationDeps, client: Client, token: string): Promise<void> {
  if (looksLikeApiKey(token) || looksLikePersonalToken(token)) return;
  const accountId = peekClaims(token)?.client_id;
  if (accountId === undefined) return revokeUserToken(deps, client, token);
  const ended = await expireClientToken(deps.db, accountId, tokenHash(token));
  if (!ended) return;
  await recordEvent(deps, client, {
    action: 'access_token_revoked',
    actorId: accountId,
    actorType: 'service_account',
    actorName: ended.account_name,
    resourceId: accountId,
    details: { key_id: ended.api_key_id },
  });
}
