// Asks before an act on one user, shows what it would change, carries it out and offers to undo what can be undone.

import type { AccessPreview, UpdateUser, User } from '@castellan/sdk';
import { lazy, type ReactElement, Suspense } from 'react';
import { ConfirmDialog } from '../../../components/dialogs/ConfirmDialog.tsx';
import { usePreview } from '../../../components/dialogs/impact.tsx';
import { ChangedMeanwhile } from '../../../components/forms/ChangedMeanwhile.tsx';
import { notifyDone, notifyUndo } from '../../../components/page/notify.tsx';
import { ReadErrors } from '../../../components/page/states.tsx';
import { call, readAgain, useWrite } from '../../../data/api.ts';
import { isCode } from '../../../data/errors.ts';
import { nameOf } from '../../../data/me.tsx';
import { t, withLaterTexts } from '../../../text.ts';
import { changeUser, endSessionsOf, previewUser, useStoredUser, withdrawInvitation } from '../data.ts';
import { changedFields } from '../pane/changed-fields.ts';
import { DeleteDialog } from './DeleteDialog.tsx';

const ActAsDialog = lazy(() =>
  withLaterTexts(import('./ActAsDialog.tsx')).then((file) => ({ default: file.ActAsDialog })),
);
const EraseDialog = lazy(() =>
  withLaterTexts(import('./EraseDialog.tsx')).then((file) => ({ default: file.EraseDialog })),
);

export type Act =
  | 'activate'
  | 'deactivate'
  | 'promote'
  | 'demote'
  | 'unlock'
  | 'resend'
  | 'endSessions'
  | 'inviteAgain'
  | 'withdraw'
  | 'remove'
  | 'actAs'
  | 'erase';

type Props = { act: Act; user: User; onClose: () => void; onRemoved?: () => void };

export function ActDialog({ act, user, onClose, onRemoved }: Props): ReactElement {
  if (act === 'remove')
    return <DeleteDialog user={user} onClose={onClose} {...(onRemoved ? { onRemoved } : {})} />;
  if (act === 'actAs' || act === 'erase')
    return (
      <Suspense>
        {act === 'actAs' ? (
          <ActAsDialog user={user} onClose={onClose} />
        ) : (
          <EraseDialog user={user} onClose={onClose} {...(onRemoved ? { onRemoved } : {})} />
        )}
      </Suspense>
    );
  if (isAccessAct(act)) return <AccessAct act={act} user={user} onClose={onClose} />;
  return <PlainAct act={act} user={user} onClose={onClose} {...(onRemoved ? { onRemoved } : {})} />;
}

const changes = {
  activate: { is_active: true },
  deactivate: { is_active: false },
  promote: { is_superuser: true },
  demote: { is_superuser: false },
} as const satisfies Record<string, UpdateUser>;

type AccessAct = keyof typeof changes;
type PlainAct = Exclude<Act, AccessAct | 'remove' | 'actAs' | 'erase'>;

const isAccessAct = (act: Act): act is AccessAct => act in changes;

const reverse = {
  activate: changes.deactivate,
  deactivate: changes.activate,
  promote: changes.demote,
  demote: changes.promote,
} as const satisfies Record<AccessAct, UpdateUser>;

type PartProps<A> = { act: A; user: User; onClose: () => void };

function AccessAct({ act, user, onClose }: PartProps<AccessAct>): ReactElement {
  const name = nameOf(user);
  const { before, stored, etag, isReady, read } = useStoredUser(user);
  const preview = usePreview(
    [act, user.id, etag],
    (signal, query): Promise<{ data: AccessPreview }> =>
      previewUser(user.id, changes[act], { signal, query }),
  );
  const write = useWrite(
    () => changeUser(user.id, changes[act], etag),
    (changed) => {
      onClose();
      notifyUndo(t.users.done[act](name), async () => {
        await changeUser(user.id, reverse[act], etag && changed.etag);
        await readAgain();
      });
    },
  );
  const isStale = isCode(write.error, 'precondition_failed');
  return (
    <ConfirmDialog
      title={t.users.ask[act](name)}
      confirmLabel={t.users.acts[act]}
      isDangerous={act === 'deactivate' || act === 'demote'}
      isPending={write.isPending}
      isDisabled={!isReady}
      error={isStale ? null : write.error}
      preview={preview}
      onConfirm={() => write.run(undefined)}
      onClose={onClose}
    >
      <p>{t.users.explain[act]}</p>
      <ReadErrors of={[read]} />
      <ChangedMeanwhile fields={changedFields(before, stored)} isRefused={isStale} />
    </ConfirmDialog>
  );
}

function PlainAct({
  act,
  user,
  onClose,
  onRemoved,
}: PartProps<PlainAct> & { onRemoved?: () => void }): ReactElement {
  const name = nameOf(user);
  const path = { user_id: user.id };
  const run: Record<typeof act, () => Promise<unknown>> = {
    unlock: () => call('POST /api/v1/users/{user_id}/unlock', { path }),
    resend: () => call('POST /api/v1/users/{user_id}/resend-verification', { path }),
    endSessions: () => endSessionsOf(user.id),
    inviteAgain: () => call('POST /api/v1/users/{user_id}/invitation', { path }),
    withdraw: () => withdrawInvitation(user.id),
  };
  const write = useWrite(run[act], () => {
    onClose();
    if (act === 'withdraw') onRemoved?.();
    notifyDone(t.users.done[act](name));
  });
  return (
    <ConfirmDialog
      title={t.users.ask[act](name)}
      confirmLabel={t.users.acts[act]}
      isDangerous={act === 'endSessions' || act === 'withdraw'}
      isPending={write.isPending}
      error={write.error}
      onConfirm={() => write.run(undefined)}
      onClose={onClose}
    >
      <p>{t.users.explain[act]}</p>
    </ConfirmDialog>
  );
}
