// Renames and describes a role and changes its group. If somebody else was faster, the person chooses field by field.
import { Modal, Textarea, TextInput } from '@mantine/core';
import { type ReactElement, useState } from 'react';
import { type ConflictingField, FieldConflict } from '../../components/FieldConflict.tsx';
import { Form, fieldError } from '../../components/forms.tsx';
import { notifyDone } from '../../components/notify.tsx';
import { call, callVersioned, useWrite } from '../../data/api.ts';
import { type CountedRole, useRoleGroupPaths } from '../../data/catalogue.ts';
import { isCode } from '../../data/errors.ts';
import { t } from '../../text.ts';
import { GroupSelect } from './RoleDialog.tsx';

type Fields = { name: string; description: string; group: string };

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
  const paths = useRoleGroupPaths();
  const [fields, setFields] = useState(() => fieldsOf(role));
  /** The ETag and the values that the person saw. */
  const [seen, setSeen] = useState(() => ({ etag: `"${role.version}"`, fields: fieldsOf(role) }));
  const [theirs, setTheirs] = useState<{ etag: string; fields: Fields } | null>(null);
  const path = { role_id: role.id };
  const saving = useWrite(
    async () => {
      try {
        return await call('PUT /api/v1/roles/{role_id}', {
          path,
          body: {
            description: fields.description,
            // A system role keeps its name.
            ...(fields.name === seen.fields.name ? {} : { name: fields.name }),
            ...(fields.group === seen.fields.group
              ? {}
              : { role_group_id: fields.group === '' ? null : fields.group }),
          },
          headers: { 'if-match': seen.etag },
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
  const labels: Record<keyof Fields, string> = {
    name: t.roles.name,
    description: t.roles.description,
    group: t.roles.group,
  };
  const textOf = (name: keyof Fields, value: string): string =>
    name === 'group' ? (paths?.get(value)?.join(' / ') ?? t.roles.noGroup) : value;
  if (theirs) {
    const names = ['name', 'description', 'group'] as const;
    const differing = names.filter(
      (name) =>
        fields[name] !== seen.fields[name] &&
        theirs.fields[name] !== seen.fields[name] &&
        theirs.fields[name] !== fields[name],
    );
    const conflicts: ConflictingField[] = differing.map((name) => ({
      name,
      label: labels[name],
      theirs: textOf(name, theirs.fields[name]),
      mine: textOf(name, fields[name]),
    }));
    return (
      <FieldConflict
        fields={conflicts}
        onClose={onClose}
        onResolved={(mine) => {
          const keep = (name: keyof Fields): string => {
            const isOwn = fields[name] !== seen.fields[name];
            if (differing.includes(name)) return mine.has(name) ? fields[name] : theirs.fields[name];
            return isOwn ? fields[name] : theirs.fields[name];
          };
          setFields({ name: keep('name'), description: keep('description'), group: keep('group') });
          setSeen(theirs);
          setTheirs(null);
          saving.reset();
        }}
      />
    );
  }
  const taken = isCode(saving.error, 'name_taken') ? t.roles.dialog.taken : null;
  return (
    <Modal
      opened
      onClose={onClose}
      title={t.roles.page.editTitle(role.name)}
      closeButtonProps={{ 'aria-label': t.common.actions.close }}
    >
      <Form
        onSubmit={() => saving.run(undefined)}
        isPending={saving.isPending}
        error={taken === null ? saving.error : null}
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
