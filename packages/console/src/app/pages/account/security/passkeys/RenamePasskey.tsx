// Gives a passkey or a security key another name.
import type { Passkey } from '@castellan/sdk';
import { Modal, TextInput } from '@mantine/core';
import { type ReactElement, useState } from 'react';
import { Form, fieldError } from '../../../../components/forms/forms.tsx';
import { notifyDone } from '../../../../components/page/notify.tsx';
import { useWrite } from '../../../../data/api.ts';
import { renamePasskey } from '../../../../data/second-factors/own-factors.ts';
import { later, t } from '../../../../text.ts';

export function RenamePasskey({ passkey, onClose }: { passkey: Passkey; onClose: () => void }): ReactElement {
  const texts = later.secondFactors.passkeys;
  const [name, setName] = useState(passkey.name);
  const write = useWrite(
    (next: string) => renamePasskey(passkey.id, next),
    () => {
      onClose();
      notifyDone(texts.renamed);
    },
  );
  return (
    <Modal
      opened
      onClose={onClose}
      title={texts.renameOf(passkey.name)}
      closeButtonProps={{ 'aria-label': t.common.actions.close }}
    >
      <Form
        onSubmit={() => write.run(name.trim())}
        isPending={write.isPending}
        error={write.error}
        fields={['name']}
        submitLabel={t.common.actions.save}
        onCancel={onClose}
        isDisabled={name.trim() === ''}
      >
        <TextInput
          required
          data-autofocus
          label={texts.name}
          maxLength={100}
          autoComplete="off"
          value={name}
          error={fieldError(write.error, 'name')}
          onChange={(event) => setName(event.currentTarget.value)}
        />
      </Form>
    </Modal>
  );
}
