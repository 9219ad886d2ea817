// Cleans short texts that people type: names and descriptions. One line, Unicode NFC, no markup.
// It must not escape anything: `O'Brien` is stored as `O'Brien`, and the client that shows it escapes it.

export type TextFault =
  | 'ill_formed'
  | 'control_character'
  | 'too_many_marks'
  | 'markup'
  | 'too_short'
  | 'too_long';

export type CleanText = { ok: true; value: string } | { ok: false; code: TextFault; message: string };

// The canonical decomposition of a character has at most four code points (UAX #15) of at most two UTF-16 units each, so
// composing cannot shorten a longer text to `max`.
const LONGEST_DECOMPOSITION_UNITS = 8;

// UAX #15, Stream-Safe Text Format: no script needs more than 30 combining marks on one letter. Normalizing takes
// quadratic time on a long run (400,000 marks: two minutes). The lookbehind makes the pattern try each run only once.
const tooManyMarks = /(?<!\p{M})\p{M}{31}/u;

// C0, DEL and C1; line and paragraph separator; and invisible characters that only mislead: bidirectional embedding,
// override and isolate, soft hyphen, zero-width space, word joiner and invisible operators, deprecated format
// characters, byte order mark, interlinear annotation. Joiners (U+200C, U+200D) and directional marks (U+200E, U+200F,
// U+061C) are allowed: emoji, Persian and text of mixed direction need them.
const controlCharacter =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is its purpose
  /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069\u00ad\u200b\u2060-\u2064\u206a-\u206f\ufeff\ufff9-\ufffb]/;

// The start of an HTML tag, end tag, comment or processing instruction; `a < b` and `<3` are allowed.
const markup = /<[a-z/!?]/i;

const visible = /[^\p{Default_Ignorable_Code_Point}\p{White_Space}]/u;

function codePointLength(text: string): number {
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}

/**
 * Returns the text trimmed and in NFC, or why it is refused; `message` continues a sentence that begins with the
 * field's name. `min` and `max` count code points of the result; a `min` of 1 or more also requires a visible
 * character. Idempotent, and linear in the length of the input.
 */
export function cleanText(input: string, limits: { max: number; min?: number }): CleanText {
  const { max, min = 0 } = limits;
  const refuse = (code: TextFault, message: string): CleanText => ({ ok: false, code, message });
  const tooLong = (): CleanText => refuse('too_long', `must have at most ${max} characters`);
  const overMarked = (): CleanText =>
    refuse('too_many_marks', 'must not contain more than 30 combining marks in a row');

  if (!input.isWellFormed()) return refuse('ill_formed', 'must be well-formed Unicode');
  if (controlCharacter.test(input)) {
    return refuse('control_character', 'must not contain control or invisible formatting characters');
  }
  const trimmed = input.trim();
  if (trimmed.length > LONGEST_DECOMPOSITION_UNITS * max) return tooLong();
  if (tooManyMarks.test(trimmed)) return overMarked();
  const value = trimmed.normalize('NFC');
  if (tooManyMarks.test(value)) return overMarked(); // some marks, such as U+0344, decompose into two
  if (markup.test(value)) return refuse('markup', 'must not contain markup such as <tag>');
  const length = codePointLength(value);
  if (length > max) return tooLong();
  if (length < min) {
    return refuse('too_short', min === 1 ? 'must not be empty' : `must have at least ${min} characters`);
  }
  if (min > 0 && !visible.test(value)) return refuse('too_short', 'must contain a visible character');
  return { ok: true, value };
}
