// The filters of the list of users: search box, status, second factor, role, and chips for those that only links set.
import { ActionIcon, Button, Input, Menu, NativeSelect, Popover, TextInput } from '@mantine/core';
import { IconColumns3, IconListSearch, IconSearch, IconX } from '@tabler/icons-react';
import { lazy, type ReactElement, Suspense, useState } from 'react';
import { useTypedText } from '../../components/lists/debounce.ts';
import { FilterFold } from '../../components/lists/FilterFold.tsx';
import '../../components/lists/filter-chips.css';
import { useCan, useMe } from '../../data/me.tsx';
import { t, withLaterTexts } from '../../text.ts';
import { type ColumnKey, columnKeys } from './columns.tsx';
import { conditionIn, type UserSearch } from './search.ts';

// With all that it needs, it is a tenth of what the list loads.
const RolePicker = lazy(() =>
  import('../../components/roles/RolePicker.tsx').then((file) => ({ default: file.RolePicker })),
);

const AttributeFilter = lazy(() =>
  withLaterTexts(import('./AttributeFilter.tsx')).then((file) => ({ default: file.AttributeFilter })),
);

const statuses = ['active', 'inactive', 'locked', 'unverified'] as const;
/** No status of the service: who is invited is unverified. */
const INVITED = 'invited';
const factorStates = ['on', 'off', 'missing'] as const;

type Props = {
  search: UserSearch;
  onChange: (change: Partial<UserSearch>) => void;
  shown: ReadonlySet<ColumnKey>;
  onToggle: (key: ColumnKey) => void;
};

export function Filters({ search, onChange, shown, onToggle }: Props): ReactElement {
  const [typed, setTyped, flush] = useTypedText(search.q ?? '', (q) => onChange({ q: q || undefined }));
  const maySeeRoles = useCan('role.read');
  const { can } = useMe();
  const mayFilterAttributes = can('user_attribute.read') && can('users.read');
  return (
    <search className="filters user-filters" aria-label={t.users.filters.label}>
      <TextInput
        type="search"
        className="grow"
        aria-label={t.users.filters.search}
        placeholder={t.users.filters.search}
        leftSection={<IconSearch size={16} aria-hidden />}
        value={typed}
        onChange={(event) => setTyped(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter') flush();
        }}
      />
      <FilterFold
        count={
          [search.status, search.invited, search.second_factor, search.role, search.attribute].filter(Boolean)
            .length
        }
      >
        <NativeSelect
          aria-label={t.users.columns.status}
          data={[
            { value: '', label: t.users.filters.anyStatus },
            ...statuses.map((value) => ({ value, label: t.common.status[value] })),
            { value: INVITED, label: t.users.invitation.status },
          ]}
          value={search.invited ? INVITED : (search.status ?? '')}
          onChange={({ currentTarget: { value } }) =>
            onChange({
              status: statuses.find((one) => one === value),
              invited: value === INVITED || undefined,
              invitation: undefined,
            })
          }
        />
        <NativeSelect
          aria-label={t.users.columns.secondFactor}
          data={[
            { value: '', label: t.users.filters.anyFactor },
            ...factorStates.map((value) => ({ value, label: t.users.filters.factor[value] })),
          ]}
          value={search.second_factor ?? ''}
          onChange={(event) =>
            onChange({ second_factor: factorStates.find((one) => one === event.currentTarget.value) })
          }
        />
        {maySeeRoles && (
          <div className="filter-role">
            <Suspense fallback={<Input component="div" aria-hidden />}>
              <RolePicker
                label={t.users.filters.role}
                isLabelHidden
                placeholder={t.users.filters.anyRole}
                max={1}
                value={search.role ? [search.role] : []}
                onChange={([role]) => onChange({ role })}
              />
            </Suspense>
          </div>
        )}
        {mayFilterAttributes && <AttributeButton search={search} onChange={onChange} />}
      </FilterFold>
      <Menu closeOnItemClick={false} position="bottom-end">
        <Menu.Target>
          <Button
            variant="default"
            leftSection={<IconColumns3 size={16} aria-hidden />}
            className="columns-button"
          >
            {t.common.actions.columns}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {columnKeys.map((key) => (
            <Menu.CheckboxItem
              key={key}
              closeMenuOnClick={false}
              checked={shown.has(key)}
              onChange={() => onToggle(key)}
            >
              {t.users.columns[key]}
            </Menu.CheckboxItem>
          ))}
        </Menu.Dropdown>
      </Menu>
    </search>
  );
}

/** What it opens loads then: few people filter by attributes. */
function AttributeButton({ search, onChange }: Pick<Props, 'search' | 'onChange'>): ReactElement {
  const [isOpen, setOpen] = useState(false);
  return (
    <Popover opened={isOpen} onChange={setOpen} position="bottom-end" trapFocus returnFocus>
      <Popover.Target>
        <ActionIcon
          variant="default"
          size={36}
          aria-label={t.users.filters.attribute}
          title={t.users.filters.attribute}
          onClick={() => setOpen(!isOpen)}
        >
          <IconListSearch size={16} aria-hidden />
        </ActionIcon>
      </Popover.Target>
      <Popover.Dropdown>
        <Suspense>
          <AttributeFilter
            condition={search.attribute}
            onApply={(attribute) => {
              setOpen(false);
              onChange({ attribute });
            }}
          />
        </Suspense>
      </Popover.Dropdown>
    </Popover>
  );
}

/** Filters that links of other pages set. Each can be removed. */
export function FilterChips({ search, onChange }: Pick<Props, 'search' | 'onChange'>): ReactElement | null {
  const { verified, is_active, removal_within_hours: hours, roles, invited, invitation, attribute } = search;
  const chips: { key: string; label: string; remove: Partial<UserSearch> }[] = [
    ...(roles ? [{ key: 'roles', label: t.users.filters.noRoles, remove: { roles: undefined } }] : []),
    ...(attribute
      ? [
          {
            key: 'attribute',
            label: `${conditionIn(attribute).name} = ${conditionIn(attribute).value}`,
            remove: { attribute: undefined },
          },
        ]
      : []),
    ...(invited === false
      ? [{ key: 'invited', label: t.users.filters.notInvited, remove: { invited: undefined } }]
      : []),
    ...(invitation
      ? [
          {
            key: 'invitation',
            label: t.users.filters.invitation[invitation === 'open' ? 'open' : 'ended'],
            remove: { invitation: undefined },
          },
        ]
      : []),
    ...(verified === undefined
      ? []
      : [
          {
            key: 'verified',
            label: verified ? t.users.filters.verified : t.users.filters.unverified,
            remove: { verified: undefined },
          },
        ]),
    ...(is_active === undefined
      ? []
      : [
          {
            key: 'active',
            label: is_active ? t.users.filters.activeOnly : t.users.filters.inactiveOnly,
            remove: { is_active: undefined },
          },
        ]),
    ...(hours === undefined
      ? []
      : [
          {
            key: 'removal',
            label: t.users.filters.removedWithin(hours),
            remove: { removal_within_hours: undefined },
          },
        ]),
  ];
  if (chips.length === 0) return null;
  return (
    <ul className="filter-chips" aria-label={t.users.filters.active}>
      {chips.map(({ key, label, remove }) => (
        <li key={key}>
          <button type="button" className="filter-chip" onClick={() => onChange(remove)}>
            {label}
            <IconX size={14} aria-hidden />
            <span className="visually-hidden">{t.common.actions.remove}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}
