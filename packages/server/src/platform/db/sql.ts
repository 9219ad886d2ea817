// SQL fragments and helpers that several stores use.
// It must not name a table.
import { type RawBuilder, sql } from 'kysely';

/** Returns the row of a statement that always has one. Throws when there is none. */
export function onlyRow<R>({ rows }: { rows: readonly R[] }): R {
  const [row] = rows;
  if (row === undefined) throw new Error('the statement returned no row');
  return row;
}

/** Returns a timestamptz as the API writes it: ISO 8601, UTC, milliseconds. For values inside JSON. */
export const isoTime = (column: string): RawBuilder<string> =>
  sql`to_char(${sql.ref(column)} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** Returns a timestamptz as the key of a cursor: as `isoTime`, with microseconds. */
export const keyTime = (column: string): RawBuilder<string> =>
  sql`to_char(${sql.ref(column)} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;

/** Escapes text for a LIKE pattern (escape character `\`). */
export const escapeLike = (text: string): string =>
  text.replaceAll(/[\\%_]/g, (character) => `\\${character}`);

/** Returns the LIKE pattern for a text in which `*` stands for any characters. */
export const wildcardToLike = (pattern: string): string => pattern.split('*').map(escapeLike).join('%');

/** Returns a statement that takes the advisory lock of this name until the end of the transaction. */
export const lockUntilCommit = (name: string): RawBuilder<unknown> =>
  sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`;
