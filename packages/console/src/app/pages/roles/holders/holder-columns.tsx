// The columns of the list of holders.
import type { Holder } from '@castellan/sdk';
import type { Column } from '../../../components/table/DataTable.tsx';
import { StatusBadge, Tag } from '../../../components/text/badges.tsx';
import { t } from '../../../text.ts';

export function columnsOf(): { title: Column<Holder>; columns: Column<Holder>[] } {
  return {
    title: {
      key: 'name',
      header: t.roles.name,
      cell: ({ name, email }) => (
        <span>
          <span className="row-name">{name}</span>
          {email && <span className="row-note">{email}</span>}
        </span>
      ),
    },
    columns: [
      {
        key: 'kind',
        header: t.roles.holdersTab.kind,
        cell: ({ type }) => (type === 'user' ? t.roles.holdersTab.person : t.roles.holdersTab.account),
      },
      {
        key: 'status',
        header: t.roles.holdersTab.status,
        cell: ({ is_active, superuser }) => (
          <span className="chips">
            <StatusBadge status={is_active ? 'active' : 'inactive'} />
            {superuser && <Tag>{t.common.status.superuser}</Tag>}
          </span>
        ),
      },
    ],
  };
}
