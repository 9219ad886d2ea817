// One row of a table, on wide screens.
import type { ReactElement } from 'react';
import { OpenButton, SelectBox } from './parts.tsx';
import { RowMenu } from './RowMenu.tsx';
import type { RowParts } from './types.ts';

export function TableRow<T extends { id: string }>(parts: RowParts<T>): ReactElement {
  const { row, title, columns, isActive, isSelected, isSelectable, hasActions } = parts;
  return (
    <tr data-row={row.id} data-active={isActive || undefined} data-selected={isSelected || undefined}>
      {isSelectable && (
        <td className="select">
          <SelectBox {...parts} />
        </td>
      )}
      <td className="title">
        <OpenButton {...parts}>{title.cell(row)}</OpenButton>
      </td>
      {columns.map((column) => (
        <td key={column.key} data-column={column.key} data-align={column.align}>
          {column.cell(row)}
        </td>
      ))}
      {hasActions && (
        <td className="menu">
          <RowMenu {...parts} />
        </td>
      )}
    </tr>
  );
}
