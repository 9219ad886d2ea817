// The filters of the page Audit log. Each is in the address as soon as it is set.

import { NativeSelect, Select, TextInput } from '@mantine/core';
import { type ReactElement, useMemo } from 'react';
import { PersonPicker } from '../../components/forms/PersonPicker.tsx';
import { useTypedText } from '../../components/lists/debounce.ts';
import { FilterFold } from '../../components/lists/FilterFold.tsx';
import { knownActions, meaningOf } from '../../data/audit/actions.ts';
import { t } from '../../text.ts';
import { searchFor } from '../../text-search.ts';
import { type AuditSearch, filtersIn } from './filter.ts';

const types = [
  'user',
  'role',
  'role_group',
  'permission',
  'permission_group',
  'service_account',
  'application',
  'api_resource',
  'user_attribute',
  'identity_provider',
  'webhook',
  'access',
  'signing_key',
  'security_event',
];

type Props = { search: AuditSearch; onChange: (part: AuditSearch) => void };

const optionalText = (text: string): string | undefined => (text === '' ? undefined : text);

export function FilterBar({ search, onChange }: Props): ReactElement {
  const actions = useMemo(
    () => knownActions().map((action) => ({ value: action, label: action, meaning: meaningOf(action) })),
    [],
  );
  const meanings = useMemo(
    () => new Map<string, string>(actions.map(({ value, meaning }) => [value, meaning])),
    [actions],
  );
  const { result } = search;
  return (
    <search className="audit-filters" aria-label={t.audit.filters}>
      <FilterFold count={Object.keys(filtersIn(search)).length}>
        <PersonPicker
          size="xs"
          label={t.audit.actor}
          value={search.actor}
          onChange={(actor) => onChange({ actor })}
          placeholder={t.audit.anybody}
        />
        <Select
          size="xs"
          label={t.audit.action}
          placeholder={t.audit.anyAction}
          data={actions}
          value={actions.find(({ value }) => value === search.action)?.value ?? null}
          onChange={(action) => onChange({ action: action ?? undefined })}
          searchable
          clearable
          clearButtonProps={{ 'aria-label': t.access.clear(t.audit.action) }}
          nothingFoundMessage={t.common.list.noMatch}
          filter={({ options, search: typed }) => options.filter((one) => isMatch(one, typed, meanings))}
          renderOption={({ option }) => (
            <span className="audit-option">
              <span className="mono">{option.value}</span>
              <span className="row-note">{meanings.get(option.value)}</span>
            </span>
          )}
          comboboxProps={{ width: 340, position: 'bottom-start' }}
          maxDropdownHeight={320}
          data-raw
        />
        <NativeSelect
          size="xs"
          label={t.audit.result}
          data={[
            { value: '', label: t.audit.anyResult },
            { value: 'success', label: t.audit.success },
            { value: 'failure', label: t.audit.failure },
          ]}
          value={result ?? ''}
          onChange={(event) => {
            const { value } = event.currentTarget;
            onChange({ result: value === 'success' || value === 'failure' ? value : undefined });
          }}
        />
        <NativeSelect
          size="xs"
          label={t.audit.type}
          data={[{ value: '', label: t.audit.anyType }, ...types, ...unlisted(search.type)]}
          value={search.type ?? ''}
          onChange={(event) => onChange({ type: optionalText(event.currentTarget.value) })}
          data-raw
        />
        <TypedFilter
          label={t.audit.targetId}
          value={search.target}
          onChange={(target) => onChange({ target })}
        />
        <TypedFilter
          label={t.audit.address}
          value={search.address}
          onChange={(address) => onChange({ address })}
        />
        <TextInput
          size="xs"
          type="date"
          label={t.audit.from}
          value={search.from ?? ''}
          max={search.to}
          onChange={(event) => onChange({ from: optionalText(event.currentTarget.value) })}
        />
        <TextInput
          size="xs"
          type="date"
          label={t.audit.to}
          value={search.to ?? ''}
          min={search.from}
          onChange={(event) => onChange({ to: optionalText(event.currentTarget.value) })}
        />
      </FilterFold>
    </search>
  );
}

/** A type that a link names and this console does not know. */
const unlisted = (type: string | undefined): string[] => (type && !types.includes(type) ? [type] : []);

/** By the name of the action or by what it means. */
function isMatch(option: object, typed: string, meanings: ReadonlyMap<string, string>): boolean {
  if (!('value' in option) || typeof option.value !== 'string') return false;
  return searchFor(typed)(`${option.value} ${meanings.get(option.value) ?? ''}`);
}

type TypedProps = { label: string; value: string | undefined; onChange: (value: string | undefined) => void };

function TypedFilter({ label, value, onChange }: TypedProps): ReactElement {
  const [typed, setTyped, flush] = useTypedText(value ?? '', (text) => onChange(optionalText(text.trim())));
  return (
    <TextInput
      size="xs"
      label={label}
      value={typed}
      onChange={(event) => setTyped(event.currentTarget.value)}
      onBlur={flush}
      onKeyDown={(event) => {
        if (event.key === 'Enter') flush();
      }}
    />
  );
}
