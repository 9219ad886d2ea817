// Reviews and carries out an act on many users: who is left out, what it changes, and what was refused.
import { type AccessPreview, CastellanError, type ListedUser } from '@castellan/sdk';
import { Alert, Button, Group, Modal } from '@mantine/core';
import { type ReactElement, useState } from 'react';
import { client } from '../../../common/client.ts';
import { formatNumber } from '../../../common/format.ts';
import { ConfirmDialog } from '../../components/ConfirmDialog.tsx';
import { usePreview } from '../../components/impact.tsx';
import { notifyDone, notifyUndo } from '../../components/notify.tsx';
import { RolePicker } from '../../components/RolePicker.tsx';
import { ErrorAlert } from '../../components/states.tsx';
import { call, readAgain, useWrite } from '../../data/api.ts';
import { failureOf } from '../../data/errors.ts';
import { nameOf, useMe } from '../../data/me.tsx';
import { t } from '../../text.ts';
import type { BulkAction } from './BulkBar.tsx';
import {
  type BulkAct,
  type BulkResult,
  chunksOf,
  divide,
  joinPreviews,
  MAX_USERS,
  namedIn,
  runInChunks,
  type SkipReason,
} from './bulk.ts';
import type { ColumnKey } from './columns.tsx';
import { endSessionsOf, type UserFilter } from './data.ts';
import { ExportDialog } from './ExportDialog.tsx';
import { Reading } from './Reading.tsx';
import { useFrozenUsers } from './reading-all.ts';
import type { Selection } from './selection.ts';

type Props = {
  action: BulkAction;
  selection: Selection;
  filter: UserFilter;
  shown: ReadonlySet<ColumnKey>;
  total: number;
  onClose: () => void;
};

const NAMED = 5;

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
  const frozen = useFrozenUsers(given, filter, MAX_USERS);
  if (frozen.users)
    return (
      <Review
        act={act}
        users={frozen.users}
        isCut={given === null && total > MAX_USERS}
        selection={selection}
        onClose={onClose}
      />
    );
  const expected = Math.min(total, MAX_USERS);
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
        <Reading read={frozen.read} expected={expected} />
      )}
    </Modal>
  );
}

type ReviewProps = {
  act: BulkAct;
  users: readonly ListedUser[];
  isCut: boolean;
  selection: Selection;
  onClose: () => void;
};

function Review({ act, users, isCut, selection, onClose }: ReviewProps): ReactElement {
  const { user: self } = useMe();
  const [roleIds, setRoleIds] = useState<string[]>([]);
  const [leftOut, setLeftOut] = useState<ReadonlySet<string>>(new Set());
  const [result, setResult] = useState<BulkResult | null>(null);
  const [done, setDone] = useState(0);
  const { changing, skipped } = divide(
    users.filter(({ id }) => !leftOut.has(id)),
    { act, self, roleIds },
  );
  const needsRoles = act === 'addRoles' || act === 'removeRoles';
  const isReady = changing.length > 0 && (!needsRoles || roleIds.length > 0);
  const hasPreview = act !== 'endSessions';
  const preview = usePreview([act, users.length, leftOut.size, ...roleIds], async (signal) => ({
    data: isReady && hasPreview ? await previewAll(act, changing, { roleIds, signal }) : nothingPreviewed,
  }));
  const write = useWrite(
    () => runInChunks(chunksFor(act, changing), (chunk) => send(act, chunk, roleIds), setDone),
    (outcome) => {
      if (outcome.error) {
        setResult(outcome);
        selection.keep(outcome.failed);
        return;
      }
      selection.clear();
      onClose();
      tellDone(act, outcome.done, roleIds);
    },
  );
  return (
    <ConfirmDialog
      title={t.users.bulk.ask[act](changing.length)}
      confirmLabel={t.users.bulk.acts[act]}
      isDangerous={act === 'deactivate' || act === 'endSessions' || act === 'removeRoles'}
      isPending={write.isPending}
      isDisabled={!isReady || result !== null}
      error={write.error}
      onConfirm={() => write.run(undefined)}
      onClose={onClose}
      {...(isReady && hasPreview && !result ? { preview } : {})}
    >
      {isCut && <p className="bulk-note">{t.users.bulk.cut(formatNumber(MAX_USERS))}</p>}
      {needsRoles && (
        <RolePicker label={t.users.columns.roles} value={roleIds} onChange={setRoleIds} isFirst />
      )}
      {act === 'endSessions' && <p>{t.users.bulk.endSessions}</p>}
      <Skipped skipped={skipped} />
      {write.isPending && <Reading read={done} expected={changing.length} />}
      {result && (
        <Refused
          result={result}
          onLeaveOut={(ids) => {
            setLeftOut(new Set([...leftOut, ...ids, ...result.done.map(({ id }) => id)]));
            setResult(null);
          }}
        />
      )}
    </ConfirmDialog>
  );
}

const nothingPreviewed: AccessPreview = { dry_run: true, would_be_refused: null, impact: null };

const namesOf = (users: readonly ListedUser[]): string =>
  [
    users.slice(0, NAMED).map(nameOf).join(', '),
    ...(users.length > NAMED ? [t.common.list.more(users.length - NAMED)] : []),
  ].join(' · ');

function Skipped({ skipped }: { skipped: ReadonlyMap<SkipReason, ListedUser[]> }): ReactElement | null {
  if (skipped.size === 0) return null;
  return (
    <section className="skipped" aria-label={t.users.bulk.skipped}>
      <strong>{t.users.bulk.skipped}</strong>
      <ul>
        {[...skipped].map(([reason, users]) => (
          <li key={reason}>
            {t.users.bulk.skipReasons[reason](users.length)} <span className="muted">{namesOf(users)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

type RefusedProps = { result: BulkResult; onLeaveOut: (ids: readonly string[]) => void };

function Refused({ result, onLeaveOut }: RefusedProps): ReactElement {
  const { error, refused } = result;
  const messages = namedIn(error instanceof CastellanError ? error.fields : [], refused);
  const named = result.failed.filter(({ id }) => messages.has(id));
  return (
    <Alert color="red" variant="light" role="alert" title={failureOf(result.error).message}>
      <p>{t.users.bulk.refused(result.done.length, result.failed.length)}</p>
      {named.length > 0 && (
        <>
          <ul className="reasons">
            {named.map((user) => (
              <li key={user.id}>
                {nameOf(user)}: {messages.get(user.id)}
              </li>
            ))}
          </ul>
          <Group>
            <Button size="compact-sm" variant="default" onClick={() => onLeaveOut(named.map(({ id }) => id))}>
              {t.users.bulk.leaveOut(named.length)}
            </Button>
          </Group>
        </>
      )}
    </Alert>
  );
}

/** Sessions have no operation for many users, so each is a request of its own. */
const chunksFor = (act: BulkAct, users: readonly ListedUser[]): ListedUser[][] =>
  chunksOf(users, act === 'endSessions' ? 1 : undefined);

const idsOf = (users: readonly ListedUser[]): string[] => users.map(({ id }) => id);

const roleChanges = (act: BulkAct, users: readonly ListedUser[], roleIds: readonly string[]) =>
  users.map(({ id }) => ({
    user_id: id,
    ...(act === 'addRoles' ? { add_role_ids: [...roleIds] } : { remove_role_ids: [...roleIds] }),
  }));

async function send(
  act: BulkAct,
  users: readonly ListedUser[],
  roleIds: readonly string[],
): Promise<unknown> {
  if (act === 'endSessions') return Promise.all(users.map(({ id }) => endSessionsOf(id)));
  if (act === 'activate' || act === 'deactivate')
    return call('PUT /api/v1/users/bulk-update', {
      body: { user_ids: idsOf(users), updates: { is_active: act === 'activate' } },
    });
  // Adds and removes without replacing roles that others change at the same time, which `role_id` of bulk-update would.
  return call('POST /api/v1/access/changes', { body: { changes: roleChanges(act, users, roleIds) } });
}

async function previewAll(
  act: BulkAct,
  users: readonly ListedUser[],
  { roleIds, signal }: { roleIds: readonly string[]; signal: AbortSignal },
): Promise<AccessPreview> {
  const previews: AccessPreview[] = [];
  for (const chunk of chunksOf(users)) {
    const { data } =
      act === 'activate' || act === 'deactivate'
        ? await client.put('/api/v1/users/bulk-update', {
            query: { dry_run: true },
            body: { user_ids: idsOf(chunk), updates: { is_active: act === 'activate' } },
            signal,
          })
        : await client.post('/api/v1/access/changes', {
            query: { dry_run: true },
            body: { changes: roleChanges(act, chunk, roleIds) },
            signal,
          });
    previews.push(data);
  }
  return joinPreviews(previews);
}

const opposite = {
  addRoles: 'removeRoles',
  removeRoles: 'addRoles',
  activate: 'deactivate',
  deactivate: 'activate',
} as const satisfies Partial<Record<BulkAct, BulkAct>>;

/** Undo takes back only what this act changed: a role that a user already had stays. */
function tellDone(act: BulkAct, users: readonly ListedUser[], roleIds: readonly string[]): void {
  const message = t.users.bulk.done[act](users.length);
  if (act === 'endSessions') {
    notifyDone(message);
    return;
  }
  notifyUndo(message, async () => {
    for (const chunk of chunksOf(users)) await undo(act, chunk, roleIds);
    await readAgain();
  });
}

function undo(
  act: keyof typeof opposite,
  users: readonly ListedUser[],
  roleIds: readonly string[],
): Promise<unknown> {
  if (act === 'activate' || act === 'deactivate') return send(opposite[act], users, roleIds);
  const changes = users.map((user) => {
    const held = new Set(user.roles.map(({ id }) => id));
    const changed = roleIds.filter((id) => held.has(id) === (act === 'removeRoles'));
    return {
      user_id: user.id,
      ...(act === 'addRoles' ? { remove_role_ids: changed } : { add_role_ids: changed }),
    };
  });
  return call('POST /api/v1/access/changes', { body: { changes } });
}
