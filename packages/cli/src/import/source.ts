// Opens the file of an import, or standard input.
import { createReadStream } from 'node:fs';
import { extname } from 'node:path';
import type { SourceRow } from '@castellan/server/modules/transfer/service';
import { readCsv } from './csv.ts';
import type { FileType } from './formats/format.ts';
import { readJsonList } from './json-list.ts';
import { readNdjson } from './ndjson.ts';

const byExtension: ReadonlyMap<string, FileType> = new Map([
  ['.csv', 'csv'],
  ['.json', 'json'],
  ['.ndjson', 'ndjson'],
  ['.jsonl', 'ndjson'],
]);

/** Returns the type by the ending of the name. */
const typeOf = (path: string): FileType | undefined => byExtension.get(extname(path).toLowerCase());

/** Returns the text of the file; `-` is standard input. Rejects with a message for the operator. */
export async function* openText(path: string): AsyncGenerator<string> {
  const stream = path === '-' ? process.stdin : createReadStream(path);
  const decoder = new TextDecoder('utf-8', { fatal: true });
  try {
    for await (const chunk of stream) yield decoder.decode(chunk, { stream: true });
    const rest = decoder.decode();
    if (rest !== '') yield rest;
  } catch (error) {
    if (error instanceof TypeError)
      throw new Error(`${path} is not UTF-8. Convert it, for example with iconv.`);
    throw new Error(`${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Returns the rows of the file. The ending of its name decides on the type before `options.type` does. */
export function openRows(
  path: string,
  options: { type: FileType; key: string },
  forced?: FileType,
): AsyncGenerator<SourceRow> {
  const texts = openText(path);
  const type = forced ?? typeOf(path) ?? options.type;
  if (type === 'csv') return readCsv(texts);
  return type === 'json' ? readJsonList(texts, options.key) : readNdjson(texts);
}
