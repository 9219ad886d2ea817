// Erases a user: says what goes and what stays, shows who loses what, and asks for the email address. It cannot be undone.
import type { User } from '@castellan/sdk';
import { TextInput } from '@mantine/core';
import { type ReactElement, useState } from 'react';
import { ConfirmDialog } from '../../../components/dialogs/ConfirmDialog.tsx';
import { usePreview } from '../../../components/dialogs/impact.tsx';
import { ChangedMeanwhile } from '../../../components/forms/ChangedMeanwhile.tsx';
import { notifyDone } from '../../../components/page/notify.tsx';
import { ReadErrors } from '../../../components/page/states.tsx';
import { useWrite } from '../../../data/api.ts';
import { isCode } from '../../../data/errors.ts';
import { nameOf } from '../../../data/me.tsx';
import { later } from '../../../text.ts';
import { eraseUser, previewErasure, useStoredUser } from '../data.ts';
import { changedFields } from '../pane/changed-fields.ts';

type Props = { user: User; onClose: () => void; onRemoved?: () => void };

export function EraseDialog({ user, onClose, onRemoved }: Props): ReactElement {
  const texts = later.erasure;
  const { before, stored, etag, isReady, read } = useStoredUser(user);
  const [typed, setTyped] = useState('');
  const preview = usePreview(['erase', user.id, etag], (signal, query) =>
    previewErasure(user.id, { signal, query }),
  );
  const write = useWrite(
    () => eraseUser(user.id, etag),
    ({ audit_entries, finished }) => {
      onClose();
      onRemoved?.();
      notifyDone(finished ? texts.done(audit_entries) : texts.unfinished(audit_entries));
    },
  );
  const isStale = isCode(write.error, 'precondition_failed');
  return (
    <ConfirmDialog
      title={texts.ask(nameOf(stored))}
      confirmLabel={texts.act}
      isDangerous
      isPending={write.isPending}
      isDisabled={!isReady || typed.trim().toLowerCase() !== stored.email.toLowerCase()}
      error={isStale ? null : write.error}
      preview={preview}
      confirmation={
        <TextInput
          label={texts.type(stored.email)}
          autoComplete="off"
          spellCheck={false}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
      }
      onConfirm={() => write.run(undefined)}
      onClose={onClose}
    >
      <div>
        <p>{texts.goes}</p>
        <ul className="reasons">
          <li>{texts.account(stored.roles.length)}</li>
          <li>{texts.log}</li>
        </ul>
      </div>
      <p>{texts.stays}</p>
      <p className="muted">{texts.beyond}</p>
      <ReadErrors of={[read]} />
      <ChangedMeanwhile fields={changedFields(before, stored)} isRefused={isStale} />
    </ConfirmDialog>
  );
}
