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
  const trimmed = text.trim().normalize('NFC');
  const words = trimmed.split(/[\s,]+/u).filter((word) => word !== '');
  // A text of commas alone.
  if (words.length === 0) return trimmed === '' ? [] : [trimmed];
  const rest = words.slice(MAX_WORDS - 1).join(' ');
  return [...words.slice(0, MAX_WORDS - 1), ...(rest === '' ? [] : [rest])];
}

/** Whether an index on single characters and pairs finds the word. It helps unless many match. */
export const isShort = (word: string): boolean => [...word].length < SHORTEST_WITH_TRIGRAMS;

/** Whether nothing is left of the word without its marks. Folded, it would be in every text. */
const isMarksOnly = (word: string): boolean => word.normalize('NFKD').replaceAll(/\p{M}/gu, '') === '';

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
  const conditions = [contains(column, word, isPart)];
  if (!isMarksOnly(word))
    conditions.push(
      containsFolded(column, word, isPart),
      sql`(${isFoldable} and ${containsFolded(folded, word, isPart)})`,
    );
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

/** A folded word may be longer, and may contain characters of LIKE patterns that the word had in another width. */
function containsFolded(column: RawBuilder<unknown>, word: string, isPart: boolean): RawBuilder<unknown> {
  const isThere = sql`strpos(${column}, fold_text(${word})) > 0`;
  if (isPart) return sql`(short_parts(${column}) @> short_parts(fold_text(${word})) and ${isThere})`;
  return isShort(word)
    ? isThere
    : sql`${column} like '%' || regexp_replace(fold_text(${word}), '[\\\\%_]', '\\\\\\&', 'g') || '%'`;
}
