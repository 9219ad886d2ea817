// Prints lists and records: tables for people, the bodies of the API for programs.
import type { InputOf, ListPath, Operation, Page, ResultOf } from '@castellan/sdk';
import { type Option, UsageError } from '../command.ts';
import { type Api, overApi } from './connection.ts';
import { aligned, jsonText, shown, widthsOf } from './text.ts';

/** A heading and what stands below it. */
export type Column<T> = readonly [heading: string, value: (item: T) => unknown];

export const listOptions: readonly Option[] = [
  { flags: '--size <number>', help: 'How many to show, 1 to 100. Default: 50.' },
  { flags: '--all', help: 'Show all. With --json, one JSON object a line (NDJSON).' },
];

/** How to read a list: one page with its body, or page after page. */
type Source<T> = {
  body: (query: { size: number }) => Promise<unknown>;
  pages: (query: { size: number }) => AsyncIterable<Page<T>>;
};

type ListOperation<P extends ListPath> = Extract<Operation, `GET ${P}`>;
type ItemOf<P extends ListPath> =
  ResultOf<ListOperation<P>> extends { data: { items: (infer T)[] } | (infer T)[] } ? T : never;

/** A list of the API: its path, what it is asked for besides the size, and its columns. */
type List<P extends ListPath> = {
  path: P;
  input?: (api: Api) => Promise<InputOf<ListOperation<P>>>;
  columns: readonly Column<ItemOf<P>>[];
};

/** Returns the `run` of a command that prints a list of the API. */
export const listing = <P extends ListPath>({ path, input, columns }: List<P>) =>
  overApi(async (api) => {
    const given = await (input as InputReader | undefined)?.(api);
    const sized = (size: { size: number }) => ({ ...given, query: { ...given?.query, ...size } });
    const { get, pages } = api.client as unknown as ListReader<ItemOf<P>>;
    const source = {
      body: (size: { size: number }) => get(path, sized(size)),
      pages: (size: { size: number }) => pages(path, sized(size)),
    };
    await printList(api, source, columns);
  });

type InputReader = (api: Api) => Promise<{ path?: object; query?: object }>;

/** The client, for a list that only the caller of a generic function knows. */
type ListReader<T> = {
  get: (path: string, input: object) => Promise<unknown>;
  pages: (path: string, input: object) => AsyncIterable<Page<T>>;
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

/** A name and what stands beside it. */
export type Fact = readonly [name: string, value: unknown];

/** Prints one record: the body, or a line for each of its facts. */
export function printRecord({ call }: Api, body: unknown, facts: readonly Fact[]): void {
  call.print(
    call.values.json === true
      ? jsonText(body, 2)
      : aligned(facts.map(([name, value]) => [`${name}:`, shown(value)])).join('\n'),
  );
}
