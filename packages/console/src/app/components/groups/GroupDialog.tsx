// Names and describes a group: a new one, a copy, or one that exists. After a conflict the person chooses field by field.
import { Modal, Textarea, TextInput } from '@mantine/core';
import { type ReactElement, useState } from 'react';
import { useWrite } from '../../data/api.ts';
import { isCode } from '../../data/errors.ts';
import type { GroupFields, SavedGroup, SeenGroup } from '../../data/groups.ts';
import { t } from '../../text.ts';
import { FieldConflict } from '../FieldConflict.tsx';
import { Form, fieldError } from '../forms.tsx';

type Props = {
  title: string;
  submitLabel: string;
  /** What the person starts from, with the ETag of an existing group. */
  seen: SeenGroup;
  help?: string;
  hasDescription?: boolean;
  /** Saves, with the ETag for `if-match`. */
  save: (fields: GroupFields, etag: string | null) => Promise<SavedGroup>;
  /** Reads the group again after a conflict. */
  reread?: () => Promise<SeenGroup>;
  onDone: (group: SavedGroup) => void;
  onClose: () => void;
};

export function GroupDialog({ hasDescription = true, ...props }: Props): ReactElement {
  const [seen, setSeen] = useState(props.seen);
  const [fields, setFields] = useState(props.seen.fields);
  const [theirs, setTheirs] = useState<SeenGroup | null>(null);
  const saving = useWrite(
    async () => {
      try {
        return await props.save(fields, seen.etag);
      } catch (error) {
        if (props.reread && isCode(error, 'precondition_failed')) setTheirs(await props.reread());
        throw error;
      }
    },
    (saved) => props.onDone(saved),
  );
  if (theirs) {
    const names = ['name', 'description'] as const;
    const differing = names.filter(
      (name) =>
        fields[name] !== seen.fields[name] &&
        theirs.fields[name] !== seen.fields[name] &&
        theirs.fields[name] !== fields[name],
    );
    return (
      <FieldConflict
        fields={differing.map((name) => ({
          name,
          label: name === 'name' ? t.roles.name : t.roles.description,
          theirs: theirs.fields[name],
          mine: fields[name],
        }))}
        onClose={props.onClose}
        onResolved={(mine) => {
          const keep = (name: keyof GroupFields): string => {
            if (differing.includes(name)) return mine.has(name) ? fields[name] : theirs.fields[name];
            return fields[name] === seen.fields[name] ? theirs.fields[name] : fields[name];
          };
          setFields({ name: keep('name'), description: keep('description') });
          setSeen(theirs);
          setTheirs(null);
          saving.reset();
        }}
      />
    );
  }
  const taken = isCode(saving.error, 'name_taken') ? t.roleGroups.taken : null;
  return (
    <Modal
      opened
      onClose={props.onClose}
      title={props.title}
      closeButtonProps={{ 'aria-label': t.common.actions.close }}
    >
      <Form
        onSubmit={() => saving.run(undefined)}
        isPending={saving.isPending}
        error={taken === null ? saving.error : null}
        submitLabel={props.submitLabel}
        onCancel={props.onClose}
        fields={['name', 'description']}
      >
        {props.help && <p className="muted">{props.help}</p>}
        <TextInput
          label={t.roles.name}
          required
          data-autofocus
          autoComplete="off"
          value={fields.name}
          error={taken ?? fieldError(saving.error, 'name')}
          onChange={(event) => setFields({ ...fields, name: event.currentTarget.value })}
        />
        {hasDescription && (
          <Textarea
            label={t.roles.description}
            autosize
            minRows={2}
            value={fields.description}
            error={fieldError(saving.error, 'description')}
            onChange={(event) => setFields({ ...fields, description: event.currentTarget.value })}
          />
        )}
      </Form>
    </Modal>
  );
}
