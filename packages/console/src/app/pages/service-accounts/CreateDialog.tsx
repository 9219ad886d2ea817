// Creates a service account with its roles.
import { Modal, Textarea, TextInput } from '@mantine/core';
import { type ReactElement, useState } from 'react';
import { Form, fieldError } from '../../components/forms/forms.tsx';
import { notifyDone } from '../../components/page/notify.tsx';
import { RolePicker } from '../../components/roles/RolePicker.tsx';
import { call, useWrite } from '../../data/api.ts';
import type { ServiceAccountField } from '../../data/form-fields.ts';
import { useCan } from '../../data/me.tsx';
import { t } from '../../text.ts';

type Props = { onClose: () => void; onCreated: (id: string) => void };

export function CreateDialog({ onClose, onCreated }: Props): ReactElement {
  const texts = t.serviceAccounts;
  const mayReadRoles = useCan('role.read');
  const [name, setName] = useState('');
  const [description, setDescription] = useState('');
  const [externalId, setExternalId] = useState('');
  const [roleIds, setRoleIds] = useState<string[]>([]);
  const write = useWrite(
    () =>
      call('POST /api/v1/service-accounts', {
        body: {
          name,
          description,
          external_id: externalId.trim() || null,
          ...(roleIds.length > 0 ? { role_ids: roleIds } : {}),
        } satisfies Record<ServiceAccountField, unknown>,
      }),
    ({ data }) => {
      notifyDone(texts.created(data.name));
      onCreated(data.id);
    },
  );
  return (
    <Modal
      opened
      onClose={onClose}
      title={texts.create}
      size="lg"
      closeButtonProps={{ 'aria-label': t.common.actions.close }}
    >
      <Form
        onSubmit={() => write.run(undefined)}
        isPending={write.isPending}
        error={write.error}
        fields={['name', 'description', 'external_id']}
        submitLabel={t.common.actions.create}
        onCancel={onClose}
      >
        <TextInput
          data-autofocus
          required
          label={texts.name}
          autoComplete="off"
          value={name}
          error={fieldError(write.error, 'name')}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <Textarea
          label={texts.description}
          autosize
          minRows={2}
          value={description}
          error={fieldError(write.error, 'description')}
          onChange={(event) => setDescription(event.currentTarget.value)}
        />
        <TextInput
          label={texts.external_id}
          description={texts.externalIdHelp}
          autoComplete="off"
          value={externalId}
          error={fieldError(write.error, 'external_id')}
          onChange={(event) => setExternalId(event.currentTarget.value)}
        />
        {mayReadRoles && <RolePicker label={texts.roles} value={roleIds} onChange={setRoleIds} />}
      </Form>
    </Modal>
  );
}
