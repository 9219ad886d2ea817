// Deletes a role that more people and services have than one request changes: batch after batch loses it, and with the last
// one it is deleted. It can be stopped after each batch, and then given back.
import type { Holder } from '@castellan/sdk';
import { Button, Group, Progress } from '@mantine/core';
import { type ReactElement, useEffect, useRef, useState } from 'react';
import { formatNumber } from '../../../../common/format.ts';
import { ConfirmDialog } from '../../../components/dialogs/ConfirmDialog.tsx';
import { usePreview } from '../../../components/dialogs/impact.tsx';
import { type ChangedField, ChangedMeanwhile } from '../../../components/forms/ChangedMeanwhile.tsx';
import { notifyDone } from '../../../components/page/notify.tsx';
import { call, callPreview, useWrite } from '../../../data/api.ts';
import { useMe } from '../../../data/me.tsx';
import { t } from '../../../text.ts';
import {
  BATCH,
  type DeletedRole,
  deleteWith,
  emptyRole,
  giveRole,
  type HolderId,
  MOST_HOLDERS,
  readHolders,
  takeRole,
} from './deletion.ts';
import { neededToDelete } from './needed-to-delete.ts';
import { useDeletion } from './use-deletion.ts';

type Props = {
  role: DeletedRole;
  fields: readonly ChangedField[];
  etag: string | null;
  /** Those of the first batch at least; all of them for people who may not change both users and service accounts. */
  holders: readonly Pick<Holder, 'type'>[];
  total: number;
  onDeleted: () => void | Promise<void>;
  onClose: () => void;
};

/** Ends the run without an error of the service. */
class Stopped extends Error {}

export function DeleteMany({ role, fields, etag, holders, total, onDeleted, onClose }: Props): ReactElement {
  const { can } = useMe();
  const texts = t.roles.remove;
  const [all] = useState(total);
  const [taken, setTaken] = useState<readonly HolderId[]>([]);
  const stop = useRef(new AbortController());
  useEffect(() => () => stop.current.abort(), []);
  const hasPermissions = role.permission_ids.length > 0;
  const missing = neededToDelete(role, holders).find((one) => !can(one));
  // Without its permissions, the role gives its holders as little as not having it.
  const changes = [emptyRole(role, etag)];
  const preview = usePreview(
    ['empty', role.id, changes],
    (signal, query) => callPreview('POST /api/v1/access/changes', { query, body: { changes }, signal }),
    missing === undefined && hasPermissions,
  );
  const deletion = useDeletion(
    async () => {
      stop.current = new AbortController();
      for (;;) {
        const { holders: next, total: left } = await readHolders(role.id, BATCH);
        if (stop.current.signal.aborted) throw new Stopped();
        const isLast = left <= MOST_HOLDERS;
        const batch = next.slice(0, BATCH);
        await call('POST /api/v1/access/changes', {
          body: { changes: isLast ? deleteWith(role, etag, batch) : takeRole(role.id, batch) },
        });
        if (isLast) return;
        setTaken((now) => [...now, ...batch]);
      }
    },
    role.name,
    onDeleted,
  );
  const giveBack = useWrite(
    async (holders: readonly HolderId[]) => {
      for (let at = 0; at < holders.length; at += BATCH) {
        const body = { changes: giveRole(role.id, holders.slice(at, at + BATCH)) };
        await call('POST /api/v1/access/changes', { body });
        setTaken(holders.slice(at + BATCH));
      }
    },
    (_, holders) => notifyDone(texts.givenBack(holders.length)),
  );
  const isRunning = deletion.isPending;
  const isStopped = deletion.error instanceof Stopped;
  return (
    <ConfirmDialog
      title={texts.title(role.name)}
      confirmLabel={texts.unassign}
      isDangerous
      isPending={isRunning}
      isDisabled={missing !== undefined || giveBack.isPending}
      error={isStopped ? null : (deletion.shownError ?? giveBack.error)}
      onConfirm={() => deletion.mutate()}
      onClose={() => {
        stop.current.abort();
        // A run ends after the batch under way, and then says what was done.
        if (!isRunning) onClose();
      }}
      {...(missing === undefined && hasPermissions ? { preview } : {})}
    >
      <p>{texts.blocked}</p>
      <ul className="reasons">
        <li>{texts.users(total)}</li>
        {hasPermissions && <li>{texts.permissions(role.permission_ids.length)}</li>}
      </ul>
      <p>{texts.inBatches(formatNumber(BATCH))}</p>
      {missing && <p>{t.common.forbidden.reason(missing)}</p>}
      {isRunning && (
        <>
          <p role="status">{texts.taking(formatNumber(taken.length), formatNumber(all))}</p>
          <Progress value={(100 * taken.length) / all} aria-label={t.common.list.loading} />
          <Group justify="flex-end">
            <Button variant="default" onClick={() => stop.current.abort()}>
              {t.users.bulk.stop}
            </Button>
          </Group>
        </>
      )}
      {!isRunning && deletion.error && taken.length > 0 && (
        <div className="changed" role="alert">
          <strong>{texts.half(taken.length)}</strong>
          <Button
            variant="default"
            size="compact-sm"
            loading={giveBack.isPending}
            onClick={() => giveBack.run(taken)}
          >
            {texts.giveBack(taken.length)}
          </Button>
        </div>
      )}
      <ChangedMeanwhile fields={fields} isRefused={deletion.isStale} />
    </ConfirmDialog>
  );
}
