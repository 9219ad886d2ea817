// The list of applications: services that people sign in to with their account here.
import type { ListedApplication } from '@castellan/sdk';
import { Button, NativeSelect, TextInput } from '@mantine/core';
import { IconApps, IconPlus, IconSearch } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { type ReactElement, useMemo, useState } from 'react';
import { formatNumber } from '../../../common/format.ts';
import { ReasonButton } from '../../components/forms/ReasonButton.tsx';
import { useTypedText } from '../../components/lists/debounce.ts';
import { FilterFold } from '../../components/lists/FilterFold.tsx';
import { Pager } from '../../components/lists/Pager.tsx';
import { PageHeader } from '../../components/page/PageHeader.tsx';
import { usePageActions } from '../../components/page/page-actions.ts';
import { Empty, NoMatch, ReadErrors } from '../../components/page/states.tsx';
import { type Column, DataTable } from '../../components/table/DataTable.tsx';
import { StatusBadge } from '../../components/text/badges.tsx';
import { PlainAgo } from '../../components/text/time.tsx';
import { keepingRows, reading } from '../../data/api.ts';
import { allPermissions } from '../../data/catalogue.ts';
import { useMe } from '../../data/me.tsx';
import { preferredSize } from '../../page-size.ts';
import { later, t } from '../../text.ts';
import './applications.css';

const route = getRouteApi('/applications');
/** People of an application with more live sign-ins are not counted (docs/openapi.json, ListedApplication). */
const MOST_COUNTED = 1_000;

const titleColumn = (): Column<ListedApplication> => ({
  key: 'name',
  header: later.applications.columns.name,
  cell: ({ name, client_id }) => (
    <span className="application-title">
      <span className="row-name" data-raw>
        {name}
      </span>
      <span className="row-note mono">{client_id}</span>
    </span>
  ),
});

/** `permissions`: names by id, as far as they are known. */
const otherColumns = (permissions: ReadonlyMap<string, string>): Column<ListedApplication>[] => [
  {
    key: 'type',
    header: later.applications.columns.type,
    cell: ({ type }) => later.applications.types[type],
  },
  {
    key: 'who',
    header: later.applications.columns.who,
    cell: ({ required_permission_id: id }) => {
      if (id === null) return later.applications.everybody;
      const name = permissions.get(id);
      return name === undefined ? later.applications.holders : <span className="mono">{name}</span>;
    },
  },
  {
    key: 'people',
    header: later.applications.columns.people,
    cell: ({ people }) =>
      people === null ? later.applications.over(formatNumber(MOST_COUNTED)) : formatNumber(people),
  },
  {
    key: 'lastSignIn',
    header: later.applications.columns.lastSignIn,
    cell: ({ last_sign_in_at: at }) => <PlainAgo at={at} />,
    isWideOnly: true,
  },
  {
    key: 'state',
    header: later.applications.columns.state,
    cell: ({ is_active }) => <StatusBadge status={is_active ? 'active' : 'inactive'} />,
  },
];

export function Applications(): ReactElement {
  const texts = later.applications;
  const { can } = useMe();
  const navigate = route.useNavigate();
  const { q = '', page = 1, size = preferredSize(), type, is_active } = route.useSearch();
  const [typed, setTyped] = useTypedText(
    q,
    (text) =>
      void navigate({
        search: (now) => ({ ...now, q: text.trim() || undefined, page: undefined }),
        replace: true,
      }),
  );
  const list = useQuery({
    ...reading('GET /api/v1/applications', {
      query: {
        page,
        size,
        ...(q ? { search: q } : {}),
        ...(type ? { type } : {}),
        ...(is_active === undefined ? {} : { is_active }),
      },
    }),
    ...keepingRows,
  });
  const rows = list.data?.data;
  const hasRule = rows?.some(({ required_permission_id }) => required_permission_id !== null) ?? false;
  const permissions = useQuery({ ...allPermissions(), enabled: hasRule && can('permission.read') });
  const [title] = useState(titleColumn);
  const columns = useMemo(
    () => otherColumns(new Map(permissions.data?.map(({ id, name }) => [id, name]))),
    [permissions.data],
  );
  const isFiltered = q !== '' || type !== undefined || is_active !== undefined;
  const isEmpty = rows?.length === 0;
  const mayCreate = can('application.create');
  const connect = (): void => void navigate({ to: '/applications/new', search: {} });
  usePageActions(mayCreate ? [{ label: t.common.nav.newApplication, run: connect }] : []);
  const total = list.data?.pagination.total ?? 0;
  return (
    <>
      <PageHeader
        title={t.common.nav.applications}
        note={rows && !isFiltered ? texts.count(total) : null}
        actions={
          <ReasonButton
            leftSection={<IconPlus size={16} aria-hidden />}
            reason={mayCreate ? null : t.common.forbidden.reason('application.create')}
            onClick={connect}
          >
            {t.common.nav.newApplication}
          </ReasonButton>
        }
      />
      {(!isEmpty || isFiltered) && (
        <div className="filters">
          <TextInput
            type="search"
            className="grow"
            aria-label={texts.search}
            placeholder={texts.search}
            leftSection={<IconSearch size={16} aria-hidden />}
            value={typed}
            onChange={(event) => setTyped(event.currentTarget.value)}
          />
          <FilterFold count={Number(type !== undefined) + Number(is_active !== undefined)}>
            <NativeSelect
              aria-label={texts.filters.type}
              value={type ?? ''}
              data={[
                { value: '', label: texts.filters.everyType },
                ...Object.entries(texts.types).map(([value, label]) => ({ value, label })),
              ]}
              onChange={({ currentTarget: { value } }) =>
                void navigate({
                  search: (now) => ({
                    ...now,
                    page: undefined,
                    type: types.find((one) => one === value),
                  }),
                  replace: true,
                })
              }
            />
            <NativeSelect
              aria-label={texts.filters.state}
              value={is_active === undefined ? '' : String(is_active)}
              data={[
                { value: '', label: texts.filters.everyState },
                { value: 'true', label: texts.filters.active },
                { value: 'false', label: texts.filters.inactive },
              ]}
              onChange={({ currentTarget: { value } }) =>
                void navigate({
                  search: (now) => ({
                    ...now,
                    page: undefined,
                    is_active: value === '' ? undefined : value === 'true',
                  }),
                  replace: true,
                })
              }
            />
          </FilterFold>
        </div>
      )}
      <ReadErrors of={[list, permissions]} />
      {isEmpty && isFiltered && (
        <NoMatch
          onClear={() => {
            setTyped('');
            void navigate({ search: {}, replace: true });
          }}
        />
      )}
      {isEmpty && !isFiltered && (
        <Empty
          icon={<IconApps size={32} aria-hidden />}
          title={texts.empty}
          text={texts.emptyText}
          action={mayCreate && <Button onClick={connect}>{t.common.nav.newApplication}</Button>}
        />
      )}
      {!isEmpty && (rows || !list.error) && (
        <DataTable
          label={t.common.nav.applications}
          rows={rows}
          title={title}
          columns={columns}
          nameOf={({ name }) => name}
          onOpen={(id) => void navigate({ to: '/applications/$id', params: { id } })}
          isStale={list.isPlaceholderData}
        />
      )}
      {rows && !isEmpty && (
        <Pager
          page={page}
          size={size}
          total={total}
          onPage={(next) => void navigate({ search: (now) => ({ ...now, page: next }) })}
          onSize={(next) => void navigate({ search: (now) => ({ ...now, size: next, page: undefined }) })}
        />
      )}
    </>
  );
}

const types = ['web', 'spa', 'native', 'device'] as const satisfies readonly ListedApplication['type'][];
