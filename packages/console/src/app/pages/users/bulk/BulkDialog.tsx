// An act on many users from its confirmation to its outcome. Who is meant is frozen when the dialog opens.
// A run goes on only while the dialog is open: closing it stops after the request that is under way.
import type { ListedUser } from '@castellan/sdk';
import { Button, Group, Modal, Stack } from '@mantine/core';
import { type ReactElement, useState } from 'react';
import { ErrorAlert } from '../../../components/page/states.tsx';
import { later, t } from '../../../text.ts';
import type { ColumnKey } from '../columns.tsx';
import type { UserFilter } from '../data.ts';
import { ExportDialog } from '../dialogs/ExportDialog.tsx';
import type { BulkAction } from './BulkBar.tsx';
import { BulkOutcome } from './BulkOutcome.tsx';
import { BulkReview } from './BulkReview.tsx';
import type { BulkAct } from './bulk.ts';
import { Reading } from './Reading.tsx';
import { useFrozenUsers } from './reading-all.ts';
import type { Selection } from './selection.ts';
import { useBulkRun } from './use-bulk-run.ts';

type Props = {
  action: BulkAction;
  selection: Selection;
  filter: UserFilter;
  shown: ReadonlySet<ColumnKey>;
  total: number;
  onClose: () => void;
};

export function BulkDialog(props: Props): ReactElement {
  const { action, selection, filter, shown, total, onClose } = props;
  // Frozen: what is selected while the dialog is open does not follow the list.
  const [given] = useState(selection.isEveryMatch ? null : selection.users);
  if (action === 'exportSelected')
    return (
      <ExportDialog
        filter={filter}
        shown={shown}
        total={total}
        onClose={onClose}
        {...(given ? { users: given } : {})}
      />
    );
  return <ActOnMany act={action} given={given} {...{ selection, filter, total, onClose }} />;
}

type ActProps = Omit<Props, 'action' | 'shown'> & { act: BulkAct; given: readonly ListedUser[] | null };

function ActOnMany({ act, given, selection, filter, total, onClose }: ActProps): ReactElement {
  const frozen = useFrozenUsers(given, filter);
  if (frozen.users) return <Act act={act} users={frozen.users} selection={selection} onClose={onClose} />;
  return (
    <Modal
      opened
      onClose={onClose}
      title={t.users.bulk.acts[act]}
      closeButtonProps={{ 'aria-label': t.common.actions.close }}
    >
      {frozen.error ? (
        <ErrorAlert error={frozen.error} onRetry={frozen.retry} />
      ) : (
        <Stack gap="sm">
          <p className="muted">{later.userBulk.freezing}</p>
          <Reading read={frozen.read} expected={total} />
        </Stack>
      )}
    </Modal>
  );
}

type OneActProps = {
  act: BulkAct;
  users: readonly ListedUser[];
  selection: Selection;
  onClose: () => void;
};

function Act({ act, users, selection, onClose }: OneActProps): ReactElement {
  const [roleIds, setRoleIds] = useState<string[]>([]);
  const [leftOut, setLeftOut] = useState<ReadonlySet<string>>(new Set());
  const run = useBulkRun({ act, roleIds, selection, onClose });
  if (run.state.step === 'idle')
    return (
      <BulkReview
        act={act}
        users={users.filter(({ id }) => !leftOut.has(id))}
        roleIds={roleIds}
        onRoles={setRoleIds}
        onConfirm={run.start}
        onClose={onClose}
      />
    );
  if (run.state.step === 'result')
    return (
      <BulkOutcome
        act={act}
        result={run.state.result}
        onUndo={run.undo}
        onReview={(ids) => {
          setLeftOut(new Set([...leftOut, ...ids, ...run.done.map(({ id }) => id)]));
          run.review();
        }}
        onClose={onClose}
      />
    );
  return (
    <Modal
      opened
      onClose={run.stop}
      closeOnClickOutside={false}
      title={run.state.step === 'undoing' ? later.userBulk.undoing : t.users.bulk.acts[act]}
      closeButtonProps={{ 'aria-label': t.users.bulk.stop }}
    >
      <Stack gap="sm">
        <Reading read={run.state.count} expected={run.state.all} />
        {run.state.isStopping && <p role="status">{t.users.bulk.stopping}</p>}
        <Group justify="flex-end">
          <Button variant="default" disabled={run.state.isStopping} onClick={run.stop} data-autofocus>
            {t.users.bulk.stop}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
