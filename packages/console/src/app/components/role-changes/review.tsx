// Unsaved changes of roles: the bar that counts them, the review with its preview, and the choice after a conflict.
// All of them are saved by one request, or none.

import type { AccessChange } from '@castellan/sdk';
import { Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type ReactElement, type ReactNode, useEffect, useEffectEvent, useState } from 'react';
import { call, callPreview, readAgain } from '../../data/api.ts';
import { isCode } from '../../data/errors.ts';
import { t } from '../../text.ts';
import { ConfirmDialog } from '../dialogs/ConfirmDialog.tsx';
import { usePreview } from '../dialogs/impact.tsx';
import { LeaveGuard } from '../forms/forms.tsx';
import { notifyDone } from '../page/notify.tsx';
import { ConflictDialog } from './ConflictDialog.tsx';
import { changesByRole, countOf, type RoleChange } from './pending.ts';
import './role-changes.css';
import type { RoleChanges } from './use-role-changes.ts';

/** Shows nothing while nothing is pending. */
export function UnsavedChanges({ changes }: { changes: RoleChanges }): ReactElement | null {
  const [dialog, setDialog] = useState<'review' | 'conflict' | null>(null);
  // What takes something away comes first.
  const list = changesByRole(changes.pending).toSorted((a, b) => b.remove.length - a.remove.length);
  const count = countOf(changes.pending);
  const removed = list.reduce((sum, { remove }) => sum + remove.length, 0);
  return (
    <>
      <LeaveGuard when={count > 0} of={['compare']} />
      {count > 0 && (
        <PendingBar>
          <span role="status">
            {[t.matrix.pending(count, list.length), ...(removed > 0 ? [t.matrix.removed(removed)] : [])].join(
              ' · ',
            )}
          </span>
          <span className="pending-actions">
            <Button size="compact-sm" variant="default" onClick={changes.discard}>
              {t.roles.review.discard}
            </Button>
            <Button size="compact-sm" onClick={() => setDialog('review')}>
              {t.roles.review.open}
            </Button>
          </span>
        </PendingBar>
      )}
      {dialog === 'review' && count > 0 && (
        <ReviewDialog
          changes={changes}
          list={list}
          onStale={() => setDialog('conflict')}
          onClose={() => setDialog(null)}
        />
      )}
      {dialog === 'conflict' && (
        <ConflictDialog
          changes={changes}
          onResolved={(isAnythingLeft) => setDialog(isAnythingLeft ? 'review' : null)}
          onClose={() => setDialog(null)}
        />
      )}
    </>
  );
}

/** The page keeps its short messages above the bar, because they would cover its buttons. */
function PendingBar({ children }: { children: ReactNode }): ReactElement {
  useEffect(() => {
    document.body.classList.add('has-pending-bar');
    return () => document.body.classList.remove('has-pending-bar');
  }, []);
  return (
    <section className="pending-bar" aria-label={t.roles.review.label}>
      {children}
    </section>
  );
}

type ReviewProps = {
  changes: RoleChanges;
  list: readonly RoleChange[];
  onStale: () => void;
  onClose: () => void;
};

function ReviewDialog({ changes, list, onStale, onClose }: ReviewProps): ReactElement {
  const { roles, permissions, pending, discard } = changes;
  const roleById = new Map(roles.map((role) => [role.id, role]));
  const nameOf = new Map(permissions.map(({ id, name }) => [id, name]));
  const items: AccessChange[] = list.map(({ roleId, add, remove }) => ({
    role_id: roleId,
    add_permission_ids: add,
    remove_permission_ids: remove,
    version: roleById.get(roleId)?.version ?? 0,
  }));
  const saving = useMutation({
    // The old values must not show again before the new ones are read.
    mutationFn: async () => {
      try {
        await call('POST /api/v1/access/changes', { body: { changes: items } });
      } finally {
        await readAgain();
      }
    },
    onSuccess: () => {
      notifyDone(t.roles.review.saved(countOf(pending)));
      discard();
      onClose();
    },
    onError: (error) => {
      if (isCode(error, 'precondition_failed')) onStale();
    },
  });
  // Of what has just been saved, a preview would say that somebody else has changed the roles.
  const preview = usePreview(
    ['roles', items],
    (signal, query) =>
      callPreview('POST /api/v1/access/changes', { query, body: { changes: items }, signal }),
    !saving.isPending,
  );
  const isStale = !saving.isPending && preview.data?.would_be_refused?.code === 'precondition_failed';
  const onStalePreview = useEffectEvent(() => void readAgain().then(onStale));
  useEffect(() => {
    if (isStale) onStalePreview();
  }, [isStale]);
  return (
    <ConfirmDialog
      title={t.roles.review.title}
      confirmLabel={t.roles.review.save}
      isDangerous={list.some(({ remove }) => remove.length > 0)}
      isPending={saving.isPending}
      error={saving.error}
      preview={preview}
      nothing={t.roles.review.nothingNow}
      onConfirm={() => saving.mutate()}
      onClose={onClose}
    >
      <ul className="review-list">
        {list.map(({ roleId, add, remove }) => (
          <li key={roleId}>
            <strong>{roleById.get(roleId)?.name}</strong>
            <span className="review-marks">
              {remove.map((id) => (
                <Mark key={id} sign="−" tone="bad" name={nameOf.get(id) ?? id} />
              ))}
              {add.map((id) => (
                <Mark key={id} sign="+" tone="good" name={nameOf.get(id) ?? id} />
              ))}
            </span>
          </li>
        ))}
      </ul>
    </ConfirmDialog>
  );
}

const Mark = ({ sign, tone, name }: { sign: string; tone: string; name: string }): ReactElement => (
  <span className={`review-mark badge-${tone} mono`}>
    {sign} {name}
  </span>
);
