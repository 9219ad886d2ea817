// The form for values of attributes of one user. Sends what was changed as a merge patch. If somebody else has changed the user
// since, the person chooses for each value what to keep.
import { type ReactElement, useState } from 'react';
import type { Versioned } from '../../data/api.ts';
import { useWrite } from '../../data/api.ts';
import type { Attribute } from '../../data/attributes/attributes.ts';
import { isCode } from '../../data/errors.ts';
import { later, t } from '../../text.ts';
import { FieldConflict } from '../forms/FieldConflict.tsx';
import { Form, LeaveGuard } from '../forms/forms.tsx';
import { notifyDone } from '../page/notify.tsx';
import { AttributeFields } from './AttributeFields.tsx';
import { patchOf, type Texts, textsOf, type Values } from './values.ts';

type Stored = { values: Values; etag: string | null };
type Patch = { patch: Values; etag: string | null };

type Props<A> = {
  attributes: readonly A[];
  stored: Stored;
  save: (patch: Values, etag: string | null) => Promise<Versioned<{ data: Values }>>;
  isReadOnly: (attribute: A) => boolean;
  /** The parts of the address that the form belongs to. */
  of?: readonly string[];
};

export function ValuesForm<A extends Attribute & { required?: boolean }>({
  attributes,
  stored,
  save,
  isReadOnly,
  of = [],
}: Props<A>): ReactElement {
  const now = textsOf(attributes, stored.values);
  // What the form began with: others may change values while the person types, which must not change what is typed.
  const [base, setBase] = useState({ texts: now, etag: stored.etag });
  const [texts, setTexts] = useState<Texts>(now);
  const [sent, setSent] = useState<string | null>(null);
  const [isChecked, setChecked] = useState(false);
  const { patch, problems } = patchOf(attributes, base.texts, texts);
  const isDirty = Object.keys(patch).length + problems.size > 0;
  const begin = (next: Texts, etag: string | null): void => {
    setBase({ texts: next, etag });
    setTexts(next);
    setChecked(false);
  };
  const write = useWrite(
    (wanted: Patch) => save(wanted.patch, wanted.etag),
    ({ result: { data }, etag }) => {
      begin(textsOf(attributes, data), etag);
      notifyDone(later.userAttributes.valuesSaved);
    },
  );
  // Nothing typed: the form follows the record.
  if (!isDirty && stored.etag !== base.etag) begin(now, stored.etag);
  const run = (wanted: Patch): void => {
    setSent(wanted.etag);
    write.run(wanted);
  };
  const fields = (error: unknown): ReactElement => (
    <AttributeFields
      attributes={attributes}
      texts={texts}
      onChange={setTexts}
      error={error}
      at={(name) => name}
      problems={isChecked ? problems : null}
      isReadOnly={isReadOnly}
    />
  );
  if (attributes.every(isReadOnly)) return fields(null);
  const isOutdated = isCode(write.error, 'precondition_failed');
  // Once nothing is typed, the form follows the record, and the refusal is settled.
  const isRefused = isOutdated && base.etag === sent;
  // Until the values have been read again, `stored` is what the form began with.
  const isConflict = isDirty && isRefused && stored.etag !== base.etag;
  const error = isConflict || !isDirty || (isOutdated && !isRefused) ? null : write.error;
  return (
    <>
      <Form
        onSubmit={() => {
          setChecked(true);
          if (problems.size === 0) run({ patch, etag: base.etag });
        }}
        isPending={write.isPending}
        error={error}
        fields={attributes.map(({ name }) => name)}
        submitLabel={t.common.actions.save}
        isDisabled={!isDirty}
      >
        <LeaveGuard when={isDirty} of={of} />
        {fields(error)}
      </Form>
      {isConflict && (
        <FieldConflict
          versions={{ base: base.texts, mine: texts, theirs: now }}
          fields={attributes.map(({ name, label, type }) => ({
            name,
            label,
            ...(type === 'boolean' ? { textOf: yesOrNo } : {}),
          }))}
          onClose={write.reset}
          onSave={(resolved) => {
            const { patch: rest } = patchOf(attributes, now, resolved);
            setBase({ texts: now, etag: stored.etag });
            setTexts(resolved);
            if (Object.keys(rest).length > 0) run({ patch: rest, etag: stored.etag });
            else write.reset();
          }}
        />
      )}
    </>
  );
}

function yesOrNo(text: string): string {
  if (text === '') return '';
  return text === 'true' ? later.userAttributes.yes : later.userAttributes.no;
}
