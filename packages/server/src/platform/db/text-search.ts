// Searches for parts of names and emails, however people type them. It must not name a table.
// A column of type text matches in lower case as it is, or folded (migration 0046), where it is not in ASCII.
import { type RawBuilder, sql } from 'kysely';
import { asciiDomain } from '../domain-names.ts';
import { escapeLike } from './sql.ts';

/** More words than a name has. What follows is searched as one text, so that no search becomes hundreds of conditions. */
const MAX_WORDS = 8;
// Shorter texts contain no trigram. Indexes on single characters and pairs find them (migration 0022).
const SHORTEST_WITH_TRIGRAMS = 3;
const ASCII = /^\p{ASCII}*$/u;

/** Returns the words that must all be found, in any order: `Byron, Ada` finds `Ada Byron`. Empty for a blank text. */
export function wordsOf(text: string): string[] {
  // A line feed separates name and email in texts to search, and no word may span both.
  const trimmed = text.trim().normalize('NFC').replaceAll('\n', ' ');
  const words = [...trimmed.matchAll(/[^\s,]+/gu)];
  // A text of commas alone.
  if (words.length === 0) return trimmed === '' ? [] : [trimmed];
  const last = words[MAX_WORDS - 1];
  if (last === undefined || words.length === MAX_WORDS) return words.map(([word]) => word);
  // With the blanks and commas as they are, so that a whole name finds itself.
  return [...words.slice(0, MAX_WORDS - 1).map(([word]) => word), trimmed.slice(last.index)];
}

/** Whether an index on single characters and pairs finds the word. It helps unless many match. */
export const isShort = (word: string): boolean => [...word].length < SHORTEST_WITH_TRIGRAMS;

/** Returns an email or a domain in the form in which it is stored; undefined if that is the word itself. */
function storedForm(word: string): string | undefined {
  const at = word.lastIndexOf('@') + 1;
  const domain = asciiDomain(word.slice(at));
  return domain === null || domain === word.slice(at) ? undefined : `${word.slice(0, at)}${domain}`;
}

/**
 * Returns the condition that a column in lower case contains the word. `isPart`: the word is short, and `short_parts` of the
 * column and of its folded text are in indexes that are to be used.
 */
export function containsWord(
  column: RawBuilder<unknown>,
  word: string,
  isPart: boolean,
): RawBuilder<unknown> {
  const isFoldable = sql`octet_length(${column}) <> length(${column})`;
  const folded = sql`fold_text(${column})`;
  // Of an ASCII word only the case is folded.
  if (ASCII.test(word))
    return sql`(${contains(column, word, isPart)} or (${isFoldable} and ${contains(folded, word, isPart)}))`;
  const conditions = [
    contains(column, word, isPart),
    containsFolded(column, word, isPart),
    sql`(${isFoldable} and ${containsFolded(folded, word, isPart)})`,
  ];
  const stored = storedForm(word);
  if (stored !== undefined) conditions.push(contains(column, stored, false));
  return sql`(${sql.join(conditions, sql` or `)})`;
}

function contains(column: RawBuilder<unknown>, word: string, isPart: boolean): RawBuilder<unknown> {
  if (isPart) return sql`short_parts(${column}) @> array[lower(${word})]`;
  return isShort(word)
    ? sql`strpos(${column}, lower(${word})) > 0`
    : sql`${column} like lower(${`%${escapeLike(word)}%`})`;
}

/**
 * A folded word may be longer, and may contain characters of LIKE patterns that the word had in another width. A word of which
 * nothing or a blank is left, such as one of marks, would be in every text: it is in none.
 */
function containsFolded(column: RawBuilder<unknown>, word: string, isPart: boolean): RawBuilder<unknown> {
  const folded = sql`case when btrim(fold_text(${word})) <> '' then fold_text(${word}) end`;
  const isThere = sql`strpos(${column}, ${folded}) > 0`;
  if (isPart) return sql`(short_parts(${column}) @> short_parts(${folded}) and ${isThere})`;
  return isShort(word)
    ? isThere
    : sql`${column} like '%' || regexp_replace(${folded}, '[\\\\%_]', '\\\\\\&', 'g') || '%'`;
}
