// Pages of a list: which rows, and what is said about them.
import type { PageQuery, Pagination } from '@castellan/contract/common';

/** Rows to skip before this page. */
export const offsetOf = ({ page, size }: PageQuery): number => (page - 1) * size;

/** `pages` is 0 for an empty list. */
export const pagesOf = (total: number, size: number): number => Math.ceil(total / size);

export const paginationOf = ({ page, size }: PageQuery, total: number): Pagination => ({
  page,
  limit: size,
  total,
  pages: pagesOf(total, size),
});
