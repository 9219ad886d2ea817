// Changes the name and the description of a service account. If somebody else changed it meanwhile, the person chooses for
// each field what to keep.
import { CastellanError, type ServiceAccount } from '@castellan/sdk';
import { Modal, Textarea, TextInput } from '@mantine/core';
import { type ReactElement, useId, useState } from 'react';
import { Form, fieldError } from '../../components/forms.tsx';
import { notifyDone } from '../../components/notify.tsx';
import { useWrite } from '../../data/api.ts';
import { isCode } from '../../data/errors.ts';
import { t } from '../../text.ts';
import { type Read, update } from './changes.ts';

type Values = Pick<ServiceAccount, 'name' | 'description'>;

const fields = ['name', 'description'] as const;

type Props = { read: Read; onClose: () => void };

export function EditDialog({ read, onClose }: Props): ReactElement {
  const texts = t.serviceAccounts;
  const { account, etag } = read;
  // The version that the form began with, also when the pane reads the record again.
  const [begun] = useState({ etag, name: account.name, description: account.description });
  const [values, setValues] = useState<Values>({ name: begun.name, description: begun.description });
  const [chosen, setChosen] = useState<Partial<Values>>({});
  const write = useWrite(
    ({ body, version }: { body: Values; version: string | null }) => update(account.id, body, version),
    () => {
      notifyDone(texts.saved);
      onClose();
    },
  );
  const theirs = isCode(write.error, 'precondition_failed') ? (currentOf(write.error) ?? account) : null;
  const error = theirs ? null : write.error;
  // What the person did not touch stays as somebody else left it, unless they choose otherwise.
  const resolved = (field: keyof Values): string =>
    theirs ? (chosen[field] ?? (values[field] === begun[field] ? theirs : values)[field]) : values[field];
  const body: Values = { name: resolved('name'), description: resolved('description') };
  return (
    <Modal
      opened
      onClose={onClose}
      title={theirs ? texts.conflict.title : t.common.actions.edit}
      closeButtonProps={{ 'aria-label': t.common.actions.close }}
    >
      <Form
        onSubmit={() => write.run({ body, version: theirs ? etag : begun.etag })}
        isPending={write.isPending}
        error={error}
        fields={fields}
        submitLabel={theirs ? texts.conflict.save : t.common.actions.save}
        onCancel={onClose}
      >
        {theirs ? (
          <Choices
            theirs={theirs}
            mine={values}
            chosen={body}
            onChange={(part) => setChosen({ ...chosen, ...part })}
          />
        ) : (
          <>
            <TextInput
              data-autofocus
              required
              label={texts.name}
              value={values.name}
              error={fieldError(error, 'name')}
              onChange={(event) => setValues({ ...values, name: event.currentTarget.value })}
            />
            <Textarea
              label={texts.description}
              autosize
              minRows={2}
              value={values.description}
              error={fieldError(error, 'description')}
              onChange={(event) => setValues({ ...values, description: event.currentTarget.value })}
            />
          </>
        )}
      </Form>
    </Modal>
  );
}

type ChoicesProps = {
  theirs: Values;
  mine: Values;
  chosen: Values;
  onChange: (part: Partial<Values>) => void;
};

function Choices({ theirs, mine, chosen, onChange }: ChoicesProps): ReactElement {
  const texts = t.serviceAccounts;
  const id = useId();
  return (
    <>
      <p>{texts.conflict.text}</p>
      {fields
        .filter((field) => theirs[field] !== mine[field])
        .map((field) => (
          <fieldset key={field} className="choice">
            <legend>{texts[field]}</legend>
            {[
              { value: theirs[field], text: texts.conflict.theirs(theirs[field] || texts.conflict.none) },
              { value: mine[field], text: texts.conflict.mine(mine[field] || texts.conflict.none) },
            ].map(({ value, text }) => (
              <label key={text}>
                <input
                  type="radio"
                  name={`${id}-${field}`}
                  checked={chosen[field] === value}
                  onChange={() => onChange({ [field]: value })}
                />
                {text}
              </label>
            ))}
          </fieldset>
        ))}
    </>
  );
}

/** Returns the record that the service sends with its refusal; null if it sent none. */
function currentOf(error: unknown): Values | null {
  const current = error instanceof CastellanError ? error.body?.current : undefined;
  if (typeof current !== 'object' || current === null) return null;
  if (!('name' in current && 'description' in current)) return null;
  return { name: String(current.name), description: String(current.description) };
}
