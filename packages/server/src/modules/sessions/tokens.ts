// Builds the claims of a token and signs it for a session.
// It must not use the database: a token becomes live when its row is written.
import { newId } from '../../platform/ids.ts';
import { OWN_CLIENT_ID, type SessionClaims, type TokenKind, tokenHash } from '../../platform/security/jwt.ts';
import { type Context, type ContextColumns, columnsOf, contextIn } from '../../schema/token-context.ts';
import type { KeyRing } from './keys/ring.ts';
import type { NewToken } from './store.ts';

export type TokenSettings = {
  publicUrl: string;
  accessTokenMinutes: number;
  refreshTokenDays: number;
  /** 0: no limit. */
  sessionMaxDays: number;
  sessionIdleMinutes: number | null;
};

export const accessAudience = (settings: { publicUrl: string }): string => settings.publicUrl;
/** Only this service accepts refresh tokens. */
const refreshAudience = (settings: { publicUrl: string }): string =>
  `${settings.publicUrl}/api/v1/auth/refresh`;

export const refreshLifetimeSeconds = (settings: TokenSettings): number =>
  Math.round(settings.refreshTokenDays * 86_400);

/** Returns how long browsers keep the cookies of a session. */
export const cookieLifetimeSeconds = (settings: TokenSettings): number => {
  const longest = refreshLifetimeSeconds(settings);
  return settings.sessionMaxDays === 0
    ? longest
    : Math.min(longest, Math.max(1, Math.round(settings.sessionMaxDays * 86_400)));
};

/** Returns when a session that began at `began` ends at the latest, in whole seconds; undefined if nothing limits it. */
export const lastEndOf = ({ sessionMaxDays }: TokenSettings, began: Date): Date | undefined =>
  sessionMaxDays === 0
    ? undefined
    : new Date(Math.floor(began.getTime() / 1_000 + sessionMaxDays * 86_400) * 1_000);

/** Returns when a session that is refreshed now ends unless it is refreshed again, apart from its tokens; null if nothing limits it. */
export function limitOf(settings: TokenSettings, { now, began }: { now: Date; began: Date }): Date | null {
  const { sessionIdleMinutes: idle } = settings;
  const idleEnd = idle === null ? undefined : new Date(now.getTime() + idle * 60_000);
  const lastEnd = lastEndOf(settings, began);
  return idleEnd === undefined && lastEnd === undefined ? null : earliest([idleEnd, lastEnd]);
}

/** As `limitOf`, with its refresh token, which expires at `tokenEnd`. */
export const endUnlessRefreshed = (
  settings: TokenSettings,
  about: { now: Date; began: Date; tokenEnd: Date },
): Date => earliest([about.tokenEnd, limitOf(settings, about) ?? undefined]);

const earliest = (times: readonly (Date | undefined)[]): Date =>
  new Date(Math.min(...times.map((time) => time?.getTime() ?? Number.POSITIVE_INFINITY)));

/**
 * `began`: when the session began, which limits the token. `context`: null for a token of a session that began with a password, from
 * when it began.
 */
type About = {
  userId: string;
  sessionId: string;
  now: Date;
  began: Date;
  context: Context | null;
  /** Who acts as the user, and for how long; only of an access token. */
  acting?: { actorId: string; minutes: number };
};

/** Half of SESSION_IDLE_MINUTES at most: clients refresh when a token has expired, and that must not be too late. */
function accessLifetimeSeconds(
  { accessTokenMinutes, sessionIdleMinutes }: TokenSettings,
  acting?: { minutes: number },
): number {
  if (acting) return acting.minutes * 60;
  const minutes = Math.min(accessTokenMinutes, (sessionIdleMinutes ?? Number.POSITIVE_INFINITY) / 2);
  return Math.max(1, Math.round(minutes * 60));
}

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
      ? accessLifetimeSeconds(deps.settings, about.acting)
      : refreshLifetimeSeconds(deps.settings);
  const times = {
    issued_at: new Date(issuedAt * 1_000),
    expires_at: earliest([new Date((issuedAt + lifetime) * 1_000), lastEndOf(deps.settings, about.began)]),
  };
  const jti = newId();
  const row = { jti, ...times, ...columnsOf(about.context) };
  const text = signer.sign(
    claimsOf(deps.settings, kind, { ...about, ...row, actorId: about.acting?.actorId }),
  );
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
    actorId?: string | undefined;
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
    ...(token.actorId !== undefined && { act: { sub: token.actorId } }),
  };
}
