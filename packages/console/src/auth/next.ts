// Where people go after they have signed in. It must never lead to another site.

/**
 * Returns the path that the address names, if it is one of this origin, or else `otherwise`. Browsers resolve dots and drop
 * tabs, so `/..//host` is judged by what it becomes: a path that, read again, names the same page.
 */
export function pathAfterSignIn(search: string, origin: string, otherwise: string): string {
  const next = new URLSearchParams(search).get('next') ?? '';
  try {
    const url = new URL(next, origin);
    const path = url.pathname + url.search + url.hash;
    const isOurs = next.startsWith('/') && url.origin === origin && new URL(path, origin).href === url.href;
    return isOurs ? path : otherwise;
  } catch {
    return otherwise;
  }
}
