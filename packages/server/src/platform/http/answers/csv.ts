// Writes CSV (RFC 4180): records of cells, each ended by CRLF. It must not decide which columns a file has.
// Spreadsheets run a cell that begins like a formula, so an apostrophe leads such a cell, and what would be such a cell if
// the spreadsheet split the file at semicolons or tabs. The console writes its files by the same rule.

/** Media type of the responses (RFC 4180, section 3): the first record names the columns. */
export const CSV_TYPE = 'text/csv; charset=utf-8; header=present';

// Matches before what spreadsheets read as a formula (OWASP, CSV Injection). A line feed or a tab before it does not stop
// them. Split at another separator, a cell may begin with the quotes of this one.
const FORMULA = /^(?=[=+\-@\t\r\n])|(?<=[;\t\r\n])(?="*[=+\-@])/g;
const NEEDS_QUOTES = /[",\r\n]/;

/** Returns one record with its line end. Null is an empty cell. */
export const csvRecord = (cells: readonly (string | boolean | null)[]): string =>
  `${cells.map(cellOf).join(',')}\r\n`;

function cellOf(value: string | boolean | null): string {
  const text = value === null ? '' : String(value);
  const safe = text.replace(FORMULA, "'");
  return NEEDS_QUOTES.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
