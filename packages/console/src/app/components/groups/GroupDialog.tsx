// Names and describes a group: a new one, a copy, or one that exists. After a conflict the person chooses field by field.
import { Modal, Textarea, TextInput } from '@mantine/core';
import { type ReactElement, useState } from 'react';
import { useWrite } from '../../data/api.ts';
import { isCode } from '../../data/errors.ts';
import type { GroupFields, SavedGroup, SeenGroup } from '../../data/groups.ts';
import { t } from '../../text.ts';
import { FieldConflict } from '../forms/FieldConflict.tsx';
import { Form, fieldError } from '../forms/forms.tsx';

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
    async ({ etag, fields: to }: SeenGroup) => {
      try {
        return await props.save(to, etag);
      } catch (error) {
        if (props.reread && isCode(error, 'precondition_failed')) setTheirs(await props.reread());
        throw error;
      }
    },
    (saved) => props.onDone(saved),
  );
  if (theirs)
    return (
      <FieldConflict
        versions={{ base: seen.fields, mine: fields, theirs: theirs.fields }}
        fields={[
          { name: 'name', label: t.roles.name },
          { name: 'description', label: t.roles.description },
        ]}
        onClose={props.onClose}
        onSave={(resolved) => {
          setFields(resolved);
          setSeen(theirs);
          setTheirs(null);
          saving.run({ etag: theirs.etag, fields: resolved });
        }}
      />
    );
  const taken = isCode(saving.error, 'name_taken') ? t.roleGroups.taken : null;
  return (
    <Modal
      opened
      onClose={props.onClose}
      title={props.title}
      closeButtonProps={{ 'aria-label': t.common.actions.close }}
    >
      <Form
        onSubmit={() => saving.run({ etag: seen.etag, fields })}
        isPending={saving.isPending}
        error={saving.error}
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
