// Creates an API key: its name, when it expires, and which of the account's permissions it may use.
import type { NewApiKey, ServiceAccount } from '@castellan/sdk';
import { Modal, TextInput } from '@mantine/core';
import { type ReactElement, useState } from 'react';
import { DateTimeInput } from '../../components/forms/DateTimeInput.tsx';
import { Form, fieldError } from '../../components/forms/forms.tsx';
import { Narrowing } from '../../components/secrets/Narrowing.tsx';
import { call, useWrite } from '../../data/api.ts';
import { t } from '../../text.ts';

type Props = { account: ServiceAccount; onClose: () => void; onMade: (key: NewApiKey) => void };

export function KeyDialog({ account, onClose, onMade }: Props): ReactElement {
  const texts = t.serviceAccounts.keys;
  const [name, setName] = useState('');
  const [expires, setExpires] = useState<string>();
  const [narrowed, setNarrowed] = useState<readonly string[] | null>(null);
  const write = useWrite(
    () =>
      call('POST /api/v1/service-accounts/{service_account_id}/keys', {
        path: { service_account_id: account.id },
        body: {
          name,
          ...(expires ? { expires_at: expires } : {}),
          ...(narrowed ? { permissions: [...narrowed] } : {}),
        },
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
        isDisabled={narrowed?.length === 0}
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
          label={texts.expires}
          description={texts.expiresHelp}
          value={expires}
          error={fieldError(write.error, 'expires_at')}
          onChange={setExpires}
        />
        <Narrowing texts={texts} permissions={account.permissions} value={narrowed} onChange={setNarrowed} />
      </Form>
    </Modal>
  );
}
