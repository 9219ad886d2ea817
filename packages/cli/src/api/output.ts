// Prints lists and records: tables for people, the bodies of the API for programs.
import type { Page } from '@castellan/sdk';
import { type Option, UsageError } from '../command.ts';
import type { Api } from './connection.ts';
import { aligned, jsonText, shown, widthsOf } from './text.ts';

/** A heading and what stands below it. */
export type Column<T> = readonly [heading: string, value: (item: T) => unknown];

export const listOptions: readonly Option[] = [
  { flags: '--size <number>', help: 'How many to show, 1 to 100. Default: 50.' },
  { flags: '--all', help: 'Show all. With --json, one JSON object a line (NDJSON).' },
];

/** How to read a list: one page with its body, or page after page. */
export type Source<T> = {
  body: (query: { size: number }) => Promise<unknown>;
  pages: (query: { size: number }) => AsyncIterable<Page<T>>;
};

const DEFAULT_SIZE = 50;
const MAX_SIZE = 100;

/** Prints one page, or with --all every item. */
export async function printList<T>(
  api: Api,
  source: Source<T>,
  columns: readonly Column<T>[],
): Promise<void> {
  const { call } = api;
  const all = call.values.all === true;
  const size = sizeOf(api) ?? (all ? MAX_SIZE : DEFAULT_SIZE);
  if (call.values.json === true && !all) return call.print(jsonText(await source.body({ size }), 2));
  const printRows = call.values.json === true ? jsonLines<T>(api) : tableOf(api, columns);
  let count = 0;
  for await (const { items, total } of source.pages({ size })) {
    count += items.length;
    printRows(items);
    // The reader of the output is gone (`| head`).
    if (process.stdout.destroyed) return;
    if (!all) return note(count, total ?? count);
  }
}

const note = (count: number, total: number): void => {
  if (total > count) process.stderr.write(`${count} of ${total}. --all shows all.\n`);
};

function sizeOf({ call }: Api): number | undefined {
  const text = call.values.size;
  if (text === undefined) return undefined;
  const size = Number(text);
  if (Number.isInteger(size) && size >= 1 && size <= MAX_SIZE) return size;
  throw new UsageError(`--size must be a number from 1 to ${MAX_SIZE}.`);
}

const jsonLines =
  <T>({ call }: Api) =>
  (items: readonly T[]): void => {
    if (items.length > 0) call.print(items.map((item) => jsonText(item)).join('\n'));
  };

/** Prints the headings with the first rows. Later rows keep the widths, so that a long list needs no memory. */
export function tableOf<T>({ call }: Pick<Api, 'call'>, columns: readonly Column<T>[]) {
  let widths: number[] | undefined;
  return (items: readonly T[]): void => {
    const rows = items.map((item) => columns.map(([, value]) => shown(value(item))));
    const lines = widths ? rows : [columns.map(([heading]) => heading), ...rows];
    widths ??= widthsOf(lines);
    if (lines.length > 0) call.print(aligned(lines, widths).join('\n'));
  };
}

/** Prints one record: the body, or a line for each of its facts. */
export function printRecord(
  { call }: Api,
  body: unknown,
  facts: readonly (readonly [name: string, value: unknown])[],
): void {
  call.print(
    call.values.json === true
      ? jsonText(body, 2)
      : aligned(facts.map(([name, value]) => [`${name}:`, shown(value)])).join('\n'),
  );
}
