// Reads CSV with a header (RFC 4180). A row whose number of cells is wrong stops no other.

import { Readable } from 'node:stream';
import type { SourceRow } from '@castellan/server/modules/transfer/service';
import { parse } from 'csv-parse';

// A user has a few hundred bytes. A longer record has a quote that nothing closes.
const MAX_RECORD = 1_000_000;
// Emails and most password hashes have these; names of columns do not.
const DATA = /[@$]/;

/** Yields a row for each record after the header. Throws an Error for quotes that are not closed. */
export async function* readCsv(texts: AsyncIterable<string>): AsyncGenerator<SourceRow> {
  const records = parse({
    bom: true,
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: MAX_RECORD,
  });
  // `pipe` forwards no error.
  const bytes = Readable.from(texts, { objectMode: false }).on('error', (error) => records.destroy(error));
  bytes.pipe(records);
  let header: string[] | undefined;
  let row = 0;
  try {
    for await (const record of records as AsyncIterable<string[]>) {
      if (header === undefined) {
        header = record.map((name) => name.trim());
        // Faults and messages name columns, so a hash must not be one.
        if (header.some((name) => DATA.test(name)))
          throw new Error(
            'the first line of the CSV has data, such as an email, and no names of columns. Write the names above it.',
          );
        const twice = header.find((name, index) => header?.indexOf(name) !== index);
        if (twice !== undefined) throw new Error(`the CSV has two columns "${twice}". Remove one of them.`);
        continue;
      }
      row += 1;
      yield rowOf(row, header, record);
    }
  } catch (error) {
    // The library's messages may quote a cell.
    if (!(error instanceof Error && 'code' in error && String(error.code).startsWith('CSV_'))) throw error;
    throw new Error(
      `the CSV is broken after row ${row} (${String(error.code)}). The rows before are complete. Mend the file and run the command again.`,
    );
  }
}

function rowOf(row: number, header: readonly string[], record: readonly string[]): SourceRow {
  if (record.length === header.length)
    return { row, value: Object.fromEntries(header.map((name, index) => [name, record[index]])) };
  const message = `has ${record.length} cells, and the header has ${header.length}`;
  return { row, fault: { field: '', code: 'unreadable', message } };
}
