// Gives a person a role that holds the permission, after showing what it changes.
import type { Explanation } from '@castellan/sdk';
import { Radio, Stack } from '@mantine/core';
import { type ReactElement, useState } from 'react';
import { ConfirmDialog } from '../../components/dialogs/ConfirmDialog.tsx';
import { usePreview } from '../../components/dialogs/impact.tsx';
import { notifyUndo } from '../../components/page/notify.tsx';
import { call, callPreview, readAgain, useWrite } from '../../data/api.ts';
import { useMe } from '../../data/me.tsx';
import { t } from '../../text.ts';
import { Adds } from './Adds.tsx';

type Props = {
  explanation: Explanation;
  /** The role that is chosen at first. */
  first: string;
  isMe: boolean;
  onClose: () => void;
};

const granting = (userId: string, roleId: string) => ({
  changes: [{ user_id: userId, add_role_ids: [roleId] }],
});

export function GrantDialog({ explanation, first, isMe, onClose }: Props): ReactElement {
  const { subject, permission, nearest } = explanation;
  const me = useMe();
  const [roleId, setRoleId] = useState(first);
  const name = subject.name ?? subject.id;
  const role = nearest.find((one) => one.role.id === roleId)?.role;
  const preview = usePreview(['grant', subject.id, roleId], (signal, query) =>
    callPreview('POST /api/v1/access/changes', { query, body: granting(subject.id, roleId), signal }),
  );
  const write = useWrite(
    () => call('POST /api/v1/access/changes', { body: granting(subject.id, roleId) }),
    () => {
      onClose();
      if (isMe) void me.reload();
      notifyUndo(t.access.grant.done(name, role?.name ?? ''), async () => {
        await call('POST /api/v1/access/changes', {
          body: { changes: [{ user_id: subject.id, remove_role_ids: [roleId] }] },
        });
        await readAgain();
      });
    },
  );
  return (
    <ConfirmDialog
      title={t.access.grant.title(name, permission)}
      confirmLabel={t.access.grant.confirm}
      isPending={write.isPending}
      error={write.error}
      onConfirm={() => write.run(undefined)}
      onClose={onClose}
      preview={preview}
    >
      <Radio.Group label={t.access.grant.choose} value={roleId} onChange={setRoleId}>
        <Stack gap="xs" mt="xs">
          {nearest.map((one) => (
            <Radio
              key={one.role.id}
              value={one.role.id}
              label={<span data-raw>{one.role.name}</span>}
              description={<Adds adds={one.adds} />}
            />
          ))}
        </Stack>
      </Radio.Group>
    </ConfirmDialog>
  );
}
