// The catalogue of user attributes: what is kept about people besides their names.
import type { UserAttribute } from '@castellan/sdk';
import { Button, TextInput } from '@mantine/core';
import { IconListDetails, IconPencil, IconPlus, IconSearch, IconTrash } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { type ReactElement, useState } from 'react';
import { ReasonButton } from '../../components/forms/ReasonButton.tsx';
import { useTypedText } from '../../components/lists/debounce.ts';
import { PageHeader } from '../../components/page/PageHeader.tsx';
import { usePageActions } from '../../components/page/page-actions.ts';
import { Empty, NoMatch, ReadErrors } from '../../components/page/states.tsx';
import { type Column, DataTable, type RowAction } from '../../components/table/DataTable.tsx';
import { PlainDay } from '../../components/text/time.tsx';
import { useKeptRows } from '../../data/api.ts';
import { allUserAttributes } from '../../data/attributes/attributes.ts';
import { useMe } from '../../data/me.tsx';
import { later, t } from '../../text.ts';
import { EditDialog, NewDialog } from './AttributeDialog.tsx';
import { DeleteDialog } from './DeleteDialog.tsx';
import { flagNames } from './values.ts';
import './user-attributes.css';

const route = getRouteApi('/user-attributes');

const titleColumn = (): Column<UserAttribute> => ({
  key: 'label',
  header: later.userAttributes.fields.label,
  cell: ({ label, name }) => (
    <span className="attribute-title">
      <span className="row-name" data-raw>
        {label}
      </span>
      <span className="row-note mono">{name}</span>
    </span>
  ),
});

const otherColumns = (): Column<UserAttribute>[] => [
  {
    key: 'type',
    header: later.userAttributes.fields.type,
    cell: ({ type }) => later.userAttributes.types[type],
  },
  {
    key: 'self',
    header: later.userAttributes.fields.self,
    cell: ({ self }) => later.userAttributes.self[self],
  },
  {
    key: 'traits',
    header: later.userAttributes.traits,
    cell: (attribute) => (
      <span className="chips traits">
        {flagNames
          .filter((name) => attribute[name])
          .map((name) => (
            <span key={name} className="chip">
              {later.userAttributes.fields[name]}
            </span>
          ))}
      </span>
    ),
  },
  {
    key: 'created',
    header: t.users.columns.created,
    cell: ({ created_at }) => <PlainDay at={created_at} />,
    isWideOnly: true,
  },
];

type Open = { kind: 'new' } | { kind: 'edit' | 'delete'; attribute: UserAttribute };

export function UserAttributes(): ReactElement {
  const texts = later.userAttributes;
  const { can } = useMe();
  const navigate = route.useNavigate();
  const { q = '' } = route.useSearch();
  const [typed, setTyped] = useTypedText(
    q,
    (text) => void navigate({ search: { q: text.trim() || undefined }, replace: true }),
  );
  const list = useQuery(allUserAttributes);
  const all = useKeptRows(list);
  const [open, setOpen] = useState<Open | null>(null);
  const [title] = useState(titleColumn);
  const [columns] = useState(otherColumns);
  const close = (): void => setOpen(null);
  const need = (permission: string): string | null =>
    can(permission) ? null : t.common.forbidden.reason(permission);
  const mayCreate = can('user_attribute.create');
  usePageActions(mayCreate ? [{ label: texts.create, run: () => setOpen({ kind: 'new' }) }] : []);
  const rows = all?.filter(({ name, label }) =>
    `${name}\n${label}`.toLocaleLowerCase().includes(q.toLocaleLowerCase()),
  );
  const isEmpty = rows?.length === 0;
  const actionsOf = (attribute: UserAttribute): RowAction[] => [
    {
      label: t.common.actions.edit,
      icon: <IconPencil size={16} aria-hidden />,
      disabledReason: need('user_attribute.update'),
      run: () => setOpen({ kind: 'edit', attribute }),
    },
    {
      label: t.common.actions.delete,
      icon: <IconTrash size={16} aria-hidden />,
      isDangerous: true,
      disabledReason: need('user_attribute.delete'),
      run: () => setOpen({ kind: 'delete', attribute }),
    },
  ];
  return (
    <>
      <PageHeader
        title={t.common.nav.userAttributes}
        actions={
          <ReasonButton
            leftSection={<IconPlus size={16} aria-hidden />}
            reason={need('user_attribute.create')}
            onClick={() => setOpen({ kind: 'new' })}
          >
            {texts.create}
          </ReasonButton>
        }
      />
      {all?.length !== 0 && (
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
      {isEmpty && all?.length !== 0 && (
        <NoMatch
          onClear={() => {
            setTyped('');
            void navigate({ search: {}, replace: true });
          }}
        />
      )}
      {all?.length === 0 && (
        <Empty
          icon={<IconListDetails size={32} aria-hidden />}
          title={texts.empty}
          text={texts.emptyText}
          action={mayCreate && <Button onClick={() => setOpen({ kind: 'new' })}>{texts.create}</Button>}
        />
      )}
      {!isEmpty && (rows || !list.error) && (
        <DataTable
          label={t.common.nav.userAttributes}
          rows={rows}
          title={title}
          columns={columns}
          nameOf={({ label }) => label}
          actionsOf={actionsOf}
        />
      )}
      {open?.kind === 'new' && <NewDialog onClose={close} />}
      {open?.kind === 'edit' && <EditDialog id={open.attribute.id} onClose={close} />}
      {open?.kind === 'delete' && <DeleteDialog attribute={open.attribute} onClose={close} />}
    </>
  );
}
