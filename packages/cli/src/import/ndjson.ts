// Reads NDJSON: one JSON object a line.
// It must not put the text of a line in a fault, because it may hold a password hash.
import type { SourceRow } from '@castellan/server/modules/transfer/service';
import { parsed } from './rows.ts';

// A user has a few hundred bytes. A longer line is another kind of file.
const MAX_LINE = 1_000_000;

/** Yields a row for each line that is not empty. Throws an Error if a line has more than a million characters. */
export async function* readNdjson(texts: AsyncIterable<string>): AsyncGenerator<SourceRow> {
  let row = 0;
  for await (const line of linesOf(texts)) {
    if (line.trim() === '') continue;
    row += 1;
    yield parsed(row, line);
  }
}

/** Yields the lines without their ends. */
export async function* linesOf(texts: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = '';
  for await (const text of texts) {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > MAX_LINE)
      throw new Error(
        `the file has a line of more than ${MAX_LINE} characters: it is not NDJSON. Choose another --type.`,
      );
    yield* lines;
  }
  if (rest !== '') yield rest;
}
