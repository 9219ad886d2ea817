// After a conflict on one record: for each field that both changed, theirs or mine.
import { Modal, SegmentedControl } from '@mantine/core';
import { type ReactElement, useState } from 'react';
import { t } from '../text.ts';
import { Form } from './forms.tsx';

export type ConflictingField = { name: string; label: string; theirs: string; mine: string };

type Props = {
  /** The fields that differ. */
  fields: readonly ConflictingField[];
  /** Gets the names of the fields in which the person's own value stands. */
  onResolved: (mine: ReadonlySet<string>) => void;
  onClose: () => void;
};

/** Own values stand unless the person gives them up. */
export function FieldConflict({ fields, onResolved, onClose }: Props): ReactElement {
  const [theirs, setTheirs] = useState<ReadonlySet<string>>(new Set());
  const choose = (name: string, isTheirs: boolean): void => {
    const next = new Set(theirs);
    if (isTheirs) next.add(name);
    else next.delete(name);
    setTheirs(next);
  };
  return (
    <Modal
      opened
      onClose={onClose}
      title={t.roles.conflict.title}
      closeButtonProps={{ 'aria-label': t.common.actions.close }}
    >
      <Form
        onSubmit={() =>
          onResolved(new Set(fields.map(({ name }) => name).filter((name) => !theirs.has(name))))
        }
        isPending={false}
        error={null}
        fields={[]}
        submitLabel={t.roles.conflict.keep}
        onCancel={onClose}
      >
        <p>{fields.length > 0 ? t.roles.conflict.text : t.roles.conflict.stillApply}</p>
        {fields.map(({ name, label, theirs: their, mine }) => (
          <div key={name} className="field-conflict">
            <strong>{label}</strong>
            <SegmentedControl
              fullWidth
              orientation="vertical"
              aria-label={label}
              value={theirs.has(name) ? 'theirs' : 'mine'}
              onChange={(value) => choose(name, value === 'theirs')}
              data={[
                { value: 'theirs', label: `${t.roles.conflict.theirs}: ${their || '–'}` },
                { value: 'mine', label: `${t.roles.conflict.mine}: ${mine || '–'}` },
              ]}
            />
          </div>
        ))}
      </Form>
    </Modal>
  );
}
