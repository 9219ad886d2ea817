// Gives the role to somebody or takes it from them, after showing what that changes, and offers to undo it.
import type { ReactElement } from 'react';
import { ConfirmDialog } from '../../../components/dialogs/ConfirmDialog.tsx';
import { usePreview } from '../../../components/dialogs/impact.tsx';
import { notifyUndo } from '../../../components/page/notify.tsx';
import { callPreview, readAgain, useWrite } from '../../../data/api.ts';
import type { CountedRole } from '../../../data/catalogue.ts';
import { t } from '../../../text.ts';
import { changeOf, save, type Wanted } from './holder-change.ts';

type Props = { role: CountedRole; wanted: Wanted; onClose: () => void };

export function HolderChangeDialog({ role, wanted, onClose }: Props): ReactElement {
  const { subject, isGiven } = wanted;
  const preview = usePreview(['holder', role.id, wanted], (signal, query) =>
    callPreview('POST /api/v1/access/changes', {
      query,
      body: { changes: [changeOf(wanted, role.id)] },
      signal,
    }),
  );
  const saving = useWrite(
    () => save(wanted, role.id),
    () => {
      const done = isGiven ? t.roles.holdersTab.assigned : t.roles.holdersTab.removed;
      notifyUndo(done(subject.name, role.name), async () => {
        await save({ subject, isGiven: !isGiven }, role.id);
        await readAgain();
      });
      onClose();
    },
  );
  return (
    <ConfirmDialog
      title={
        isGiven
          ? t.roles.holdersTab.giveTitle(subject.name, role.name)
          : t.roles.holdersTab.removeTitle(subject.name, role.name)
      }
      confirmLabel={isGiven ? t.roles.holdersTab.give : t.roles.holdersTab.remove}
      isDangerous={!isGiven}
      isPending={saving.isPending}
      error={saving.error}
      preview={preview}
      onConfirm={() => saving.run(undefined)}
      onClose={onClose}
    />
  );
}
