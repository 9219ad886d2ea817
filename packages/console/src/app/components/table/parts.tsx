// What rows and cards share. Clicks are handled by the table, once for all rows.
import type { ReactElement, ReactNode } from 'react';
import { t } from '../../text.ts';

export const SelectBox = ({ name, isSelected }: { name: string; isSelected: boolean }): ReactElement => (
  <input type="checkbox" data-select aria-label={t.common.list.select(name)} checked={isSelected} readOnly />
);

export function OpenButton({ canOpen, children }: { canOpen: boolean; children: ReactNode }): ReactNode {
  if (!canOpen) return children;
  return (
    <button type="button" className="row-open" data-open>
      {children}
    </button>
  );
}
