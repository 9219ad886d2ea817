// Cursors of lists that are sorted by a time and an id, newest first. It must not read a record.
import { AppError } from './errors.ts';
import { canonicalTime } from './times.ts';

/**
 * The last record of a page. The time is a string in UTC with microseconds, because a JavaScript Date would lose them:
 * see `keyTime` in db/sql.ts.
 */
export type PageKey = { time: string; id: string };

const KEY_TIME = /\.\d{6}Z$/;
const KEY_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Returns the cursor of the page after this key. */
export const writeCursor = (key: PageKey): string =>
  Buffer.from(`${key.time}|${key.id}`).toString('base64url');

/** Returns the key of the query parameter `cursor`; null if there is none. Throws `validation_failed`. */
export function readCursor(cursor: string | undefined): PageKey | null {
  if (cursor === undefined) return null;
  const [time = '', id = '', ...rest] = Buffer.from(cursor, 'base64url').toString().split('|');
  const key = { time, id };
  // Compared after encoding it again, because decoding skips characters that are not base64.
  if (rest.length === 0 && KEY_TIME.test(time) && canonicalTime(time) !== null && KEY_ID.test(id))
    if (writeCursor(key) === cursor) return key;
  const message = 'is not a cursor of this service; leave it out to start with the newest';
  throw new AppError('validation_failed', {
    detail: `query.cursor ${message}.`,
    errors: [{ field: 'query.cursor', code: 'invalid_cursor', message }],
  });
}

/** Splits rows, of which one more than `size` was read, into the page and the cursor of the next one. */
export function pageOf<R extends { key: PageKey }>(
  rows: readonly R[],
  size: number,
): { page: R[]; next_cursor: string | null } {
  const page = rows.slice(0, size);
  const last = page.at(-1);
  return { page, next_cursor: last && rows.length > size ? writeCursor(last.key) : null };
}
