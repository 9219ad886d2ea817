// The origins of pages, as browsers send them in `Origin`.

/** Returns the origin; undefined if the text is none. A slash at its end is left out. */
export function originOf(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || text.includes('*')) return undefined;
  return url.origin === text.replace(/\/$/, '') ? url.origin : undefined;
}
