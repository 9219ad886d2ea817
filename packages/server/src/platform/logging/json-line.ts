// Writes JSON that leaves the process as a line: of a log, a file, a sink. It must not change what the line says.

// JSON does not escape these. DEL and C1 control terminals, and some readers end a line at U+0085, U+2028 and U+2029.
const unsafeInLines = /[\u007f-\u009f\u2028\u2029]/g;

/** Escapes, in JSON that is already written, every character that ends a line or controls a terminal. */
export const safeLine = (json: string): string =>
  json.replace(unsafeInLines, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** Returns the JSON of a value without such a character. */
export const jsonLine = (value: object): string => safeLine(JSON.stringify(value));
