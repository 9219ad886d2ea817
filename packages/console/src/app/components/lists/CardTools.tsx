// What the heads of a table do, above its cards: selecting all rows, and sorting.
import { NativeSelect } from '@mantine/core';
import { type ReactElement, useId } from 'react';
import { t } from '../../text.ts';
import { SelectAll } from '../table/SelectAll.tsx';

type Props = {
  rows: readonly { id: string }[];
  columns: readonly { header: string; sort?: string }[];
  selection: ReadonlySet<string> | undefined;
  onSelect: ((selection: ReadonlySet<string>) => void) | undefined;
  sort: string | undefined;
  onSort: ((sort: string) => void) | undefined;
};

export function CardTools(props: Props): ReactElement | null {
  const { rows, columns, selection, onSelect, sort, onSort } = props;
  const box = useId();
  const sorts = columns.flatMap(({ header, sort: value }) =>
    value
      ? [
          { value, label: `${header} ↑` },
          { value: `-${value}`, label: `${header} ↓` },
        ]
      : [],
  );
  // The column of the current order may be hidden.
  const isListed = sorts.some(({ value }) => value === sort);
  const isSortable = onSort !== undefined && sorts.length > 0;
  if (!selection && !isSortable) return null;
  return (
    <div className="card-tools">
      {selection && (
        <label className="card-select-all" htmlFor={box}>
          <SelectAll id={box} rows={rows} selection={selection} onSelect={onSelect} />
          {t.common.list.selectAll}
        </label>
      )}
      {isSortable && (
        <NativeSelect
          size="xs"
          aria-label={t.common.list.sort}
          data={isListed ? sorts : [{ value: sort ?? '', label: t.common.list.sort }, ...sorts]}
          value={sort ?? ''}
          onChange={(event) => onSort(event.currentTarget.value)}
        />
      )}
    </div>
  );
}
