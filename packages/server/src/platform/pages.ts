// Computes the pages of a list.
import type { PageQuery, Pagination } from '@castellan/contract/common';

/** Returns the number of rows before this page. */
export const offsetOf = ({ page, size }: PageQuery): number => (page - 1) * size;

/** Returns the number of pages; 0 for an empty list. */
export const pagesOf = (total: number, size: number): number => Math.ceil(total / size);

export const paginationOf = ({ page, size }: PageQuery, total: number): Pagination => ({
  page,
  limit: size,
  total,
  pages: pagesOf(total, size),
});
