// One row of a table, as a card on phones.
import type { ReactElement } from 'react';
import { OpenButton, SelectBox } from './parts.tsx';
import { RowMenu } from './RowMenu.tsx';
import type { RowParts } from './types.ts';

export function Card<T extends { id: string }>(parts: RowParts<T>): ReactElement {
  const { row, title, columns, isActive, isSelected, isSelectable, hasActions } = parts;
  return (
    <li
      className="card"
      data-row={row.id}
      data-active={isActive || undefined}
      data-selected={isSelected || undefined}
    >
      <div className="card-head">
        {isSelectable && <SelectBox {...parts} />}
        <div className="title">
          <OpenButton {...parts}>{title.cell(row)}</OpenButton>
        </div>
        {hasActions && <RowMenu {...parts} />}
      </div>
      <dl>
        {columns
          .filter(({ isWideOnly }) => !isWideOnly)
          .map((column) => (
            <div key={column.key}>
              <dt>{column.header}</dt>
              <dd>{column.cell(row)}</dd>
            </div>
          ))}
      </dl>
    </li>
  );
}
