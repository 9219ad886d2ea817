// Chooses one person by typing part of a name, an email or an id. The service searches.

import { Select } from '@mantine/core';
import { type ReactElement, useState } from 'react';
import { failureOf } from '../../data/errors.ts';
import { labelOf, usePeople, usePerson } from '../../data/people.ts';
import { t } from '../../text.ts';
import { useTypedText } from '../lists/debounce.ts';
import { ReadErrors } from '../page/states.tsx';

type Props = {
  label: string;
  /** The id of the person. */
  value: string | undefined;
  onChange: (id: string | undefined) => void;
  placeholder?: string;
  /** The label is for screen readers only. */
  isLabelHidden?: boolean;
  className?: string;
  size?: 'xs' | 'sm' | 'md';
};

export function PersonPicker({ label, value, onChange, size = 'sm', ...rest }: Props): ReactElement {
  const [searched, search] = useState('');
  const [typed, setTyped] = useTypedText(searched, search);
  const { person: chosen, read: readChosen } = usePerson(value);
  const { people, read, mayList } = usePeople(chosen && searched === labelOf(chosen) ? '' : searched.trim());
  const options = people.map((person) => ({ value: person.id, label: labelOf(person) }));
  if (value !== undefined && !people.some(({ id }) => id === value))
    options.unshift({ value, label: chosen ? labelOf(chosen) : value });
  return (
    <div className="picker">
      <Select
        {...(rest.isLabelHidden ? { 'aria-label': label } : { label })}
        {...(rest.className === undefined ? {} : { className: rest.className })}
        description={mayList ? undefined : t.common.forbidden.reason('user.read')}
        size={size}
        placeholder={rest.placeholder ?? ''}
        data={options}
        value={value ?? null}
        onChange={(id) => onChange(id ?? undefined)}
        searchable
        clearable
        clearButtonProps={{ 'aria-label': t.access.clear(label) }}
        searchValue={typed}
        onSearchChange={setTyped}
        // The service has filtered.
        filter={({ options: all }) => all}
        nothingFoundMessage={nothingFound(read)}
        maxDropdownHeight={300}
        data-raw
      />
      <ReadErrors of={[readChosen, read]} />
    </div>
  );
}

const nothingFound = ({ isLoading, error }: { isLoading: boolean; error: unknown }): string => {
  if (isLoading) return t.common.list.loading;
  return error ? failureOf(error).message : t.access.nobodyFound;
};
