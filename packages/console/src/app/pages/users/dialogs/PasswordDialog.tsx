// Sets a password of another user. A generated one is shown until the dialog is closed.

import type { User } from '@castellan/sdk';
import { Button, Group, Modal, Stack } from '@mantine/core';
import { type ReactElement, useState } from 'react';
import { ChangedMeanwhile } from '../../../components/forms/ChangedMeanwhile.tsx';
import { Form } from '../../../components/forms/forms.tsx';
import { ReadErrors } from '../../../components/page/states.tsx';
import { useWrite } from '../../../data/api.ts';
import { isCode } from '../../../data/errors.ts';
import { nameOf } from '../../../data/me.tsx';
import { t } from '../../../text.ts';
import { changeUser, useStoredUser } from '../data.ts';
import { changedFields } from '../pane/changed-fields.ts';
import { generatedChoice, PasswordFields, SecretField } from './PasswordFields.tsx';

export function PasswordDialog({ user, onClose }: { user: User; onClose: () => void }): ReactElement {
  const [choice, setChoice] = useState(generatedChoice);
  const [sent, setSent] = useState<string | null>(null);
  const [isDone, setDone] = useState(false);
  const { before, stored, etag, isReady, read } = useStoredUser(user);
  const write = useWrite(
    () => changeUser(user.id, { password: choice.password, must_change_password: choice.mustChange }, etag),
    () => setDone(true),
  );
  const isStale = isCode(write.error, 'precondition_failed');
  return (
    <Modal
      opened
      onClose={onClose}
      title={t.users.password.title(nameOf(user))}
      closeButtonProps={{ 'aria-label': t.common.actions.close }}
    >
      {isDone ? (
        <Stack gap="sm">
          <p role="status">{t.users.password.done}</p>
          {choice.mode === 'generated' && (
            <SecretField
              label={t.users.password.label}
              value={choice.password}
              note={t.users.password.once}
            />
          )}
          <Group justify="flex-end">
            <Button onClick={onClose}>{t.common.actions.close}</Button>
          </Group>
        </Stack>
      ) : (
        <Form
          onSubmit={() => {
            setSent(choice.password);
            write.run(undefined);
          }}
          isPending={write.isPending}
          error={isStale ? null : write.error}
          fields={['password']}
          submitLabel={t.users.acts.password}
          isDisabled={choice.password === '' || !isReady}
          onCancel={onClose}
        >
          <p>{t.users.password.text}</p>
          <PasswordFields choice={choice} onChange={setChoice} error={write.error} sent={sent} />
          <ReadErrors of={[read]} />
          <ChangedMeanwhile fields={changedFields(before, stored)} isRefused={isStale} />
        </Form>
      )}
    </Modal>
  );
}
