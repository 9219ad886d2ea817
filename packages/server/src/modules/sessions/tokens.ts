// What stands in a token, and how one is made for a session.
// It must not touch the database: a token becomes live when its row is written.
import { newId } from '../../platform/ids.ts';
import { type TokenClaims, type TokenKind, tokenHash } from '../../platform/security/jwt.ts';
import type { KeyRing } from './key-ring.ts';
import type { NewToken } from './store.ts';

export type TokenSettings = { publicUrl: string; accessTokenMinutes: number; refreshTokenDays: number };

export const accessAudience = (settings: { publicUrl: string }): string => settings.publicUrl;
/** No service but this one is meant by a refresh token. */
export const refreshAudience = (settings: { publicUrl: string }): string =>
  `${settings.publicUrl}/api/v1/auth/refresh`;

export const refreshLifetimeSeconds = (settings: TokenSettings): number =>
  Math.round(settings.refreshTokenDays * 86_400);

type About = { userId: string; sessionId: string; now: Date };

/** A fresh token and the allowlist row that makes it count. JWT times are whole seconds, and so are the row's. */
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
  const text = signer.sign(claimsOf(deps.settings, kind, { ...about, jti, ...times }));
  return { text, row: { token_hash: tokenHash(text), kind, jti, key_id: keyId, ...times } };
}

/**
 * Writes a token again, byte for byte, from what its row keeps. Undefined when it cannot: its key has been retired, or
 * an instance with another PUBLIC_URL wrote it. A text that differs would be on no list.
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
  },
): string | undefined {
  const text = deps.keyRing.find(token.key_id)?.signer.sign(claimsOf(deps.settings, kind, token));
  return text !== undefined && tokenHash(text).equals(token.token_hash) ? text : undefined;
}

function claimsOf(
  settings: TokenSettings,
  kind: TokenKind,
  token: { userId: string; sessionId: string; jti: string; issued_at: Date; expires_at: Date },
): TokenClaims {
  const issuedAt = token.issued_at.getTime() / 1_000;
  return {
    iss: settings.publicUrl,
    sub: token.userId,
    aud: kind === 'access' ? accessAudience(settings) : refreshAudience(settings),
    iat: issuedAt,
    nbf: issuedAt,
    exp: token.expires_at.getTime() / 1_000,
    jti: token.jti,
    sid: token.sessionId,
    type: kind,
  };
}
