// The columns of the list of users, and which of them this browser shows.
import type { ListedUser } from '@castellan/sdk';
import { useMemo, useState } from 'react';
import { formatNumber } from '../../../common/format.ts';
import { readPreference, writePreference } from '../../../common/preferences.ts';
import type { Column } from '../../components/table/DataTable.tsx';
import { Initials, RoleChips, Tag } from '../../components/text/badges.tsx';
import { PlainAgo, PlainDay } from '../../components/text/time.tsx';
import { nameOf } from '../../data/me.tsx';
import { t } from '../../text.ts';
import { statusOf } from './data.ts';
import { SecondFactor } from './SecondFactor.tsx';
import { UserStatus } from './UserStatus.tsx';

export const columnKeys = ['status', 'roles', 'secondFactor', 'sessions', 'lastActive', 'created'] as const;
export type ColumnKey = (typeof columnKeys)[number];

const PREFERENCE = 'users.columns';
/** What fits beside an open pane. */
const narrow: readonly ColumnKey[] = ['status', 'roles'];

function storedColumns(): ReadonlySet<ColumnKey> {
  const stored = readPreference(PREFERENCE);
  if (stored === null) return new Set(columnKeys);
  const names = stored.split(',');
  return new Set(columnKeys.filter((key) => names.includes(key)));
}

const makeTitle = (selfId: string): Column<ListedUser> => ({
  key: 'user',
  header: t.users.columns.user,
  sort: 'last_name',
  cell: (user) => (
    <>
      <Initials person={user} />
      <span className="row-text">
        {user.id === selfId ? (
          <span className="row-self">
            <span className="row-name">{nameOf(user)}</span> <Tag tone="accent">{t.common.status.you}</Tag>
          </span>
        ) : (
          <span className="row-name">{nameOf(user)}</span>
        )}
        <span className="row-note">{user.email}</span>
      </span>
    </>
  ),
});

const makeColumns = (): Readonly<Record<ColumnKey, Column<ListedUser>>> => ({
  status: {
    key: 'status',
    header: t.users.columns.status,
    cell: (user) => (
      <span className="chips">
        <UserStatus of={user} status={statusOf(user, user.activity)} />
        {user.is_superuser && <Tag tone="accent">{t.common.status.superuser}</Tag>}
      </span>
    ),
  },
  roles: {
    key: 'roles',
    header: t.users.columns.roles,
    cell: (user) => <RoleChips roles={user.roles} />,
  },
  secondFactor: {
    key: 'secondFactor',
    header: t.users.columns.secondFactor,
    cell: (user) => <SecondFactor of={user.second_factor} />,
  },
  sessions: {
    key: 'sessions',
    header: t.users.columns.sessions,
    align: 'end',
    cell: (user) =>
      user.activity?.live_sessions ? (
        formatNumber(user.activity.live_sessions)
      ) : (
        <span className="muted">–</span>
      ),
  },
  lastActive: {
    key: 'lastActive',
    header: t.users.columns.lastActive,
    cell: (user) => <PlainAgo at={user.activity?.last_active_at ?? null} />,
  },
  created: {
    key: 'created',
    header: t.users.columns.created,
    sort: 'created_at',
    cell: (user) => <PlainDay at={user.created_at} />,
  },
});

export function useColumns(selfId: string, isBesidePane: boolean) {
  const [shown, setShown] = useState(storedColumns);
  const all = useMemo(makeColumns, []);
  const title = useMemo(() => makeTitle(selfId), [selfId]);
  const columns = useMemo(
    () =>
      columnKeys
        .filter((key) => shown.has(key) && (!isBesidePane || narrow.includes(key)))
        .map((key) => all[key]),
    [all, shown, isBesidePane],
  );
  const toggle = (key: ColumnKey): void => {
    const next = new Set(shown);
    if (!next.delete(key)) next.add(key);
    writePreference(PREFERENCE, [...next].join(','));
    setShown(next);
  };
  return { title, columns, shown, toggle };
}
