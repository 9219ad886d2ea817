// Adds a passkey or a security key: a name, then what the browser asks.
import type { Passkey } from '@castellan/sdk';
import { Alert, Modal, TextInput } from '@mantine/core';
import { type ReactElement, useState } from 'react';
import { Form, fieldError } from '../../../../components/forms/forms.tsx';
import { notifyDone } from '../../../../components/page/notify.tsx';
import { useCeremony } from '../../../../components/second-factors/use-ceremony.ts';
import { useWrite } from '../../../../data/api.ts';
import { ceremonyFailure, register } from '../../../../data/second-factors/ceremony.ts';
import { addPasskey, passkeyOptions } from '../../../../data/second-factors/own-factors.ts';
import { later, t } from '../../../../text.ts';
import type { ShowCodes } from '../show-codes.ts';

type Props = {
  kind: Passkey['kind'];
  title: string;
  /** It is the first second factor of the account. */
  isFirst: boolean;
  onCodes: ShowCodes;
  onClose: () => void;
};

async function add({ kind, name, signal }: { kind: Passkey['kind']; name: string; signal: AbortSignal }) {
  const passkey = await register(await passkeyOptions(kind), signal);
  return addPasskey({ kind, passkey, ...(name === '' ? {} : { name }) });
}

export function AddPasskey({ kind, title, isFirst, onCodes, onClose }: Props): ReactElement {
  const texts = later.secondFactors;
  const [name, setName] = useState('');
  // The browser's own dialog closes with this one.
  const signalOf = useCeremony();
  const write = useWrite(add, (changed) => {
    onClose();
    if (changed.recovery_codes) onCodes(changed.recovery_codes);
    else notifyDone(texts.passkeys.addedDone(changed.passkey.name));
  });
  const failure = ceremonyFailure(write.error);
  return (
    <Modal
      opened
      onClose={onClose}
      closeOnClickOutside={false}
      title={title}
      closeButtonProps={{ 'aria-label': t.common.actions.close }}
    >
      <Form
        onSubmit={() => write.run({ kind, name: name.trim(), signal: signalOf() })}
        isPending={write.isPending}
        error={failure ? null : write.error}
        fields={['name']}
        submitLabel={texts.passkeys.continue}
        onCancel={onClose}
      >
        <TextInput
          data-autofocus
          label={texts.passkeys.name}
          description={texts.passkeys.nameHelp}
          maxLength={100}
          autoComplete="off"
          value={name}
          error={fieldError(write.error, 'name')}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        {isFirst && (
          <p className="note note-accent">
            {texts.first} {texts.endsOthers}
          </p>
        )}
        <p role="status">{write.isPending && texts.passkeys.follow}</p>
        {failure && (
          <Alert color="yellow" variant="light" role="alert">
            {texts.passkeys[failure]}
          </Alert>
        )}
      </Form>
    </Modal>
  );
}
