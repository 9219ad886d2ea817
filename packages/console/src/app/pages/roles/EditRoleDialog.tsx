// Renames and describes a role and changes its group. If somebody else was faster, the person chooses field by field.

import { Modal, Textarea, TextInput } from '@mantine/core';
import { type ReactElement, useState } from 'react';
import { FieldConflict } from '../../components/forms/FieldConflict.tsx';
import { Form, fieldError } from '../../components/forms/forms.tsx';
import { notifyDone } from '../../components/page/notify.tsx';
import { ReadErrors } from '../../components/page/states.tsx';
import { GroupSelect } from '../../components/roles/RoleDialog.tsx';
import { call, callVersioned, useWrite } from '../../data/api.ts';
import { type CountedRole, useRoleGroupPaths } from '../../data/catalogue.ts';
import { isCode } from '../../data/errors.ts';
import type { RoleField } from '../../data/form-fields.ts';
import { t } from '../../text.ts';

type Fields = Pick<CountedRole, Exclude<RoleField, 'role_group_id'>> & { group: string };

/** The ETag and the values that the person saw. */
type Seen = { etag: string; fields: Fields };

const fieldsOf = ({
  name,
  description,
  role_group_id,
}: Pick<CountedRole, 'name' | 'description' | 'role_group_id'>): Fields => ({
  name,
  description,
  group: role_group_id ?? '',
});

export function EditRoleDialog({ role, onClose }: { role: CountedRole; onClose: () => void }): ReactElement {
  const { paths, read: readGroups } = useRoleGroupPaths();
  const [fields, setFields] = useState(() => fieldsOf(role));
  const [seen, setSeen] = useState<Seen>(() => ({ etag: `"${role.version}"`, fields: fieldsOf(role) }));
  const [theirs, setTheirs] = useState<Seen | null>(null);
  const path = { role_id: role.id };
  const saving = useWrite(
    async ({ from, to }: { from: Seen; to: Fields }) => {
      try {
        return await call('PUT /api/v1/roles/{role_id}', {
          path,
          body: {
            description: to.description,
            // A system role keeps its name.
            ...(to.name === from.fields.name ? {} : { name: to.name }),
            ...(to.group === from.fields.group ? {} : { role_group_id: to.group === '' ? null : to.group }),
          },
          headers: { 'if-match': from.etag },
        });
      } catch (error) {
        if (isCode(error, 'precondition_failed')) {
          const { result, etag } = await callVersioned('GET /api/v1/roles/{role_id}', { path });
          setTheirs({ etag: etag ?? '', fields: fieldsOf(result.data) });
        }
        throw error;
      }
    },
    ({ data }) => {
      notifyDone(t.roles.page.saved(data.name));
      onClose();
    },
  );
  if (theirs)
    return (
      <FieldConflict
        versions={{ base: seen.fields, mine: fields, theirs: theirs.fields }}
        fields={[
          { name: 'name', label: t.roles.name },
          { name: 'description', label: t.roles.description },
          {
            name: 'group',
            label: t.roles.group,
            textOf: (group) => paths?.get(group)?.join(' / ') ?? t.roles.noGroup,
          },
        ]}
        onClose={onClose}
        onSave={(resolved) => {
          setFields(resolved);
          setSeen(theirs);
          setTheirs(null);
          saving.run({ from: theirs, to: resolved });
        }}
      />
    );
  const taken = isCode(saving.error, 'name_taken') ? t.roles.dialog.taken : null;
  return (
    <Modal
      opened
      onClose={onClose}
      title={t.roles.page.editTitle(role.name)}
      closeButtonProps={{ 'aria-label': t.common.actions.close }}
    >
      <Form
        onSubmit={() => saving.run({ from: seen, to: fields })}
        isPending={saving.isPending}
        error={saving.error}
        submitLabel={t.common.actions.save}
        onCancel={onClose}
        fields={['name', 'description']}
      >
        <TextInput
          label={t.roles.name}
          description={role.is_system ? t.roles.page.systemName : undefined}
          required
          readOnly={role.is_system}
          data-autofocus
          autoComplete="off"
          value={fields.name}
          error={taken ?? fieldError(saving.error, 'name')}
          onChange={(event) => setFields({ ...fields, name: event.currentTarget.value })}
        />
        <Textarea
          label={t.roles.description}
          autosize
          minRows={2}
          value={fields.description}
          error={fieldError(saving.error, 'description')}
          onChange={(event) => setFields({ ...fields, description: event.currentTarget.value })}
        />
        <ReadErrors of={[readGroups]} />
        {paths && paths.size > 0 && (
          <GroupSelect
            paths={paths}
            value={fields.group}
            onChange={(group) => setFields({ ...fields, group })}
          />
        )}
      </Form>
    </Modal>
  );
}
