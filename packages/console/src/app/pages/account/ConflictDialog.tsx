// The record has changed since it was read: for each field, the person chooses between what is stored and what they typed.
import { Modal } from '@mantine/core';
import { type ReactElement, useId, useState } from 'react';
import { Form } from '../../components/forms.tsx';
import { t } from '../../text.ts';

type Names = { first_name: string; last_name: string };
type Props = {
  theirs: Names;
  mine: Names;
  /** What the form began with. */
  base: Names;
  isPending: boolean;
  onClose: () => void;
  onSave: (names: Names) => void;
};

const fields = ['first_name', 'last_name'] as const;

export function ConflictDialog({ theirs, mine, base, isPending, onClose, onSave }: Props): ReactElement {
  // What the person did not touch stays as it is stored, unless they choose otherwise.
  const [chosen, setChosen] = useState<Names>({
    first_name: (mine.first_name === base.first_name ? theirs : mine).first_name,
    last_name: (mine.last_name === base.last_name ? theirs : mine).last_name,
  });
  const texts = t.account.conflict;
  const labels = { first_name: t.account.profile.firstName, last_name: t.account.profile.lastName };
  const id = useId();
  return (
    <Modal
      opened
      onClose={onClose}
      title={texts.title}
      closeButtonProps={{ 'aria-label': t.common.actions.close }}
    >
      <Form
        onSubmit={() => onSave(chosen)}
        isPending={isPending}
        error={null}
        fields={[]}
        submitLabel={texts.save}
        onCancel={onClose}
      >
        <p>{texts.text}</p>
        {fields
          .filter((field) => theirs[field] !== mine[field])
          .map((field) => (
            <fieldset key={field} className="conflict">
              <legend>{labels[field]}</legend>
              {[
                { value: theirs[field], text: texts.theirs(theirs[field]) },
                { value: mine[field], text: texts.mine(mine[field]) },
              ].map(({ value, text }) => (
                <label key={text}>
                  <input
                    type="radio"
                    name={`${id}-${field}`}
                    checked={chosen[field] === value}
                    onChange={() => setChosen({ ...chosen, [field]: value })}
                  />
                  {text}
                </label>
              ))}
            </fieldset>
          ))}
      </Form>
    </Modal>
  );
}
