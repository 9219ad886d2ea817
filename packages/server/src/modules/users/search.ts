// The SQL condition of a search for users, which the list of users and other lists by user share. It must not run a statement.
import { type RawBuilder, sql } from 'kysely';
import { containsWord, isShort, wordsOf } from '../../platform/db/text-search.ts';
import { UUID } from '../../platform/ids.ts';

/** Returns the text to search for; empty if there is none. */
export const searchText = (search: string): string => search.trim().normalize('NFC');

/** Returns the words that only the index on single characters and pairs can find; empty if there are none. */
export const shortWordsOf = (text: string): string => wordsOf(text).filter(isShort).join(' ');

/** `areShortRare`: few users have all short words of the text, so the index on short words helps. */
type Rarity = { areShortRare: boolean };

/**
 * Returns the condition on `users u` that the name or the email contains every word of the text, or that the text is the id.
 */
export const searchCondition = (text: string, rarity: Rarity): RawBuilder<unknown> =>
  UUID.test(text)
    ? sql`(u.id = ${text.toLowerCase()} or ${containsWords(text, rarity)})`
    : containsWords(text, rarity);

function containsWords(text: string, { areShortRare }: Rarity): RawBuilder<unknown> {
  const conditions: RawBuilder<unknown>[] = [sql`true`];
  for (const word of wordsOf(text))
    conditions.push(containsWord(sql`u.search_text`, word, areShortRare && isShort(word)));
  return sql.join(conditions, sql` and `);
}
