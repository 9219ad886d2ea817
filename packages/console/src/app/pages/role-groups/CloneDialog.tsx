// Names the copy of a role group.
import type { RoleGroup } from '@castellan/sdk';
import type { ReactElement } from 'react';
import { GroupDialog } from '../../components/groups/GroupDialog.tsx';
import { notifyDone } from '../../components/page/notify.tsx';
import { call } from '../../data/api.ts';
import { t } from '../../text.ts';

type Props = { group: RoleGroup; onCloned: (id: string) => void; onClose: () => void };

export const CloneDialog = ({ group, onCloned, onClose }: Props): ReactElement => (
  <GroupDialog
    title={t.roleGroups.cloneTitle(group.name)}
    help={t.roleGroups.cloneHelp}
    hasDescription={false}
    submitLabel={t.roleGroups.clone}
    seen={{ etag: null, fields: { name: t.roleGroups.copyOf(group.name), description: '' } }}
    save={async ({ name }) => {
      const path = { group_id: group.id };
      return (await call('POST /api/v1/role-groups/{group_id}/clone', { path, body: { name } })).data;
    }}
    onDone={({ id, name }) => {
      notifyDone(t.roleGroups.created(name));
      onClose();
      onCloned(id);
    }}
    onClose={onClose}
  />
);
