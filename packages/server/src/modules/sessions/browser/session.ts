// Finds who is signed in in the browser of a request, for the pages and operations that applications send browsers to.
// It locks nothing and ends nothing: any page can cause a navigation, so a refusal here must not cost the person their session.
import { sql } from 'kysely';
import type { Client } from '../../../platform/http/client.ts';
import { type OriginSettings, strayedFrom } from '../../../platform/security/session-origin.ts';
import type { Db } from '../../../schema/database.ts';
import { type BrowserCookieSettings, type PresentedBrowser, readBrowserCookie } from './cookie.ts';
import { type BrowserSession, type ListedBrowser, liveBrowser } from './presentation.ts';

export type FoundBrowser =
  | { session: BrowserSession }
  /** There is no cookie, or none that counts. */
  | { session: null; reason: 'missing' }
  /** VALIDATE_TOKEN_IP: the client is in another network than the session began in. The session lives on. */
  | { session: null; reason: 'other_network'; userId: string; sessionId: string };

/** Returns the browser session of a request, by one statement; none if the request has no cookie. */
export async function findBrowserSession(
  { db, settings }: { db: Db; settings: BrowserCookieSettings & OriginSettings },
  client: Pick<Client, 'cookie' | 'address'>,
): Promise<FoundBrowser> {
  const presented = readBrowserCookie(client, settings);
  return judgeBrowser(settings, client, presented ? await findListedBrowser(db, presented) : undefined);
}

/** Judges what `liveBrowser` found. */
export function judgeBrowser(
  settings: OriginSettings,
  client: Pick<Client, 'address'>,
  found: ListedBrowser | undefined,
): FoundBrowser {
  if (!found) return { session: null, reason: 'missing' };
  const { origin_address, other_origin_address, ...session } = found;
  if (strayedFrom(settings, client, { origin_address, other_origin_address }) === null) return { session };
  return {
    session: null,
    reason: 'other_network',
    userId: session.user_id,
    sessionId: session.session_id,
  };
}

async function findListedBrowser(db: Db, presented: PresentedBrowser): Promise<ListedBrowser | undefined> {
  const { rows } = await sql<ListedBrowser>`${liveBrowser(presented)}`.execute(db);
  return rows[0];
}
