// The heads of the columns: sorting, and the box that selects all rows.
import { IconArrowDown, IconArrowsSort, IconArrowUp } from '@tabler/icons-react';
import type { ReactElement } from 'react';
import { t } from '../../text.ts';
import { SelectAll } from './SelectAll.tsx';
import type { Column } from './types.ts';

type Props<T> = {
  rows: readonly T[];
  title: Column<T>;
  columns: readonly Column<T>[];
  selection: ReadonlySet<string> | undefined;
  onSelect: ((selection: ReadonlySet<string>) => void) | undefined;
  sort: string | undefined;
  onSort: ((sort: string) => void) | undefined;
  hasActions: boolean;
};

export function Head<T extends { id: string }>({
  rows,
  title,
  columns,
  selection,
  onSelect,
  sort,
  onSort,
  hasActions,
}: Props<T>): ReactElement {
  return (
    <thead>
      <tr>
        {selection && (
          <th className="select" scope="col">
            <SelectAll rows={rows} selection={selection} onSelect={onSelect} />
          </th>
        )}
        {[title, ...columns].map((column) => (
          <HeadCell key={column.key} column={column} current={sort} onSort={onSort} />
        ))}
        {hasActions && (
          <th className="menu" scope="col">
            <span className="visually-hidden">{t.common.actions.more}</span>
          </th>
        )}
      </tr>
    </thead>
  );
}

type HeadCellProps = {
  column: { key: string; header: string; sort?: string; align?: 'end' };
  current: string | undefined;
  onSort: ((sort: string) => void) | undefined;
};

function HeadCell({ column, current, onSort }: HeadCellProps): ReactElement {
  const { key, header, sort, align } = column;
  if (!sort || !onSort)
    return (
      <th scope="col" data-column={key} data-align={align}>
        {header}
      </th>
    );
  const isUp = current === sort;
  const isDown = current === `-${sort}`;
  const Icon = isUp ? IconArrowUp : isDown ? IconArrowDown : IconArrowsSort;
  return (
    <th
      scope="col"
      data-column={key}
      data-align={align}
      aria-sort={isUp ? 'ascending' : isDown ? 'descending' : 'none'}
    >
      <button type="button" className="sort" onClick={() => onSort(isUp ? `-${sort}` : sort)}>
        {header}
        <Icon size={14} aria-hidden data-idle={(!isUp && !isDown) || undefined} />
      </button>
    </th>
  );
}
