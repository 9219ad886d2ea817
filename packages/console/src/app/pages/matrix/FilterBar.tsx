// What the matrix shows: part of the names of permissions, one group, all roles or those of the operator.
import { Button, NativeSelect, SegmentedControl, TextInput } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { getRouteApi } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { useTypedText } from '../../components/lists/debounce.ts';
import { FilterFold } from '../../components/lists/FilterFold.tsx';
import type { Section } from '../../data/permissions/permission-sections.ts';
import { t } from '../../text.ts';

const route = getRouteApi('/matrix');

type Props = {
  sections: readonly Section[];
  isAnyOpen: boolean;
  onToggleAll: (open: boolean) => void;
};

/** The filters are in the address. */
export function FilterBar({ sections, isAnyOpen, onToggleAll }: Props): ReactElement {
  const { f = '', group = '', roles = 'all' } = route.useSearch();
  const navigate = route.useNavigate();
  const [typed, setTyped] = useTypedText(
    f,
    (text) => void navigate({ search: (now) => ({ ...now, f: text || undefined }), replace: true }),
  );
  return (
    <div className="filters">
      <TextInput
        className="grow"
        type="search"
        aria-label={t.matrix.filter}
        placeholder={t.matrix.filter}
        leftSection={<IconSearch size={16} aria-hidden />}
        value={typed}
        onChange={(event) => setTyped(event.currentTarget.value)}
      />
      <FilterFold count={Number(group !== '') + Number(roles !== 'all')}>
        <NativeSelect
          aria-label={t.matrix.group}
          value={group}
          onChange={({ currentTarget: { value } }) =>
            void navigate({ search: (now) => ({ ...now, group: value || undefined }), replace: true })
          }
          data={[
            { value: '', label: t.matrix.allGroups },
            ...sections.map(({ id, name }) => ({ value: id, label: name })),
          ]}
        />
        <SegmentedControl
          size="xs"
          aria-label={t.matrix.shown}
          value={roles}
          onChange={(value) =>
            void navigate({
              search: (now) => ({ ...now, roles: value === 'custom' ? 'custom' : undefined }),
              replace: true,
            })
          }
          data={[
            { value: 'all', label: t.matrix.all },
            { value: 'custom', label: t.matrix.custom },
          ]}
        />
      </FilterFold>
      <Button variant="subtle" size="compact-sm" onClick={() => onToggleAll(!isAnyOpen)}>
        {isAnyOpen ? t.matrix.collapseAll : t.matrix.expandAll}
      </Button>
    </div>
  );
}
