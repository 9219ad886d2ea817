// What a tab keeps while somebody acts in it, so that a reload does not end it. No other tab sees it.
// It must hold the token only between two pages: while a page runs, the token is in its memory alone.

const NAME = 'castellan.acting';

export type Kept = {
  /** The name of the user as whom somebody acts. */
  name: string;
  /** When the token expires, by the clock of this browser, in milliseconds since 1970. */
  untilMs: number;
  /** Where the person was before: they return there. */
  from: string;
  /** Absent while a page runs, and once it is over. */
  token?: string;
};

const isKept = (value: unknown): value is Kept =>
  value instanceof Object &&
  'name' in value &&
  typeof value.name === 'string' &&
  'untilMs' in value &&
  typeof value.untilMs === 'number' &&
  'from' in value &&
  typeof value.from === 'string';

/** Returns null if nobody acts in this tab, and where there is no storage. */
export function readKept(): Kept | null {
  try {
    const kept: unknown = JSON.parse(sessionStorage.getItem(NAME) ?? 'null');
    return isKept(kept) ? kept : null;
  } catch {
    return null;
  }
}

/** Throws if the storage is blocked or full. */
export const keep = (kept: Kept): void => sessionStorage.setItem(NAME, JSON.stringify(kept));

/** Without its token, nobody acts on the next page, which says so. */
export function dropToken(): void {
  const kept = readKept();
  if (kept) keep({ name: kept.name, untilMs: kept.untilMs, from: kept.from });
}

export function forgetKept(): void {
  try {
    sessionStorage.removeItem(NAME);
  } catch {
    // Without storage, nothing was kept.
  }
}
