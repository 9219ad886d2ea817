// The token of a mailed link, also of one that a mail program has changed. It is kept for this tab only, until it is used or invalid.
// It must not stay in the address, which other people and other sites may see.

/** Only the last run of a text may have been changed, so what is not exactly a token stays as it is. */
const TOKEN = /^(?:3D)?([\w-]{43})$/i;

/** What the fragment of a link calls its token. */
export type TokenName = 'token' | 'recovery';

/**
 * Returns the token that the fragment of an address names, or null. Undoes what mail programs do to it: escapes and
 * quoted-printable (`token%3D…`, `token=3D…`, a line that ends with `=`), upper case of its name, punctuation behind it.
 */
export function tokenIn(hash: string, name: TokenName = 'token'): string | null {
  const [, run] = new RegExp(`\\b${name}=([\\w=\\s-]+)`, 'i').exec(unescaped(hash)) ?? [];
  const [, token] = TOKEN.exec(run?.replaceAll(/[=\s]/g, '') ?? '') ?? [];
  return token ?? new URLSearchParams(hash.slice(1)).get(name);
}

/** Undoes escapes, also those of an address that was escaped again. */
function unescaped(text: string): string {
  try {
    return decodeURIComponent(decodeURIComponent(text));
  } catch {
    return text;
  }
}

/**
 * Returns the token of the link, or null, and removes it from the address and the history. After a reload, or in a tab that
 * the browser discarded, it is found again until `forgetToken`.
 */
export function takeToken(name: TokenName): string | null {
  const token = tokenIn(location.hash, name);
  if (location.hash) history.replaceState(null, '', location.pathname);
  try {
    if (token) sessionStorage.setItem(location.pathname, token);
    return token || sessionStorage.getItem(location.pathname);
  } catch {
    return token || null; // without storage, only a reload loses the token
  }
}

/** Removes the token. Call it when the token is used or invalid. */
export function forgetToken(): void {
  try {
    sessionStorage.removeItem(location.pathname);
  } catch {
    // Without storage, the token was not kept.
  }
}

const EMAIL = 'castellan.registered';

/** Keeps the email for the next page of this tab, so that it is in no address. */
export function keepEmail(email: string | null): void {
  try {
    if (email === null) sessionStorage.removeItem(EMAIL);
    else sessionStorage.setItem(EMAIL, email);
  } catch {
    // Without storage, the next page asks for it.
  }
}

export function keptEmail(): string {
  try {
    return sessionStorage.getItem(EMAIL) ?? '';
  } catch {
    return '';
  }
}
