// Exports users as CSV: those selected, or all that match the filter, with the columns that are shown.
import type { ListedUser } from '@castellan/sdk';
import { Button, Group, Modal, Stack } from '@mantine/core';
import { type ReactElement, useRef, useState } from 'react';
import { formatNumber } from '../../../../common/format.ts';
import { saveFile, toCsv } from '../../../components/lists/csv.ts';
import { notifyDone } from '../../../components/page/notify.tsx';
import { ErrorAlert } from '../../../components/page/states.tsx';
import { t } from '../../../text.ts';
import { Reading } from '../bulk/Reading.tsx';
import { readUsers } from '../bulk/reading-all.ts';
import { type ColumnKey, columnKeys } from '../columns.tsx';
import { statusOf, type UserFilter, useListPath } from '../data.ts';

type Props = {
  filter: UserFilter;
  shown: ReadonlySet<ColumnKey>;
  total: number;
  users?: readonly ListedUser[];
  onClose: () => void;
};

const cells: Readonly<Record<ColumnKey, (user: ListedUser) => string>> = {
  status: (user) => statusOf(user, user.activity),
  roles: (user) => user.roles.map(({ name }) => name).join('; '),
  secondFactor: (user) => user.second_factor?.methods.join('; ') ?? '',
  sessions: (user) => String(user.activity?.live_sessions ?? ''),
  lastActive: (user) => user.activity?.last_active_at ?? '',
  created: (user) => user.created_at,
};

/** The names of the columns are those of the API, so that the file of an export can be read by programs and imported. */
const heads: Readonly<Record<ColumnKey, string>> = {
  status: 'status',
  roles: 'roles',
  secondFactor: 'second_factor',
  sessions: 'live_sessions',
  lastActive: 'last_active_at',
  created: 'created_at',
};

export function csvOf(users: readonly ListedUser[], shown: ReadonlySet<ColumnKey>): string {
  const keys = columnKeys.filter((key) => shown.has(key));
  return toCsv([
    ['id', 'email', 'first_name', 'last_name', ...keys.map((key) => heads[key])],
    ...users.map((user) => [
      user.id,
      user.email,
      user.first_name,
      user.last_name,
      ...keys.map((key) => cells[key](user)),
    ]),
  ]);
}

export function ExportDialog({ filter, shown, total, users, onClose }: Props): ReactElement {
  const path = useListPath();
  const running = useRef<AbortController | null>(null);
  const [read, setRead] = useState<number | null>(null);
  const [error, setError] = useState<unknown>(null);
  const count = users?.length ?? total;
  const close = (): void => {
    running.current?.abort();
    onClose();
  };
  const start = async (): Promise<void> => {
    const controller = new AbortController();
    running.current = controller;
    setError(null);
    setRead(0);
    try {
      const found =
        users ??
        (await readUsers({
          path,
          filter,
          signal: controller.signal,
          onProgress: setRead,
        }));
      saveFile(`users-${new Date().toISOString().slice(0, 10)}.csv`, csvOf(found, shown));
      notifyDone(t.users.export.done(found.length));
      onClose();
    } catch (failure) {
      if (!controller.signal.aborted) setError(failure);
    } finally {
      setRead(null);
    }
  };
  return (
    <Modal
      opened
      onClose={close}
      title={t.users.export.title(count)}
      closeButtonProps={{ 'aria-label': t.common.actions.close }}
    >
      <Stack gap="sm">
        <p>{users ? t.users.export.selected : t.users.export.matching}</p>
        <p className="muted">
          {t.users.export.columns(
            [
              t.users.fields.email,
              t.users.columns.user,
              ...columnKeys.filter((key) => shown.has(key)).map((key) => t.users.columns[key]),
            ].join(', '),
          )}
        </p>
        {read !== null && <Reading read={read} expected={count} />}
        {error !== null && <ErrorAlert error={error} />}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={close}>
            {t.common.actions.cancel}
          </Button>
          <Button loading={read !== null} onClick={() => void start()} data-autofocus>
            {t.users.export.start(formatNumber(count))}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
