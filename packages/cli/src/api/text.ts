// Text for terminals: escaping, widths, tables. Nothing here knows the API.

/**
 * Control characters, and those that reorder or break lines. A record may have them in its name, and a terminal would
 * obey them: C0, DEL and C1 (ECMA-48), bidirectional controls (UAX #9), line and paragraph separators.
 */
const unsafe = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Returns the text with every control character written out as `\uXXXX`, and thus on one line. */
export const printable = (text: string): string => text.replace(unsafe, escaped);

/** Like `printable`, but keeps line feeds. For messages of several lines. */
export const printableLines = (text: string): string => text.split('\n').map(printable).join('\n');

/** Like `printableLines`, for UTF-8 that arrives in pieces. Ends lines with a line feed alone. */
export async function* printableChunks(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  // A piece may end inside a character, and between the two of a line end.
  let held = '';
  for await (const chunk of chunks) {
    const text = held + decoder.decode(chunk, { stream: true });
    held = text.endsWith('\r') ? '\r' : '';
    yield printableLines(text.slice(0, text.length - held.length).replaceAll('\r\n', '\n'));
  }
  yield printableLines(held + decoder.decode());
}

/** Returns JSON that no terminal obeys: the same value, with more characters escaped than JSON requires. */
export const jsonText = (value: unknown, indent = 0): string =>
  // JSON.stringify escapes control characters inside texts; what remains are its own line feeds.
  JSON.stringify(value, null, indent).split('\n').map(printable).join('\n');

const wide =
  /^(?:\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}])/u;
const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** Returns how many columns of a terminal the text takes: two for East Asian wide characters and emoji. */
export function widthOf(text: string): number {
  // The common case needs no segmenter.
  if (/^\p{ASCII}*$/u.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += wide.test(segment) ? 2 : 1;
  return width;
}

/** Returns how a value of a record is shown: `-` for nothing, `yes` and `no`, lists separated by commas. */
export function shown(value: unknown): string {
  if (value === null || value === undefined || value === '') return '-';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value)) return value.length === 0 ? '-' : value.map(shown).join(', ');
  return typeof value === 'object' ? jsonText(value) : printable(String(value));
}

/** Returns lines of aligned columns, two spaces apart. The last column is not padded. */
export function aligned(rows: readonly (readonly string[])[], atLeast: readonly number[] = []): string[] {
  const widths = widthsOf(rows, atLeast);
  return rows.map((cells) =>
    cells
      .map((cell, index) =>
        index === cells.length - 1 ? cell : cell + ' '.repeat((widths[index] ?? 0) - widthOf(cell) + 2),
      )
      .join(''),
  );
}

/** Returns the width of each column. */
export const widthsOf = (rows: readonly (readonly string[])[], atLeast: readonly number[] = []): number[] =>
  rows.reduce<number[]>(
    (widths, cells) => cells.map((cell, index) => Math.max(widths[index] ?? 0, widthOf(cell))),
    [...atLeast],
  );
