// CSV files that the browser writes and reads. Cells that a spreadsheet would run as a formula are led by an apostrophe, as
// in the files of the service.
import { saveBlob } from '../../../common/save-blob.ts';

// Matches before what spreadsheets read as a formula, also in one that splits the file at semicolons or tabs.
const FORMULA = /^(?=[=+\-@\t\r\n])|(?<=[;\t\r\n])(?="*[=+\-@])/g;
const LEADING_APOSTROPHE = /^'(?=[=+\-@\t\r\n])|(?<=[;\t\r\n])'(?="*[=+\-@])/g;

const cell = (value: string): string => {
  const safe = value.replace(FORMULA, "'");
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};

/** Returns the value of a cell without the apostrophes that an export put before formulas. */
export const withoutApostrophes = (value: string): string => value.replace(LEADING_APOSTROPHE, '');

/** Returns the rows as RFC 4180 text, with a byte order mark, without which spreadsheets misread UTF-8. */
export const toCsv = (rows: readonly (readonly string[])[]): string =>
  `\uFEFF${rows.map((row) => row.map(cell).join(',')).join('\r\n')}\r\n`;

/** Lets the browser save the text as a file. */
export const saveFile = (name: string, text: string, type = 'text/csv;charset=utf-8'): void =>
  saveBlob(new Blob([text], { type }), name);

export type CsvFault = 'unclosed' | 'afterQuote' | 'binary';

/** What makes a text no CSV, and the line where it is. */
export class CsvError extends Error {
  readonly fault: CsvFault;
  readonly line: number;

  constructor(fault: CsvFault, line: number) {
    super(`${fault} in line ${line}`);
    this.fault = fault;
    this.line = line;
  }
}

/** A row and the line of the file in which it begins. A quoted cell may hold line breaks, so a row may have several lines. */
export type CsvRow = { line: number; cells: string[] };

/**
 * Returns the rows of a CSV text (RFC 4180) that have text. The separator is that of the first row: a comma, a semicolon or
 * a tab, or the one that a line `sep=;` names. Throws `CsvError`.
 */
export function parseCsv(text: string): CsvRow[] {
  const body = text.replace(/^\uFEFF/, '');
  const hint = /^sep=([,;\t])(?:\r\n|\r|\n)/i.exec(body);
  const start = hint?.[0].length ?? 0;
  return readRows(body, { start, separator: hint?.[1] ?? separatorOf(body), line: hint ? 2 : 1 });
}

/** Returns the separator that the first row with text has most of, outside quotes. */
function separatorOf(body: string): string {
  const counts = { ',': 0, ';': 0, '\t': 0 };
  let isQuoted = false;
  for (let at = Math.max(0, body.search(/\S/)); at < body.length; at += 1) {
    const character = body[at];
    if (character === '"') isQuoted = !isQuoted;
    else if (isQuoted) continue;
    else if (character === '\n' || character === '\r') break;
    else if (character === ',' || character === ';' || character === '\t') counts[character] += 1;
  }
  return Object.entries(counts).reduce((best, one) => (one[1] > best[1] ? one : best))[0];
}

type Begin = { start: number; separator: string; line: number };

function readRows(body: string, { start, separator, line: first }: Begin): CsvRow[] {
  const rows: CsvRow[] = [];
  let at = start;
  let line = first;
  let row: CsvRow = { line, cells: [] };
  const endOfLine = (): void => {
    at += body.startsWith('\r\n', at) ? 2 : 1;
    line += 1;
  };
  const endRow = (): void => {
    if (row.cells.some((one) => one.trim() !== '')) rows.push(row);
    row = { line, cells: [] };
  };
  const textUntil = (ends: string): string => {
    const from = at;
    while (at < body.length && !ends.includes(body[at] ?? '')) at += 1;
    if (body[at] === '\0') throw new CsvError('binary', line);
    return body.slice(from, at);
  };
  const quoted = (): string => {
    const opened = line;
    let value = '';
    at += 1;
    for (;;) {
      value += textUntil('"\r\n\0');
      if (at >= body.length) throw new CsvError('unclosed', opened);
      if (body[at] !== '"') {
        value += '\n';
        endOfLine();
      } else if (body[at + 1] === '"') {
        value += '"';
        at += 2;
      } else {
        at += 1;
        return value;
      }
    }
  };
  while (at < body.length) {
    const isQuoted = body[at] === '"';
    row.cells.push(isQuoted ? quoted() : textUntil(`${separator}\r\n\0`));
    if (isQuoted && textUntil(`${separator}\r\n\0`).trim() !== '') throw new CsvError('afterQuote', line);
    if (body[at] === separator) at += 1;
    else if (at < body.length) {
      endOfLine();
      endRow();
    }
  }
  endRow();
  return rows;
}
