// Judges what an application asks for when it sends a person to sign out (RP-Initiated Logout, 2 and 3).
// It must not end a session: whether the hint names the session of this browser is decided by service.ts.
import type { Language } from '../../../platform/languages.ts';
import type { Db } from '../../../schema/database.ts';
import type { KeyRing } from '../../sessions/keys/ring.ts';
import { MAX_HINT, readHint } from '../id-token-hint.ts';
import { askedLanguage } from '../plain-page.ts';
import { type AskingApplication, findByClientId } from './store.ts';

export type SignOutRequest = {
  /** Null: the request names none. */
  applicationId: string | null;
  /** The session that the hint names, as its application knows it; null without a hint. */
  sid: string | null;
  /** A registered address of the application; null: the person stays here. */
  address: string | null;
  state: string | null;
  /** Of the pages; null: that of the browser. */
  language: Language | null;
};

/** Why nothing ends. The person sees it as a page. */
export type SignOutRefusal = 'malformed' | 'wrong_hint' | 'unknown_application' | 'wrong_address';

const MAX_CHARACTERS = 4_096;
const MAX_STATE = 2_000;
const names = ['id_token_hint', 'client_id', 'post_logout_redirect_uri', 'state'] as const;
type Parameters = Partial<Record<(typeof names)[number], string>>;

const limits: Readonly<Record<(typeof names)[number], number>> = {
  id_token_hint: MAX_HINT,
  client_id: MAX_CHARACTERS,
  post_logout_redirect_uri: MAX_CHARACTERS,
  state: MAX_STATE,
};

/** Returns the parameters; undefined if one is repeated, too long, or cannot be stored. An empty one counts as missing. */
function parametersIn(given: Readonly<Record<string, unknown>>): Parameters | undefined {
  const found: Parameters = {};
  for (const name of names) {
    const value = given[name] ?? '';
    if (
      typeof value !== 'string' ||
      value.length > limits[name] ||
      value.includes('\0') ||
      !value.isWellFormed()
    )
      return undefined;
    if (value !== '') found[name] = value;
  }
  return found;
}

/** Returns the request, or why it is refused. `given`: the query or the form. */
export async function judgeSignOut(
  deps: { db: Db; keyRing: Pick<KeyRing, 'publicJwks'>; settings: { publicUrl: string } },
  given: Readonly<Record<string, unknown>>,
): Promise<SignOutRequest | { refused: SignOutRefusal }> {
  const parameters = parametersIn(given);
  if (!parameters) return { refused: 'malformed' };
  const {
    id_token_hint: text,
    client_id,
    post_logout_redirect_uri: address = null,
    state = null,
  } = parameters;
  const hint = text === undefined ? undefined : readHint(deps.keyRing, deps.settings.publicUrl, text);
  if (text !== undefined && (!hint || (client_id !== undefined && client_id !== hint.clientId)))
    return { refused: 'wrong_hint' };
  const named = hint?.clientId ?? client_id;
  const application = named === undefined ? undefined : await findByClientId(deps.db, named);
  if (named !== undefined && !application) return { refused: 'unknown_application' };
  if (address !== null && !isRegistered(application, address)) return { refused: 'wrong_address' };
  const { ui_locales: uiLocales } = given;
  const language = typeof uiLocales === 'string' ? askedLanguage(uiLocales) : null;
  return { applicationId: application?.id ?? null, sid: hint?.sid ?? null, address, state, language };
}

/** Character by character. */
export const isRegistered = (application: AskingApplication | undefined, address: string): boolean =>
  application?.post_logout_redirect_uris.includes(address) ?? false;
