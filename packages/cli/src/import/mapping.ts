// Reads `--map field=path,…`, and turns a row of another system into one of Castellan by it.
import type { SourceRow } from '@castellan/server/modules/transfer/service';
import { UsageError } from '../command.ts';
import { valueAt } from './rows.ts';

export type Mapping = readonly { field: string; path: string }[];
type Value = Record<string, unknown>;
export type Reader = (value: Value) => Value;

/** Throws UsageError for an unknown field, a field that is named twice and a part without `=`. */
export function readMapping(text: string, fields: readonly string[]): Mapping {
  const mapping = text.split(',').map((part) => {
    const [field = '', path = '', ...rest] = part.split('=').map((side) => side.trim());
    if (field === '' || path === '' || rest.length > 0)
      throw new UsageError(`--map has "${part}"; write field=column, separated by commas.`);
    if (!fields.includes(field))
      throw new UsageError(`--map names the field "${field}"; the fields are ${fields.join(', ')}.`);
    return { field, path };
  });
  const twice = mapping.find(({ field }, index) => mapping.findIndex((one) => one.field === field) !== index);
  if (twice) throw new UsageError(`--map names the field "${twice.field}" twice.`);
  return mapping;
}

/** Returns a reader that takes the fields of the mapping from the original row, and the others from `base`. */
export const mapped =
  (mapping: Mapping, base: Reader): Reader =>
  (value) => ({
    ...base(value),
    ...Object.fromEntries(mapping.map(({ field, path }) => [field, valueAt(value, path) ?? null])),
  });

/** Applies the reader to every row that could be read. */
export async function* readRows(rows: AsyncIterable<SourceRow>, reader: Reader): AsyncGenerator<SourceRow> {
  for await (const row of rows) yield 'fault' in row ? row : { row: row.row, value: reader(row.value) };
}
