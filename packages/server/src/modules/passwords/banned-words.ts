// Words of the product or the organisation that no password may consist of: PASSWORD_BANNED_WORDS.
// It must not show a word in a message: the list may tell what an attacker should try.

/** First letter → the words that begin with it, as their characters, folded. */
export type BannedWords = ReadonlyMap<string, readonly string[][]>;

// Each password is compared with each word: 1,000 take less than a millisecond.
const MAX_WORDS = 1_000;
const MAX_WORD_LENGTH = 100;
// Of a shorter word, digits and symbols are most of any password that contains it.
const MIN_WORD_LENGTH = 3;

/** Characters that people write for a letter. */
const lookAlikes: Readonly<Record<string, string>> = {
  a: '4@',
  b: '8',
  c: '(',
  e: '3€',
  g: '69',
  i: '1!|',
  l: '1!|',
  o: '0',
  s: '5$',
  t: '7+',
  z: '2',
};
const symbolsForLetters = new Set(Object.values(lookAlikes).join(''));

/** How German, Danish and others write a letter without its mark. */
const twoLetters: Readonly<Record<string, string>> = { ä: 'ae', ö: 'oe', ü: 'ue', å: 'aa', ø: 'oe', æ: 'ae' };
const oneLetter: Readonly<Record<string, string>> = { ø: 'o', ß: 'ss', æ: 'ae', ł: 'l', đ: 'd' };

/** Returns lower case without marks. */
const fold = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[øßæłđ]/g, (letter) => oneLetter[letter] ?? letter);

/** Returns the characters that are compared: the others stand between words, or around them. */
const compared = (text: string): string[] =>
  Array.from(fold(text)).filter(
    (character) => /[\p{L}\p{N}]/u.test(character) || symbolsForLetters.has(character),
  );

/**
 * Reads words between commas or line ends. Throws an Error whose message continues a sentence that begins with the setting, and
 * names no word.
 */
export function readBannedWords(text: string): BannedWords {
  const words = text
    .split(/[,\r\n]/)
    .map((word) => word.trim())
    .filter((word) => word !== '');
  if (words.length > MAX_WORDS) throw new Error(`has ${words.length} words; write at most ${MAX_WORDS}`);
  const byFirst = new Map<string, string[][]>();
  for (const [index, word] of words.entries()) {
    const spelled = word.normalize('NFC').toLowerCase();
    const expanded = spelled.replace(/[äöüåøæ]/g, (letter) => twoLetters[letter] ?? letter);
    for (const variant of new Set([spelled, expanded].map((one) => plain(one)))) {
      const characters = Array.from(variant);
      if (characters.length < MIN_WORD_LENGTH || characters.length > MAX_WORD_LENGTH)
        throw new Error(
          `has a word, number ${index + 1}, that is too short or too long; write words of ${MIN_WORD_LENGTH} to ${MAX_WORD_LENGTH} letters and digits`,
        );
      const first = characters[0] ?? '';
      byFirst.set(first, [...(byFirst.get(first) ?? []), characters]);
    }
  }
  return byFirst;
}

const plain = (word: string): string => fold(word).replace(/[^\p{L}\p{N}]/gu, '');

/**
 * Returns whether the password has a banned word and, besides such words, nothing but digits and symbols: "Acme-2031!" and
 * "4cm3!!2031" are found as "acme". Ignores case, marks and symbols between letters.
 */
export function isOnlyBannedWords(words: BannedWords, password: string): boolean {
  const characters = compared(password);
  // For each position: null if nothing but words, digits and symbols can be before it, else whether a word is.
  const reached: (boolean | undefined)[] = [false];
  for (const [at, character] of characters.entries()) {
    const hasWord = reached[at];
    if (hasWord === undefined) continue;
    if (!/\p{L}/u.test(character)) reached[at + 1] ||= hasWord;
    for (const word of wordsAt(words, character))
      if (word.every((letter, i) => standsFor(characters[at + i], letter))) reached[at + word.length] = true;
  }
  return reached[characters.length] === true;
}

function* wordsAt(words: BannedWords, character: string): Generator<string[]> {
  for (const [first, those] of words) if (standsFor(character, first)) yield* those;
}

const standsFor = (character: string | undefined, letter: string): boolean =>
  character !== undefined && (character === letter || (lookAlikes[letter]?.includes(character) ?? false));
