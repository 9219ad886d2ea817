// What a search for users finds: the list of users and other lists by user share it. It must not run a statement.
import { type RawBuilder, sql } from 'kysely';
import { escapeLike } from '../../platform/db/sql.ts';
import { UUID } from '../../platform/ids.ts';

/** Returns the text to search for; empty if there is none. */
export const searchText = (search: string): string => search.trim().normalize('NFC');

// Shorter texts contain no trigram. An index on single characters and pairs finds them (migration 0022).
const SHORTEST_WITH_TRIGRAMS = 3;

/** Whether the index on single characters and pairs finds the text. It helps unless many match. */
export const isShort = (text: string): boolean => [...text].length < SHORTEST_WITH_TRIGRAMS;

type Rarity = { isFrequent: boolean };

/**
 * Returns the condition on `users u` that the name or the email contains the text, or that it is the whole id.
 * `isFrequent`: so many match that reading users in turn soon finds enough; only for short texts.
 */
export const searchCondition = (text: string, rarity: Rarity = { isFrequent: false }): RawBuilder<unknown> =>
  UUID.test(text)
    ? sql`(u.id = ${text.toLowerCase()} or ${containsText(text, rarity)})`
    : containsText(text, rarity);

function containsText(text: string, { isFrequent }: Rarity): RawBuilder<unknown> {
  // A line feed separates name and email in `search_text`; neither of them contains one.
  if (text.includes('\n')) return sql`false`;
  if (!isShort(text)) return sql`u.search_text like lower(${`%${escapeLike(text)}%`})`;
  return isFrequent
    ? sql`strpos(u.search_text, lower(${text})) > 0`
    : sql`short_parts(u.search_text) @> array[lower(${text})]`;
}
