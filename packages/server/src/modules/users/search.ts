// What a search for users finds: the list of users and other lists by user share it. It must not run a statement.
import { type RawBuilder, sql } from 'kysely';
import { escapeLike } from '../../platform/db/sql.ts';
import { UUID } from '../../platform/http/ids.ts';

/** Returns the text to search for; empty if there is none. */
export const searchText = (search: string): string => search.trim().normalize('NFC');

// Shorter texts contain no trigram: PostgreSQL would read the whole index and then every row.
const SHORTEST_INDEXED = 3;

/** Returns the condition on `users u` that the name or the email contains the text, or that it is the whole id. */
export const searchCondition = (text: string): RawBuilder<unknown> =>
  UUID.test(text) ? sql`(u.id = ${text.toLowerCase()} or ${containsText(text)})` : containsText(text);

function containsText(text: string): RawBuilder<unknown> {
  // A line feed separates name and email in `search_text`; neither of them contains one.
  if (text.includes('\n')) return sql`false`;
  return text.length < SHORTEST_INDEXED
    ? sql`strpos(u.search_text, lower(${text})) > 0`
    : sql`u.search_text like lower(${`%${escapeLike(text)}%`})`;
}
