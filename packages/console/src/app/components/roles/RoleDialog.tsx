// Creates a role: a new one, or a copy of another with its permissions.

import type { Role } from '@castellan/sdk';
import { Modal, NativeSelect, Textarea, TextInput } from '@mantine/core';
import { type ReactElement, useState } from 'react';
import { call, useWrite } from '../../data/api.ts';
import { type CountedRole, type RoleGroupPaths, useRoleGroupPaths } from '../../data/catalogue.ts';
import { isCode } from '../../data/errors.ts';
import type { RoleField } from '../../data/form-fields.ts';
import { t } from '../../text.ts';
import { Form, fieldError } from '../forms/forms.tsx';
import { notifyDone } from '../page/notify.tsx';
import { ReadErrors } from '../page/states.tsx';

type Props = {
  /** The role to copy. */
  original?: Pick<CountedRole, 'name' | 'description' | 'role_group_id' | 'permission_ids'>;
  onCreated: (role: Role) => void;
  onClose: () => void;
};

export function RoleDialog({ original, onCreated, onClose }: Props): ReactElement {
  const [name, setName] = useState(original ? t.roles.dialog.copyOf(original.name) : '');
  const [description, setDescription] = useState(original?.description ?? '');
  const [group, setGroup] = useState(original?.role_group_id ?? '');
  const { paths, read: readGroups } = useRoleGroupPaths();
  const creation = useWrite(
    () =>
      call('POST /api/v1/roles', {
        body: {
          name,
          description,
          ...(group === '' ? {} : { role_group_id: group }),
          ...(original ? { permission_ids: [...original.permission_ids] } : {}),
        } satisfies Record<Exclude<RoleField, 'role_group_id'>, unknown>,
      }),
    ({ data }) => {
      notifyDone(t.roles.dialog.created(data.name));
      onCreated(data);
    },
  );
  const taken = isCode(creation.error, 'name_taken') ? t.roles.dialog.taken : null;
  return (
    <Modal
      opened
      onClose={onClose}
      title={original ? t.roles.dialog.cloneTitle(original.name) : t.roles.dialog.title}
      closeButtonProps={{ 'aria-label': t.common.actions.close }}
    >
      <Form
        onSubmit={() => creation.run(undefined)}
        isPending={creation.isPending}
        error={creation.error}
        submitLabel={original ? t.roles.clone : t.common.actions.create}
        onCancel={onClose}
        fields={['name', 'description']}
      >
        {original && <p className="muted">{t.roles.dialog.cloneHelp(original.permission_ids.length)}</p>}
        <TextInput
          label={t.roles.name}
          required
          data-autofocus
          autoComplete="off"
          value={name}
          error={taken ?? fieldError(creation.error, 'name')}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <Textarea
          label={t.roles.description}
          autosize
          minRows={2}
          value={description}
          error={fieldError(creation.error, 'description')}
          onChange={(event) => setDescription(event.currentTarget.value)}
        />
        <ReadErrors of={[readGroups]} />
        {paths && paths.size > 0 && <GroupSelect paths={paths} value={group} onChange={setGroup} />}
      </Form>
    </Modal>
  );
}

type GroupSelectProps = {
  paths: RoleGroupPaths;
  value: string;
  onChange: (id: string) => void;
};

/** Empty is no group. */
export const GroupSelect = ({ paths, value, onChange }: GroupSelectProps): ReactElement => (
  <NativeSelect
    label={t.roles.group}
    value={value}
    onChange={(event) => onChange(event.currentTarget.value)}
    data={[
      { value: '', label: t.roles.noGroup },
      ...[...paths].map(([id, path]) => ({ value: id, label: path.join(' / ') })),
    ]}
  />
);
