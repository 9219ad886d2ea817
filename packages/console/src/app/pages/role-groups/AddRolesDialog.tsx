// Asks which roles to add to a role group.
import type { RoleGroup } from '@castellan/sdk';
import { Modal } from '@mantine/core';
import { type ReactElement, useState } from 'react';
import { Form } from '../../components/forms/forms.tsx';
import { notifyUndo } from '../../components/page/notify.tsx';
import { RolePicker } from '../../components/roles/RolePicker.tsx';
import { useWrite } from '../../data/api.ts';
import { addRoles } from '../../data/roles-of-group.ts';
import { t } from '../../text.ts';

export function AddRolesDialog({ group, onClose }: { group: RoleGroup; onClose: () => void }): ReactElement {
  const [ids, setIds] = useState<string[]>([]);
  const adding = useWrite(
    () => addRoles(group.id, ids),
    (undo) => {
      notifyUndo(t.roleGroups.added(ids.length, group.name), undo);
      onClose();
    },
  );
  return (
    <Modal
      opened
      onClose={onClose}
      title={t.roleGroups.addTitle(group.name)}
      closeButtonProps={{ 'aria-label': t.common.actions.close }}
    >
      <Form
        onSubmit={() => adding.run(undefined)}
        isPending={adding.isPending}
        error={adding.error}
        fields={[]}
        submitLabel={t.roleGroups.add}
        isDisabled={ids.length === 0}
        onCancel={onClose}
      >
        <RolePicker
          label={t.roleGroups.addLabel}
          value={ids}
          onChange={setIds}
          exclude={group.roles.map(({ id }) => id)}
          isFirst
        />
      </Form>
    </Modal>
  );
}
