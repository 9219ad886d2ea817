// Before an act on many users: who is left out and why, and what it changes.
import type { ListedUser } from '@castellan/sdk';
import { type ReactElement, useState } from 'react';
import { ConfirmDialog } from '../../../components/dialogs/ConfirmDialog.tsx';
import { usePreview } from '../../../components/dialogs/impact.tsx';
import { RolePicker } from '../../../components/roles/RolePicker.tsx';
import { nameOf, useMe } from '../../../data/me.tsx';
import { later, t } from '../../../text.ts';
import { type BulkAct, divide, needsRoles, nothingPreviewed, type SkipReason } from './bulk.ts';
import { previewAll } from './bulk-requests.ts';

const NAMED = 5;

type Props = {
  act: BulkAct;
  users: readonly ListedUser[];
  roleIds: string[];
  onRoles: (ids: string[]) => void;
  onConfirm: (users: readonly ListedUser[]) => void;
  onClose: () => void;
};

export function BulkReview({ act, users, roleIds, onRoles, onConfirm, onClose }: Props): ReactElement {
  const { user: self } = useMe();
  // At a second review the roles are chosen: the picker would only cover the buttons with its options.
  const [isFirstReview] = useState(roleIds.length === 0);
  const { changing, skipped } = divide(users, { act, self, roleIds });
  const isReady = changing.length > 0 && (!needsRoles(act) || roleIds.length > 0);
  const hasPreview = act !== 'endSessions';
  const preview = usePreview([act, users.length, ...roleIds], async (signal, query) => ({
    data:
      isReady && hasPreview ? await previewAll(act, changing, { roleIds, signal, query }) : nothingPreviewed,
  }));
  return (
    <ConfirmDialog
      title={later.userBulk.ask[act](changing.length)}
      confirmLabel={t.users.bulk.acts[act]}
      isDangerous={act === 'deactivate' || act === 'endSessions' || act === 'removeRoles'}
      isPending={false}
      isDisabled={!isReady}
      error={null}
      onConfirm={() => onConfirm(changing)}
      onClose={onClose}
      {...(isReady && hasPreview ? { preview } : {})}
    >
      {needsRoles(act) && (
        <RolePicker
          label={t.users.columns.roles}
          value={roleIds}
          onChange={onRoles}
          isFirst={isFirstReview}
        />
      )}
      {act === 'endSessions' && <p>{later.userBulk.endSessions}</p>}
      <Skipped skipped={skipped} />
    </ConfirmDialog>
  );
}

const namesOf = (users: readonly ListedUser[]): string =>
  [
    users.slice(0, NAMED).map(nameOf).join(', '),
    ...(users.length > NAMED ? [t.common.list.more(users.length - NAMED)] : []),
  ].join(' · ');

function Skipped({ skipped }: { skipped: ReadonlyMap<SkipReason, ListedUser[]> }): ReactElement | null {
  if (skipped.size === 0) return null;
  return (
    <section className="skipped" aria-label={later.userBulk.skipped}>
      <strong>{later.userBulk.skipped}</strong>
      <ul>
        {[...skipped].map(([reason, users]) => (
          <li key={reason}>
            {later.userBulk.skipReasons[reason](users.length)} <span className="muted">{namesOf(users)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
