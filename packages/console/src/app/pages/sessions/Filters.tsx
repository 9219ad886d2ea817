// The filters of the list of sessions: person, address or network, age.
import type { UserSession } from '@castellan/sdk';
import { TextInput } from '@mantine/core';
import { IconSearch, IconX } from '@tabler/icons-react';
import type { ReactElement } from 'react';
import { DateTimeInput } from '../../components/forms/DateTimeInput.tsx';
import { useTypedText } from '../../components/lists/debounce.ts';
import { FilterFold } from '../../components/lists/FilterFold.tsx';
import '../../components/lists/filter-chips.css';
import { fieldError } from '../../components/forms/forms.tsx';
import { nameOf } from '../../data/me.tsx';
import { t } from '../../text.ts';
import type { SessionSearch } from './search.ts';

type Props = {
  search: SessionSearch;
  onChange: (change: Partial<SessionSearch>) => void;
  error: unknown;
};

export function SessionFilters({ search, onChange, error }: Props): ReactElement {
  const [typed, setTyped] = useTypedText(search.q ?? '', (q) => onChange({ q: q || undefined }));
  const [address, setAddress] = useTypedText(search.address ?? '', (text) =>
    onChange({ address: text.trim() || undefined }),
  );
  return (
    <search className="filters session-filters" aria-label={t.sessions.filters.label}>
      <TextInput
        type="search"
        className="grow"
        aria-label={t.sessions.filters.search}
        placeholder={t.sessions.filters.search}
        leftSection={<IconSearch size={16} aria-hidden />}
        value={typed}
        onChange={(event) => setTyped(event.currentTarget.value)}
      />
      <FilterFold
        count={[search.address, search.older_than].filter(Boolean).length}
        isForced={Boolean(fieldError(error, 'query.address'))}
      >
        <TextInput
          className="grow"
          aria-label={t.sessions.filters.address}
          placeholder={t.sessions.filters.address}
          value={address}
          error={fieldError(error, 'query.address')}
          onChange={(event) => setAddress(event.currentTarget.value)}
        />
        <DateTimeInput
          className="inline-field"
          label={t.sessions.filters.olderThan}
          value={search.older_than}
          onChange={(moment) => onChange({ older_than: moment })}
        />
      </FilterFold>
    </search>
  );
}

type ChipProps = Omit<Props, 'error'> & { users: readonly UserSession[] | undefined };

/** The person that a link has chosen. */
export function SessionFilterChips({ search, onChange, users }: ChipProps): ReactElement | null {
  if (!search.user) return null;
  const user = users?.find((one) => one.user.id === search.user)?.user;
  return (
    <ul className="filter-chips" aria-label={t.sessions.filters.active}>
      <li>
        <button type="button" className="filter-chip" onClick={() => onChange({ user: undefined })}>
          {t.sessions.filters.user(user ? nameOf(user) : search.user)}
          <IconX size={14} aria-hidden />
          <span className="visually-hidden">{t.common.actions.remove}</span>
        </button>
      </li>
    </ul>
  );
}
