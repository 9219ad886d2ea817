// Small pieces of SQL that several stores need.
// It must not name a table.
import { type RawBuilder, sql } from 'kysely';

/** A timestamptz as the API writes it: ISO 8601, UTC, milliseconds. For values inside of JSON. */
export const isoTime = (column: string): RawBuilder<string> =>
  sql`to_char(${sql.ref(column)} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** Text as a part of a LIKE pattern that stands for itself (escape character `\`). */
export const escapeLike = (text: string): string =>
  text.replaceAll(/[\\%_]/g, (character) => `\\${character}`);

/** `*` stands for any characters, everything else for itself. */
export const wildcardToLike = (pattern: string): string => pattern.split('*').map(escapeLike).join('%');

/** Serializes whoever takes the same lock, until the end of the transaction. Names are ours: see each caller. */
export const lockUntilCommit = (name: string): RawBuilder<unknown> =>
  sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`;
