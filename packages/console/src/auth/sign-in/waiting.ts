// What the sign-in page must know at once: whether a second step waits in this tab, and whether there are passkeys.
// It must stay small: every visitor of the sign-in page loads it.

/** Names the sign-in in the storage of the tab. public/theme.js knows it, too. */
export const PENDING = 'castellan.second-step';

export function hasPending(): boolean {
  try {
    return sessionStorage.getItem(PENDING) !== null;
  } catch {
    return false;
  }
}

export function forgetPending(): void {
  try {
    sessionStorage.removeItem(PENDING);
  } catch {
    // Without storage, nothing was kept.
  }
}

/** Browsers have passkeys on safe origins only. */
export const canUsePasskeys = (): boolean => globalThis.PublicKeyCredential !== undefined;
