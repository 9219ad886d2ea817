// Cleans the short texts that people give to things: names and descriptions. One line, Unicode NFC, no markup.
// It must not escape anything: `O'Brien` is stored as `O'Brien`, and whoever shows it escapes it.

export type TextFault =
  | 'ill_formed'
  | 'control_character'
  | 'too_many_marks'
  | 'markup'
  | 'too_short'
  | 'too_long';

export type CleanText = { ok: true; value: string } | { ok: false; code: TextFault; message: string };

// No character's canonical decomposition is longer than four code points (UAX #15), of two UTF-16 units at most, so
// a longer text cannot come down to `max` by composing.
const longestDecompositionUnits = 8;

// UAX #15, Stream-Safe Text Format: no writing needs more than 30 combining marks on one letter. A long run of
// them is what makes normalising quadratic (400,000 marks: two minutes). The lookbehind lets each run be tried once.
const tooManyMarks = /(?<!\p{M})\p{M}{31}/u;

// C0, DEL and C1; line and paragraph separator; then what is invisible and only ever misleads: bidirectional
// embedding, override and isolate, soft hyphen, zero-width space, word joiner and invisible operators, deprecated
// format characters, byte order mark, interlinear annotation.
// Joiners (U+200C, U+200D) and directional marks (U+200E, U+200F, U+061C) stay: emoji, Persian and mixed
// left-to-right text need them.
const controlCharacter =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is its purpose
  /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069\u00ad\u200b\u2060-\u2064\u206a-\u206f\ufeff\ufff9-\ufffb]/;

// Where an HTML parser would begin a tag, end tag, comment or processing instruction; `a < b` and `<3` are none.
const markup = /<[a-z/!?]/i;

const visible = /[^\p{Default_Ignorable_Code_Point}\p{White_Space}]/u;

function codePointLength(text: string): number {
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}

/**
 * The text trimmed and in NFC, or why it is refused; `message` completes a sentence that begins with the field's
 * name. `min` and `max` count code points of the result; `min` of 1 or more also asks for something visible.
 * Idempotent, and linear in the input's length.
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
  if (trimmed.length > longestDecompositionUnits * max) return tooLong();
  if (tooManyMarks.test(trimmed)) return overMarked();
  const value = trimmed.normalize('NFC');
  if (tooManyMarks.test(value)) return overMarked(); // a few marks, such as U+0344, come apart into two
  if (markup.test(value)) return refuse('markup', 'must not contain markup such as <tag>');
  const length = codePointLength(value);
  if (length > max) return tooLong();
  if (length < min) {
    return refuse('too_short', min === 1 ? 'must not be empty' : `must have at least ${min} characters`);
  }
  if (min > 0 && !visible.test(value)) return refuse('too_short', 'must contain a visible character');
  return { ok: true, value };
}
