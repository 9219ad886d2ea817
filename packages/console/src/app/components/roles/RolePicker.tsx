// Chooses roles by typing part of a name. The service searches and pages, so that there may be any number of roles.
// It must not change anybody's roles: it reports what is chosen.

import type { RoleGroup, SummarizedRole } from '@castellan/sdk';
import { type ComboboxItem, MultiSelect } from '@mantine/core';
import { useInfiniteQuery, useQueries, useQuery } from '@tanstack/react-query';
import { type ReactElement, useState } from 'react';
import { call, keepingRows, type ReadState, reading } from '../../data/api.ts';
import { failureOf } from '../../data/errors.ts';
import { useCan } from '../../data/me.tsx';
import { t } from '../../text.ts';
import { useTypedText } from '../lists/debounce.ts';
import './role-picker.css';
import { ReadErrors } from '../page/states.tsx';

type Props = {
  label: string;
  /** Ids. */
  value: readonly string[];
  onChange: (ids: string[]) => void;
  /** Ids of roles that are not offered, such as those that the person already has. */
  exclude?: readonly string[];
  description?: string;
  error?: string | null;
  /** Takes the focus when the dialog around it opens. */
  isFirst?: boolean;
  /** At most so many roles can be chosen: another one replaces the earliest. */
  max?: number;
  isReadOnly?: boolean;
  /** The label is for screen readers only. */
  isLabelHidden?: boolean;
  placeholder?: string;
};

const PAGE_SIZE = 30;
const GROUPS_SIZE = 100;

export function RolePicker(props: Props): ReactElement {
  const {
    label,
    value,
    onChange,
    exclude = [],
    description,
    error = null,
    isFirst,
    max,
    isLabelHidden,
  } = props;
  const mayRead = useCan('role.read');
  const [searched, search] = useState('');
  const [isOpen, setOpen] = useState(false);
  // From the first opening on: a failure stays, with its way to try again, when the list closes.
  const [isNeeded, setNeeded] = useState(false);
  const [typed, setTyped] = useTypedText(searched, search);
  const found = useRoles(searched.trim(), mayRead && isNeeded);
  const groups = useGroupNames(isNeeded);
  const chosen = useNames(value, found.roles);
  const offered = found.roles.filter(({ id }) => !exclude.includes(id));
  const known = new Map(offered.map((role) => [role.id, role]));
  const options: ComboboxItem[] = [
    ...offered.map(({ id, name }) => ({ value: id, label: name })),
    ...value.filter((id) => !known.has(id)).map((id) => ({ value: id, label: chosen.names.get(id) ?? id })),
  ];
  return (
    <div className="picker">
      <MultiSelect
        {...(isLabelHidden ? { 'aria-label': label } : { label })}
        description={mayRead ? description : t.common.forbidden.reason('role.read')}
        error={error}
        placeholder={value.length === 0 ? (props.placeholder ?? t.users.rolePicker.placeholder) : ''}
        data={options}
        value={[...value]}
        onChange={(ids) => onChange(max === undefined ? ids : ids.slice(-max))}
        disabled={!mayRead || props.isReadOnly === true}
        searchable
        hidePickedOptions
        // Closed after each choice: what the dialog says about it stands below.
        dropdownOpened={isOpen}
        onDropdownOpen={() => {
          setOpen(true);
          setNeeded(true);
        }}
        onDropdownClose={() => setOpen(false)}
        onOptionSubmit={() => setOpen(false)}
        searchValue={typed}
        onSearchChange={setTyped}
        // The service has filtered. Chosen roles that do not match are options only for the sake of their names.
        filter={({ options: all }) => all.filter((one) => 'value' in one && known.has(one.value))}
        nothingFoundMessage={nothingFound(found.query)}
        maxDropdownHeight={280}
        scrollAreaProps={{ type: 'auto', onBottomReached: found.more }}
        renderOption={({ option }) => {
          const role = known.get(option.value);
          return role ? (
            <RoleOption role={role} group={groups.names.get(role.role_group_id ?? '')} />
          ) : (
            option.label
          );
        }}
        data-autofocus={isFirst || undefined}
      />
      <ReadErrors of={[found.query, ...chosen.reads, ...groups.reads]} />
    </div>
  );
}

const nothingFound = ({ isFetching, error }: { isFetching: boolean; error: unknown }): string => {
  if (isFetching) return t.common.list.loading;
  return error ? failureOf(error).message : t.users.rolePicker.none;
};

const RoleOption = ({ role, group }: { role: SummarizedRole; group: string | undefined }): ReactElement => (
  <span className="role-option">
    <span className="role-option-name">{role.name}</span>
    <span className="role-option-facts">
      {[
        ...(group ? [group] : []),
        t.matrix.holders(role.holders ?? 0),
        t.users.rolePicker.permissions(role.permission_count),
        ...(role.description ? [role.description] : []),
      ].join(' · ')}
    </span>
  </span>
);

function useRoles(text: string, enabled: boolean) {
  const query = useInfiniteQuery({
    queryKey: ['roles to pick', text],
    queryFn: ({ pageParam, signal }) =>
      call('GET /api/v1/roles/summaries', {
        query: {
          page: pageParam,
          size: PAGE_SIZE,
          include: ['holders'],
          ...(text ? { name_pattern: `*${text}*` } : {}),
        },
        signal,
      }),
    initialPageParam: 1,
    getNextPageParam: ({ pagination }) =>
      pagination.page < pagination.pages ? pagination.page + 1 : undefined,
    enabled,
    ...keepingRows,
  });
  return {
    roles: (query.data?.pages ?? []).flatMap(({ data }) => data),
    query,
    more: (): void => {
      if (query.hasNextPage && !query.isFetchingNextPage) void query.fetchNextPage();
    },
  };
}

type Named = { names: ReadonlyMap<string, string>; reads: readonly ReadState[] };

/** Returns the names of chosen roles. Those that no search has found yet are read one by one. */
function useNames(ids: readonly string[], found: readonly SummarizedRole[]): Named {
  const mayRead = useCan('role.read');
  const [seen] = useState(() => new Map<string, string>());
  for (const { id, name } of found) seen.set(id, name);
  const others = useQueries({
    queries: ids
      .filter((id) => mayRead && !seen.has(id))
      .map((id) => reading('GET /api/v1/roles/{role_id}', { path: { role_id: id } })),
  });
  const names = new Map([
    ...seen,
    ...others.flatMap(({ data }): [string, string][] => (data ? [[data.data.id, data.data.name]] : [])),
  ]);
  return { names, reads: others };
}

/** Returns the paths of the role groups by id, as far as the person may read them; none while they are not needed. */
export function useGroupNames(isNeeded = true): Named {
  const mayRead = useCan('role_group.read');
  const groups = useQuery({
    ...reading('GET /api/v1/role-groups', { query: { size: GROUPS_SIZE } }),
    enabled: mayRead && isNeeded,
  });
  const names = new Map((groups.data?.data ?? []).flatMap((group) => pathsOf(group, [])));
  return { names, reads: [groups] };
}

const pathsOf = (group: RoleGroup, above: readonly string[]): [string, string][] => {
  const path = [...above, group.name];
  return [[group.id, path.join(' › ')], ...group.children.flatMap((child) => pathsOf(child, path))];
};
