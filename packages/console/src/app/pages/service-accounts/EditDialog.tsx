// Changes the name, the description and the external id of a service account. If somebody else has changed it, the person chooses for
// each field what to keep.
import type { ServiceAccount } from '@castellan/sdk';
import { Modal, Textarea, TextInput } from '@mantine/core';
import { type ReactElement, useState } from 'react';
import { FieldConflict } from '../../components/forms/FieldConflict.tsx';
import { Form, fieldError } from '../../components/forms/forms.tsx';
import { notifyDone } from '../../components/page/notify.tsx';
import { useWrite } from '../../data/api.ts';
import { isCode } from '../../data/errors.ts';
import type { ServiceAccountField } from '../../data/form-fields.ts';
import { t } from '../../text.ts';
import { type Read, update } from './changes.ts';

/** As people type it: without an external id, the text is empty. */
type Values = Record<ServiceAccountField, string>;

const fields = ['name', 'description', 'external_id'] as const;

const valuesOf = ({ name, description, external_id }: ServiceAccount): Values => ({
  name,
  description,
  external_id: external_id ?? '',
});

type Props = { read: Read; onClose: () => void };

export function EditDialog({ read, onClose }: Props): ReactElement {
  const texts = t.serviceAccounts;
  const { account, etag } = read;
  // The version that the form began with, also when the pane reads the record again.
  const [begun, setBegun] = useState({ etag, values: valuesOf(account) });
  const [values, setValues] = useState(begun.values);
  const write = useWrite(
    ({ body, version }: { body: Values; version: string | null }) =>
      update(account.id, { ...body, external_id: body.external_id.trim() || null }, version),
    () => {
      notifyDone(texts.saved);
      onClose();
    },
  );
  // Until the record has been read again, it is what the form began with.
  if (isCode(write.error, 'precondition_failed') && begun.etag !== etag)
    return (
      <FieldConflict
        versions={{ base: begun.values, mine: values, theirs: valuesOf(account) }}
        fields={fields.map((name) => ({ name, label: texts[name] }))}
        onClose={onClose}
        onSave={(body) => {
          setBegun({ etag, values: valuesOf(account) });
          setValues(body);
          write.run({ body, version: etag });
        }}
      />
    );
  return (
    <Modal
      opened
      onClose={onClose}
      title={t.common.actions.edit}
      closeButtonProps={{ 'aria-label': t.common.actions.close }}
    >
      <Form
        onSubmit={() => write.run({ body: values, version: begun.etag })}
        isPending={write.isPending}
        error={write.error}
        fields={fields}
        submitLabel={t.common.actions.save}
        onCancel={onClose}
      >
        <TextInput
          data-autofocus
          required
          label={texts.name}
          value={values.name}
          error={fieldError(write.error, 'name')}
          onChange={(event) => setValues({ ...values, name: event.currentTarget.value })}
        />
        <Textarea
          label={texts.description}
          autosize
          minRows={2}
          value={values.description}
          error={fieldError(write.error, 'description')}
          onChange={(event) => setValues({ ...values, description: event.currentTarget.value })}
        />
        <TextInput
          label={texts.external_id}
          description={texts.externalIdHelp}
          autoComplete="off"
          value={values.external_id}
          error={fieldError(write.error, 'external_id')}
          onChange={(event) => setValues({ ...values, external_id: event.currentTarget.value })}
        />
      </Form>
    </Modal>
  );
}
