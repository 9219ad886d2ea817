// The list of API resources: your APIs that applications get tokens for.
import type { ApiResource } from '@castellan/sdk';
import { Button, TextInput } from '@mantine/core';
import { IconApi, IconPencil, IconPlus, IconSearch, IconTrash } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { type ReactElement, useState } from 'react';
import { ReasonButton } from '../../components/forms/ReasonButton.tsx';
import { useTypedText } from '../../components/lists/debounce.ts';
import { Pager } from '../../components/lists/Pager.tsx';
import { PageHeader } from '../../components/page/PageHeader.tsx';
import { usePageActions } from '../../components/page/page-actions.ts';
import { Empty, NoMatch, ReadErrors } from '../../components/page/states.tsx';
import { type Column, DataTable, type RowAction } from '../../components/table/DataTable.tsx';
import { PlainDay } from '../../components/text/time.tsx';
import { keepingRows, reading } from '../../data/api.ts';
import { useMe } from '../../data/me.tsx';
import { preferredSize } from '../../page-size.ts';
import { later, t } from '../../text.ts';
import { DeleteDialog } from './DeleteDialog.tsx';
import { EditDialog, NewDialog } from './ResourceDialog.tsx';
import './api-resources.css';

const route = getRouteApi('/api-resources');

const titleColumn = (): Column<ApiResource> => ({
  key: 'name',
  header: later.apiResources.fields.name,
  cell: ({ name, identifier }) => (
    <span className="resource-title">
      <span className="row-name" data-raw>
        {name}
      </span>
      <span className="row-note mono">{identifier}</span>
    </span>
  ),
});

const otherColumns = (): Column<ApiResource>[] => [
  {
    key: 'groups',
    header: later.apiResources.groups,
    cell: ({ permission_group_ids }) => later.apiResources.groupCount(permission_group_ids.length),
  },
  {
    key: 'seconds',
    header: later.apiResources.lives,
    cell: ({ access_token_seconds }) => later.apiResources.seconds(access_token_seconds),
  },
  {
    key: 'alg',
    header: later.apiResources.fields.signing_alg,
    cell: ({ signing_alg }) => <span className="mono">{signing_alg}</span>,
  },
  {
    key: 'created',
    header: later.apiResources.created,
    cell: ({ created_at }) => <PlainDay at={created_at} />,
    isWideOnly: true,
  },
];

type Open = { kind: 'new' } | { kind: 'edit' | 'delete'; resource: ApiResource };

export function ApiResources(): ReactElement {
  const texts = later.apiResources;
  const { can } = useMe();
  const navigate = route.useNavigate();
  const { q = '', page = 1, size = preferredSize() } = route.useSearch();
  const [typed, setTyped] = useTypedText(
    q,
    (text) =>
      void navigate({
        search: (now) => ({ ...now, q: text.trim() || undefined, page: undefined }),
        replace: true,
      }),
  );
  const list = useQuery({
    ...reading('GET /api/v1/api-resources', { query: { page, size, ...(q ? { search: q } : {}) } }),
    ...keepingRows,
  });
  const [open, setOpen] = useState<Open | null>(null);
  const [title] = useState(titleColumn);
  const [columns] = useState(otherColumns);
  const close = (): void => setOpen(null);
  const need = (permission: string): string | null =>
    can(permission) ? null : t.common.forbidden.reason(permission);
  const mayCreate = can('api_resource.create');
  usePageActions(mayCreate ? [{ label: texts.create, run: () => setOpen({ kind: 'new' }) }] : []);
  const rows = list.data?.data;
  const isEmpty = rows?.length === 0;
  const actionsOf = (resource: ApiResource): RowAction[] => [
    {
      label: t.common.actions.edit,
      icon: <IconPencil size={16} aria-hidden />,
      disabledReason: need('api_resource.update'),
      run: () => setOpen({ kind: 'edit', resource }),
    },
    {
      label: t.common.actions.delete,
      icon: <IconTrash size={16} aria-hidden />,
      isDangerous: true,
      disabledReason: need('api_resource.delete'),
      run: () => setOpen({ kind: 'delete', resource }),
    },
  ];
  return (
    <>
      <PageHeader
        title={t.common.nav.apiResources}
        actions={
          <ReasonButton
            leftSection={<IconPlus size={16} aria-hidden />}
            reason={need('api_resource.create')}
            onClick={() => setOpen({ kind: 'new' })}
          >
            {texts.create}
          </ReasonButton>
        }
      />
      {(!isEmpty || q !== '') && (
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
        </div>
      )}
      <ReadErrors of={[list]} />
      {isEmpty && q !== '' && (
        <NoMatch
          onClear={() => {
            setTyped('');
            void navigate({ search: {}, replace: true });
          }}
        />
      )}
      {isEmpty && q === '' && (
        <Empty
          icon={<IconApi size={32} aria-hidden />}
          title={texts.empty}
          text={texts.emptyText}
          action={mayCreate && <Button onClick={() => setOpen({ kind: 'new' })}>{texts.create}</Button>}
        />
      )}
      {!isEmpty && (rows || !list.error) && (
        <DataTable
          label={t.common.nav.apiResources}
          rows={rows}
          title={title}
          columns={columns}
          nameOf={({ name }) => name}
          actionsOf={actionsOf}
          isStale={list.isPlaceholderData}
        />
      )}
      {rows && list.data && !isEmpty && (
        <Pager
          page={page}
          size={size}
          total={list.data.pagination.total}
          onPage={(next) => void navigate({ search: (now) => ({ ...now, page: next }) })}
          onSize={(next) => void navigate({ search: (now) => ({ ...now, size: next, page: undefined }) })}
        />
      )}
      {open?.kind === 'new' && <NewDialog onClose={close} />}
      {open?.kind === 'edit' && <EditDialog id={open.resource.id} onClose={close} />}
      {open?.kind === 'delete' && <DeleteDialog resource={open.resource} onClose={close} />}
    </>
  );
}
