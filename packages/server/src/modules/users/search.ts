// What a search for users finds: the list of users and other lists by user share it. It must not run a statement.
import { type RawBuilder, sql } from 'kysely';
import { containsWord, isShort, wordsOf } from '../../platform/db/text-search.ts';
import { UUID } from '../../platform/ids.ts';

/** Returns the text to search for; empty if there is none. */
export const searchText = (search: string): string => search.trim().normalize('NFC');

/** Whether only the index on single characters and pairs finds the text. It helps unless many match. */
export const isOfShortWords = (text: string): boolean => wordsOf(text).every(isShort);

type Rarity = { isFrequent: boolean };

/**
 * Returns the condition on `users u` that the name or the email contains every word of the text, or that it is the whole id.
 * `isFrequent`: so many match that reading users in turn soon finds enough; only for texts of short words.
 */
export const searchCondition = (text: string, rarity: Rarity = { isFrequent: false }): RawBuilder<unknown> =>
  UUID.test(text)
    ? sql`(u.id = ${text.toLowerCase()} or ${containsWords(text, rarity)})`
    : containsWords(text, rarity);

function containsWords(text: string, { isFrequent }: Rarity): RawBuilder<unknown> {
  // The index of a longer word finds few users, and short words are looked for in those.
  const isPart = !isFrequent && isOfShortWords(text);
  const conditions: RawBuilder<unknown>[] = [sql`true`];
  for (const word of wordsOf(text)) conditions.push(containsWord(sql`u.search_text`, word, isPart));
  return sql.join(conditions, sql` and `);
}
