// Estimates how hard a SECRET_KEY is to guess for somebody who tries words, keyboard rows and other sequences first.
// It must not load a dictionary: each start calls it, and that of the password meter takes 0.2 s and 35 MB.

/** Rows and columns of keyboards, the alphabet, the digits. Each also counts backwards. */
const sequences = [
  'abcdefghijklmnopqrstuvwxyz',
  '01234567890',
  'qwertyuiop',
  'qwertzuiop',
  'azertyuiop',
  'asdfghjkl',
  'zxcvbnm',
  '1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik,9ol.',
].flatMap((one) => [one, [...one].reverse().join('')]);

const SEQUENCE_MIN_LENGTH = 4;
/** Which sequence, and where it begins and ends. */
const SEQUENCE_BITS = 10;

// 77 frequent pairs of letters in English words. Of random pairs, one in nine is among them.
const commonPairs: ReadonlySet<string> = new Set(
  'thheineranreonatenndtiesorteofedisitalarsttontngsehaasouiolevecomedehiriroicneearacelichllbemasiomurcaeltalansdifohopeecprnoctusacotiltrlyncetutsssorsunlo'.match(
    /../g,
  ),
);
const COMMON_PAIRS_OF_WORDS = 0.5;

// Shannon 1951: English text has 0.6 to 1.3 bits a letter.
const BITS_PER_WORD_LETTER = 1.3;
const BITS_PER_LETTER = Math.log2(26);
const BITS_PER_DIGIT = Math.log2(10);
/** A separator of words, of which a text uses one or two kinds. */
const BITS_PER_SEPARATOR = 2;

/** Returns an estimate in bits; for a random text of base64 or hex it stays far above that of words. */
export const guessingBits = (text: string): number => Math.min(characterBits(text), patternBits(text));

/** Returns the Shannon entropy of the characters: low if few different ones are repeated. */
function characterBits(text: string): number {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  const { length } = [...text];
  return [...counts.values()].reduce((bits, count) => bits - count * Math.log2(count / length), 0);
}

function patternBits(text: string): number {
  let bits = 0;
  let rest = '';
  for (let at = 0; at < text.length; ) {
    const length = sequenceAt(text.toLowerCase(), at);
    if (length > 0) bits += SEQUENCE_BITS;
    // The line feed keeps the letters before and after the sequence apart.
    rest += length > 0 ? '\n' : text[at];
    at += Math.max(1, length);
  }
  // Words are in one case, or begin with a capital; random letters change their case at every second one.
  for (const [part] of rest.matchAll(/[A-Z]?[a-z]{2,}|[A-Z]{3,}|[^\n]/g)) bits += bitsOf(part);
  return bits;
}

/** Returns the length of the longest sequence that begins there, 0 if there is none. */
function sequenceAt(text: string, at: number): number {
  let length = SEQUENCE_MIN_LENGTH - 1;
  while (
    at + length < text.length &&
    sequences.some((sequence) => sequence.includes(text.slice(at, at + length + 1)))
  )
    length += 1;
  return length < SEQUENCE_MIN_LENGTH ? 0 : length;
}

function bitsOf(part: string): number {
  if (/^\d$/.test(part)) return BITS_PER_DIGIT;
  if (/^[\s\-_.,:;/+=]$/.test(part)) return BITS_PER_SEPARATOR;
  return part.length * (isLikeWords(part.toLowerCase()) ? BITS_PER_WORD_LETTER : BITS_PER_LETTER);
}

function isLikeWords(letters: string): boolean {
  const pairs = letters.length - 1;
  let common = 0;
  for (let at = 0; at < pairs; at += 1) if (commonPairs.has(letters.slice(at, at + 2))) common += 1;
  return pairs > 0 && common / pairs >= COMMON_PAIRS_OF_WORDS;
}
