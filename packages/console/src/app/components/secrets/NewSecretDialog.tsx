// Makes a secret, such as an API key: its name, when it expires, and what it may be used for.
// It must not show the secret: `SecretDialog` does, once.
import { Modal, TextInput } from '@mantine/core';
import { type ReactElement, useState } from 'react';
import { useWrite } from '../../data/api.ts';
import { t } from '../../text.ts';
import { DateTimeInput } from '../forms/DateTimeInput.tsx';
import { Form, fieldError } from '../forms/forms.tsx';
import { Narrowing, type NarrowingTexts } from './Narrowing.tsx';

/** As the service takes it. */
type NewSecret = { name: string; expires_at?: string; permissions?: string[] };

type Props<M> = {
  texts: { create: string; name: string; nameHelp: string; expires: string; expiresHelp: string };
  /** The end that the dialog proposes for secrets that must have one. Without it, the end is optional. */
  proposedEnd?: string;
  /** What the secret may be narrowed to. */
  narrowing?: { texts: NarrowingTexts; permissions: readonly string[] };
  make: (secret: NewSecret) => Promise<{ data: M }>;
  onMade: (made: M) => void;
  onClose: () => void;
};

export function NewSecretDialog<M>({
  texts,
  proposedEnd,
  narrowing,
  make,
  onMade,
  onClose,
}: Props<M>): ReactElement {
  const [name, setName] = useState('');
  const [expires, setExpires] = useState(proposedEnd);
  const [narrowed, setNarrowed] = useState<readonly string[] | null>(null);
  const mustExpire = proposedEnd !== undefined;
  const write = useWrite(
    () =>
      make({
        name,
        ...(expires ? { expires_at: expires } : {}),
        ...(narrowed ? { permissions: [...narrowed] } : {}),
      }),
    ({ data }) => onMade(data),
  );
  return (
    <Modal
      opened
      onClose={onClose}
      title={texts.create}
      closeButtonProps={{ 'aria-label': t.common.actions.close }}
    >
      <Form
        onSubmit={() => write.run(undefined)}
        isPending={write.isPending}
        error={write.error}
        fields={['name', 'expires_at']}
        submitLabel={t.common.actions.create}
        onCancel={onClose}
        isDisabled={name.trim() === '' || narrowed?.length === 0 || (mustExpire && expires === undefined)}
      >
        <TextInput
          data-autofocus
          required
          label={texts.name}
          description={texts.nameHelp}
          autoComplete="off"
          value={name}
          error={fieldError(write.error, 'name')}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <DateTimeInput
          required={mustExpire}
          label={texts.expires}
          description={texts.expiresHelp}
          value={expires}
          error={fieldError(write.error, 'expires_at')}
          onChange={setExpires}
        />
        {narrowing && <Narrowing {...narrowing} value={narrowed} onChange={setNarrowed} />}
      </Form>
    </Modal>
  );
}
