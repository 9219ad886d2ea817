// What a table shows, and what can be done with its rows.
import type { ReactNode } from 'react';

export type Column<T> = {
  key: string;
  header: string;
  cell: (row: T) => ReactNode;
  /** The value of the sort parameter. Without one, the list cannot be sorted by the column. */
  sort?: string;
  align?: 'end';
  /** Left out of cards. */
  isWideOnly?: boolean;
};

export type RowAction = {
  label: string;
  icon?: ReactNode;
  isDangerous?: boolean;
  /** Why it cannot be done now; shown in the menu. */
  disabledReason?: string | null;
  run: () => void;
};

/** What a row is drawn from. It is drawn again when one of these changes. */
export type RowParts<T> = {
  row: T;
  title: Column<T>;
  columns: readonly Column<T>[];
  name: string;
  isActive: boolean;
  isSelectable: boolean;
  isSelected: boolean;
  canOpen: boolean;
  hasActions: boolean;
  /** Only while the menu of the row is open. */
  actions: RowAction[] | null;
  closeMenu: () => void;
};
