// Reads lists page by page: those with `page` and `size`, and those with a cursor.

import { CastellanError } from '../errors.ts';
import type { AnyInput } from './call.ts';
import type { Operation, PathOf, ResultOf } from './operations.ts';

export type Page<T> = {
  items: T[];
  /** All records of the list, on whatever page; null if the list does not count them. */
  total: number | null;
};

type ItemOfResult<R> = R extends { data: { items: (infer T)[]; pages: number } }
  ? T
  : R extends { data: (infer T)[]; pagination: { pages: number } }
    ? T
    : R extends { data: (infer T)[]; next_cursor: string | null }
      ? T
      : never;

export type ItemOf<P extends PathOf<'GET'>> = ItemOfResult<ResultOf<Extract<Operation, `GET ${P}`>>>;

/** The paths of the operations that return pages. */
export type ListPath = {
  [P in PathOf<'GET'>]: [ItemOf<P>] extends [never] ? never : P;
}[PathOf<'GET'>];

/** The two kinds of a page, of items whose type the caller knows. */
type ListResult = {
  data?: never[] | { items?: never[]; total?: number; pages?: number };
  pagination?: { total?: number; pages?: number };
  next_cursor?: string | null;
  total?: number;
};

/**
 * Reads one page after another, from `query.page` or `query.cursor` on. Throws `malformed_response` for a result that is
 * no page, and if the service sends a cursor for the second time, which would never end.
 */
export async function* readPages(
  read: (input: AnyInput) => Promise<ListResult>,
  input: AnyInput,
): AsyncGenerator<Page<never>, void, undefined> {
  const cursors = new Set<string>();
  let next: { page?: number; cursor?: string } = {};
  for (let page = firstPage(input.query); ; page += 1) {
    const result = await read({ ...input, query: { ...input.query, ...next } });
    const { items, total, pages } = pageOf(result);
    yield { items, total };
    const cursor = result.next_cursor;
    if (typeof cursor === 'string') {
      if (cursors.has(cursor)) throw malformed('repeats a cursor');
      cursors.add(cursor);
      next = { cursor };
    } else {
      if (page >= pages || items.length === 0) return;
      next = { page: page + 1 };
    }
  }
}

const firstPage = (query: object | undefined): number => Number(Object(query).page) || 1;

function pageOf({ data, pagination, total }: ListResult): Page<never> & { pages: number } {
  const [items, counts] = Array.isArray(data) ? [data, pagination] : [data?.items, data];
  if (!Array.isArray(items)) throw malformed('is not a page');
  return { items, total: counts?.total ?? total ?? null, pages: counts?.pages ?? 1 };
}

const malformed = (problem: string): CastellanError =>
  new CastellanError('malformed_response', `The response ${problem}.`);
