// The dialog for a change that met another one of the same record.
import { Modal } from '@mantine/core';
import type { ReactElement } from 'react';
import { t } from '../text.ts';
import { type Field, FieldChoices, useFieldChoices, type Versions } from './FieldChoices.tsx';
import { Form } from './forms.tsx';

type Props<Values> = {
  versions: Versions<Values>;
  fields: readonly Field<Values>[];
  /** Gets the values that the choices leave. */
  onSave: (values: Values) => void;
  onClose: () => void;
};

export function FieldConflict<Values extends Record<string, string | boolean>>({
  versions,
  fields,
  onSave,
  onClose,
}: Props<Values>): ReactElement {
  const { shown, resolved } = useFieldChoices(versions, fields);
  return (
    <Modal
      opened
      onClose={onClose}
      title={t.common.conflict.title}
      closeButtonProps={{ 'aria-label': t.common.actions.close }}
    >
      <Form
        onSubmit={() => onSave(resolved)}
        isPending={false}
        error={null}
        fields={[]}
        submitLabel={t.common.conflict.save}
        onCancel={onClose}
      >
        <FieldChoices {...shown} />
      </Form>
    </Modal>
  );
}
