// Makes the token of a browser session: the row of a session that begins or goes on, and the value of its cookie.
// It must not use the database: a token becomes live when its row is written.
import { randomBytes } from 'node:crypto';
import type { Client } from '../../../platform/http/client.ts';
import { newId } from '../../../platform/ids.ts';
import { tokenHash } from '../../../platform/security/jwt.ts';
import { type Context, columnsOf, inSeconds } from '../../../schema/token-context.ts';
import type { KeyRing } from '../keys/ring.ts';
import type { NewToken } from '../store.ts';
import { lastEndOf, refreshLifetimeSeconds, type TokenSettings } from '../tokens.ts';
import { type BrowserCookieSettings, type PresentedBrowser, readBrowserCookie } from './cookie.ts';

export type BrowserDeps = {
  keyRing: Pick<KeyRing, 'hasActiveApplication'>;
  settings: TokenSettings & BrowserCookieSettings;
};

export type NewBrowser = {
  /** The value of the cookie. */
  text: string;
  row: NewToken;
  /** The token that the browser had, of the same user: it ends. Null if it had none. */
  replaced: Buffer | null;
};

/**
 * Returns what the browser presents, for a user; undefined while no application is active: browsers get no cookie then. Reads what
 * this instance knows, which is at most 2 s old, and sends no statement.
 */
export function presentedTo(
  { keyRing, settings }: BrowserDeps,
  client: Client,
  userId: string,
): { presented: PresentedBrowser | null } | undefined {
  if (!keyRing.hasActiveApplication()) return undefined;
  const presented = readBrowserCookie(client, settings);
  return { presented: presented?.userId === userId ? presented : null };
}

/**
 * Returns a new token of the session; undefined while no application is active. `keyId`: the key that signed the refresh token of
 * the session, so that both end with the key.
 */
export function createBrowserToken(
  deps: BrowserDeps,
  client: Client,
  about: { userId: string; now: Date; began: Date; context: Context | null; keyId: string },
): NewBrowser | undefined {
  const browser = presentedTo(deps, client, about.userId);
  if (!browser) return undefined;
  const { userId, now, keyId } = about;
  const text = Buffer.concat([Buffer.from(userId.replaceAll('-', ''), 'hex'), randomBytes(32)]).toString(
    'base64url',
  );
  const end = new Date(now.getTime() + refreshLifetimeSeconds(deps.settings) * 1_000);
  const lastEnd = lastEndOf(deps.settings, about.began);
  const row: NewToken = {
    token_hash: tokenHash(text),
    kind: 'browser',
    jti: newId(),
    key_id: keyId,
    issued_at: now,
    expires_at: lastEnd && lastEnd < end ? lastEnd : end,
    ...columnsOf(exact(about.context, now)),
  };
  return { text, row, replaced: browser.presented?.hash ?? null };
}

/**
 * Returns the context with the time to the millisecond if the proof is of this second. In JWTs it is cut to the second, and an
 * application that asks for a proof younger than its request would never get one in that second.
 */
const exact = (context: Context | null, now: Date): Context | null =>
  context && context.authTime.getTime() === inSeconds(now).getTime()
    ? { ...context, authTime: now }
    : context;
