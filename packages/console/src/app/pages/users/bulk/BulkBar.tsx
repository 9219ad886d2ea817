// What can be done with the selected users.
import { Button, CloseButton } from '@mantine/core';
import type { ReactElement } from 'react';
import { useEscape } from '../../../components/keyboard/escape.ts';
import { useMe } from '../../../data/me.tsx';
import { t } from '../../../text.ts';
import { ActionButton } from '../ActionButton.tsx';
import type { BulkAct } from './bulk.ts';
import type { Selection } from './selection.ts';

export type BulkAction = BulkAct | 'exportSelected';

type Props = {
  selection: Selection;
  /** Users that match the filter. */
  total: number;
  onAction: (action: BulkAction) => void;
  isOverlaid: boolean;
};

const acts = ['addRoles', 'removeRoles', 'activate', 'deactivate', 'endSessions'] as const;

export function BulkBar({ selection, total, onAction, isOverlaid }: Props): ReactElement {
  const { can } = useMe();
  useEscape(!isOverlaid, selection.clear);
  const need = (...permissions: string[]): string | null => {
    const missing = permissions.find((one) => !can(one));
    return missing ? t.common.forbidden.reason(missing) : null;
  };
  const reasonFor = (act: BulkAct): string | null =>
    act === 'addRoles' || act === 'removeRoles' ? need('access.change', 'user.update') : need('users.update');
  const { count, isEveryMatch, coversPage } = selection;
  return (
    <section className="bulk-bar" aria-label={t.users.bulk.label}>
      <p className="bulk-count" role="status">
        {isEveryMatch ? t.users.bulk.everyMatch(total) : t.common.list.selected(count)}
        {!isEveryMatch && coversPage && total > count && (
          <Button variant="subtle" size="compact-sm" onClick={selection.selectEveryMatch}>
            {t.users.bulk.selectEveryMatch(total)}
          </Button>
        )}
      </p>
      <div className="bulk-acts">
        {acts.map((act) => (
          <ActionButton
            key={act}
            reason={reasonFor(act)}
            isDangerous={act === 'deactivate' || act === 'endSessions'}
            onClick={() => onAction(act)}
          >
            {t.users.bulk.acts[act]}
          </ActionButton>
        ))}
        <ActionButton reason={null} onClick={() => onAction('exportSelected')}>
          {t.common.actions.exportCsv}
        </ActionButton>
      </div>
      <CloseButton aria-label={t.common.list.clearSelection} onClick={selection.clear} />
    </section>
  );
}
