// Builds the claims of a token and signs it for a session.
// It must not use the database: a token becomes live when its row is written.
import { newId } from '../../platform/ids.ts';
import { OWN_CLIENT_ID, type SessionClaims, type TokenKind, tokenHash } from '../../platform/security/jwt.ts';
import { type Context, type ContextColumns, columnsOf, contextIn } from '../../schema/token-context.ts';
import type { KeyRing } from './key-ring.ts';
import type { NewToken } from './store.ts';

export type TokenSettings = { publicUrl: string; accessTokenMinutes: number; refreshTokenDays: number };

export const accessAudience = (settings: { publicUrl: string }): string => settings.publicUrl;
/** Only this service accepts refresh tokens. */
const refreshAudience = (settings: { publicUrl: string }): string =>
  `${settings.publicUrl}/api/v1/auth/refresh`;

export const refreshLifetimeSeconds = (settings: TokenSettings): number =>
  Math.round(settings.refreshTokenDays * 86_400);

/** `context`: null for a token of a session that began with a password, from when it began. */
type About = { userId: string; sessionId: string; now: Date; context: Context | null };

/**
 * Returns a new token and the allowlist row that makes it valid. Times are whole seconds, in the JWT and in the row.
 */
export function createToken(
  deps: { keyRing: KeyRing; settings: TokenSettings },
  kind: TokenKind,
  about: About,
): { text: string; row: NewToken } {
  const { id: keyId, signer } = deps.keyRing.current();
  const issuedAt = Math.floor(about.now.getTime() / 1_000);
  const lifetime =
    kind === 'access'
      ? Math.max(1, Math.round(deps.settings.accessTokenMinutes * 60))
      : refreshLifetimeSeconds(deps.settings);
  const times = {
    issued_at: new Date(issuedAt * 1_000),
    expires_at: new Date((issuedAt + lifetime) * 1_000),
  };
  const jti = newId();
  const row = { jti, ...times, ...columnsOf(about.context) };
  const text = signer.sign(claimsOf(deps.settings, kind, { ...about, ...row }));
  return { text, row: { token_hash: tokenHash(text), kind, key_id: keyId, ...row } };
}

/**
 * Signs a token again from its row and returns the same text, byte for byte. Returns undefined if the key is retired or
 * the token was signed under another PUBLIC_URL: a different text would not be on the allowlist.
 */
export function rewriteToken(
  deps: { keyRing: KeyRing; settings: TokenSettings },
  kind: TokenKind,
  token: {
    userId: string;
    sessionId: string;
    jti: string;
    key_id: string;
    token_hash: Buffer;
    issued_at: Date;
    expires_at: Date;
  } & ContextColumns,
): string | undefined {
  const text = deps.keyRing.find(token.key_id)?.signer.sign(claimsOf(deps.settings, kind, token));
  return text !== undefined && tokenHash(text).equals(token.token_hash) ? text : undefined;
}

function claimsOf(
  settings: TokenSettings,
  kind: TokenKind,
  token: {
    userId: string;
    sessionId: string;
    jti: string;
    issued_at: Date;
    expires_at: Date;
  } & ContextColumns,
): SessionClaims {
  const issuedAt = token.issued_at.getTime() / 1_000;
  const context = contextIn(token);
  return {
    iss: settings.publicUrl,
    sub: token.userId,
    aud: kind === 'access' ? accessAudience(settings) : refreshAudience(settings),
    iat: issuedAt,
    // Only a refresh token is signed again by another instance, perhaps of another version: its form must not change.
    ...(kind === 'access' ? { client_id: OWN_CLIENT_ID } : { nbf: issuedAt }),
    exp: token.expires_at.getTime() / 1_000,
    jti: token.jti,
    sid: token.sessionId,
    type: kind,
    ...(context && {
      acr: context.acr,
      amr: context.amr,
      auth_time: Math.floor(context.authTime.getTime() / 1_000),
    }),
  };
}
