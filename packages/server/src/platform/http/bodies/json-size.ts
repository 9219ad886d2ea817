// Limits the number of values in a body and its nesting before it is parsed: counting is much cheaper than parsing.
// It must not decide whether the text is valid JSON.
import { AppError } from '../../errors.ts';

/** Deep enough for every body of the API. Deeper input is an attack on recursive code. */
export const MAX_DEPTH = 32;

export const tooDeep = (): AppError =>
  new AppError('malformed_json', { detail: `The body is nested more than ${MAX_DEPTH} levels deep.` });

export const tooManyValues = (maxValues: number): AppError =>
  new AppError('body_too_large', {
    detail: `The body contains more than ${maxValues.toLocaleString('en-US')} values (array items and object members). Send fewer at once.`,
  });

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;

const isSpace = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

/**
 * Throws when JSON text is nested deeper than `MAX_DEPTH` or holds more than `maxValues` values: array items and object
 * members at every depth. Members of the same name are counted separately.
 */
export function refuseLargeJson(text: Uint8Array, maxValues: number): void {
  let values = 0;
  let depth = 0;
  let isInString = false;
  let isAfterOpening = false;
  const count = (): void => {
    values += 1;
    if (values > maxValues) throw tooManyValues(maxValues);
  };
  for (let at = 0; at < text.length; at += 1) {
    const byte = text[at];
    // Counts the first value of an array or object; each comma counts the next one.
    if (isAfterOpening && !isSpace(byte)) {
      isAfterOpening = false;
      if (byte !== CLOSING_BRACKET && byte !== CLOSING_BRACE) count();
    }
    if (isInString) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) isInString = false;
    } else if (byte === QUOTE) isInString = true;
    else if (byte === COMMA) count();
    else if (byte === OPENING_BRACKET || byte === OPENING_BRACE) {
      depth += 1;
      isAfterOpening = true;
      if (depth > MAX_DEPTH) throw tooDeep();
    } else if (byte === CLOSING_BRACKET || byte === CLOSING_BRACE) depth -= 1;
  }
}
