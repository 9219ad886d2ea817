// The heads of the columns: sorting, and the box that selects all rows.
import { IconArrowDown, IconArrowsSort, IconArrowUp } from '@tabler/icons-react';
import type { ReactElement } from 'react';
import { t } from '../../text.ts';
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
  const chosen = rows.filter(({ id }) => selection?.has(id)).length;
  const toggleAll = (): void => {
    const next = new Set(selection);
    for (const { id } of rows) {
      if (chosen === rows.length) next.delete(id);
      else next.add(id);
    }
    onSelect?.(next);
  };
  return (
    <thead>
      <tr>
        {selection && (
          <th className="select" scope="col">
            <input
              type="checkbox"
              aria-label={t.common.list.selectAll}
              checked={chosen > 0 && chosen === rows.length}
              ref={(box) => {
                if (box) box.indeterminate = chosen > 0 && chosen < rows.length;
              }}
              onChange={toggleAll}
            />
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
