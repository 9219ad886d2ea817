// Finds permissions by a text, and by who uses or made them.
import { NativeSelect, TextInput } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { getRouteApi } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { useTypedText } from '../../components/lists/debounce.ts';
import { FilterFold } from '../../components/lists/FilterFold.tsx';
import { t } from '../../text.ts';

const route = getRouteApi('/permissions');

/** The filters are in the address. */
export function PermissionFilters(): ReactElement {
  const navigate = route.useNavigate();
  const { q = '', ...search } = route.useSearch();
  const [typed, setTyped] = useTypedText(
    q,
    (text) =>
      void navigate({ search: (now) => ({ ...now, q: text || undefined, page: undefined }), replace: true }),
  );
  const own = search.roles ? 'ownUnused' : 'own';
  const others = search.roles ? 'unused' : search.is_builtin ? 'builtin' : 'all';
  const filter = search.is_builtin === false ? own : others;
  return (
    <div className="filters">
      <TextInput
        className="grow"
        type="search"
        aria-label={t.permissions.search}
        placeholder={t.permissions.search}
        leftSection={<IconSearch size={16} aria-hidden />}
        value={typed}
        onChange={(event) => setTyped(event.currentTarget.value)}
      />
      <FilterFold count={Number(filter !== 'all') + Number(search.group !== undefined)}>
        <NativeSelect
          aria-label={t.permissions.filter}
          value={filter}
          onChange={({ currentTarget: { value } }) =>
            void navigate({
              search: (now) => ({
                ...now,
                page: undefined,
                roles: /unused$/i.test(value) ? 'none' : undefined,
                is_builtin: value === 'builtin' ? true : value.startsWith('own') ? false : undefined,
              }),
              replace: true,
            })
          }
          data={[
            { value: 'all', label: t.permissions.filters.all },
            { value: 'unused', label: t.permissions.filters.unused },
            { value: 'builtin', label: t.permissions.filters.builtin },
            { value: 'own', label: t.permissions.filters.own },
            { value: 'ownUnused', label: t.permissions.filters.ownUnused },
          ]}
        />
      </FilterFold>
    </div>
  );
}
