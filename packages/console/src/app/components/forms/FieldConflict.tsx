// The dialog for a record that somebody else changed while a form was open: for each field, the person chooses between what
// is stored now and what they typed.
import { Modal } from '@mantine/core';
import { type ReactElement, useId, useState } from 'react';
import { t } from '../../text.ts';
import { Form } from './forms.tsx';
import './field-conflict.css';

type Versions<Values> = {
  /** What the form began with. */
  base: Values;
  mine: Values;
  /** What is stored now. */
  theirs: Values;
};
const sides = ['theirs', 'mine'] as const;
type Side = (typeof sides)[number];

/** `textOf` says what a value means. */
type Field<Values> = { name: keyof Values & string; label: string; textOf?: (value: string) => string };

type Props<Values> = {
  versions: Versions<Values>;
  /** In the order in which they show. */
  fields: readonly Field<Values>[];
  /** Gets the values that the choices leave. */
  onSave: (values: Values) => void;
  onClose: () => void;
};

/** Shows the fields whose values differ. What the person did not touch stays as it is stored, unless they choose otherwise. */
export function FieldConflict<Values extends Record<string, string | boolean>>({
  versions,
  fields,
  onSave,
  onClose,
}: Props<Values>): ReactElement {
  const { base, mine, theirs } = versions;
  const id = useId();
  const [chosen, setChosen] = useState<Partial<Record<keyof Values, Side>>>({});
  const sideOf = (name: keyof Values): Side =>
    chosen[name] ?? (mine[name] === base[name] ? 'theirs' : 'mine');
  const differing = fields.filter(({ name }) => theirs[name] !== mine[name]);
  const save = (): void =>
    onSave({
      ...theirs,
      ...Object.fromEntries(differing.map(({ name }) => [name, versions[sideOf(name)][name]])),
    });
  return (
    <Modal
      opened
      onClose={onClose}
      title={t.common.conflict.title}
      closeButtonProps={{ 'aria-label': t.common.actions.close }}
    >
      <Form
        onSubmit={save}
        isPending={false}
        error={null}
        fields={[]}
        submitLabel={t.common.conflict.save}
        onCancel={onClose}
      >
        <p>{differing.length > 0 ? t.common.conflict.text : t.common.conflict.same}</p>
        {differing.map(({ name, label, textOf = String }) => (
          <fieldset key={name} className="field-choice">
            <legend>{label}</legend>
            {sides.map((side) => (
              <label key={side}>
                <input
                  type="radio"
                  name={`${id}-${name}`}
                  checked={sideOf(name) === side}
                  onChange={() => setChosen({ ...chosen, [name]: side })}
                />
                <span>{t.common.conflict[side](wordsOf(versions[side][name], textOf))}</span>
              </label>
            ))}
          </fieldset>
        ))}
      </Form>
    </Modal>
  );
}

function wordsOf(value: string | boolean | undefined, textOf: (value: string) => string): string {
  const { yes, no, none } = t.common.conflict;
  if (typeof value === 'boolean') return value ? yes : no;
  return textOf(value ?? '') || none;
}
