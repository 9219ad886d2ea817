// The box that selects all rows, or none.
import type { ReactElement } from 'react';
import { t } from '../../text.ts';

type Props = {
  id?: string;
  rows: readonly { id: string }[];
  selection: ReadonlySet<string>;
  onSelect: ((selection: ReadonlySet<string>) => void) | undefined;
};

export function SelectAll({ id: box, rows, selection, onSelect }: Props): ReactElement {
  const chosen = rows.filter(({ id }) => selection.has(id)).length;
  const toggleAll = (): void => {
    const next = new Set(selection);
    for (const { id } of rows) {
      if (chosen === rows.length) next.delete(id);
      else next.add(id);
    }
    onSelect?.(next);
  };
  return (
    <input
      id={box}
      type="checkbox"
      aria-label={t.common.list.selectAll}
      checked={chosen > 0 && chosen === rows.length}
      ref={(input) => {
        if (input) input.indeterminate = chosen > 0 && chosen < rows.length;
      }}
      onChange={toggleAll}
    />
  );
}
