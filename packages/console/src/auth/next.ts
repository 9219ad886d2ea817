// Where people go after they have signed in. It must never lead to another site.

/** Returns the path that the address names, if it is one of this origin, or else `otherwise`. */
export function pathAfterSignIn(search: string, origin: string, otherwise: string): string {
  const next = new URLSearchParams(search).get('next') ?? '';
  if (!/^\/(?![/\\])/.test(next)) return otherwise;
  try {
    // Browsers drop tabs and line ends, so that "/\t/host" would be another host.
    const url = new URL(next, origin);
    return url.origin === origin ? url.pathname + url.search + url.hash : otherwise;
  } catch {
    return otherwise;
  }
}
