// The token of a mailed link. It is kept for this tab only, until it is used or invalid.
// It must not stay in the address, which other people and other sites may see.

/**
 * Returns the token of the link, or null, and removes it from the address and the history. After a reload, or in a tab that
 * the browser discarded, it is found again until `forgetToken`.
 */
export function takeToken(): string | null {
  const token = new URLSearchParams(location.hash.slice(1)).get('token');
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
