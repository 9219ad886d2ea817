// Chooses a permission by name. A name that the catalogue does not hold may be asked for, too: the answer says so.
import { Autocomplete } from '@mantine/core';
import { type ReactElement, useEffect, useState } from 'react';
import { usePermissionNames } from '../../data/permissions/permission-names.ts';
import { t } from '../../text.ts';
import { ReadErrors } from '../page/states.tsx';

type Props = { value: string | undefined; onChange: (name: string | undefined) => void };

const MOST_OPTIONS = 60;

export function PermissionPicker({ value = '', onChange }: Props): ReactElement {
  const [typed, setTyped] = useState(value);
  const { permissions, read, mayRead } = usePermissionNames();
  // "Back" and links change it from outside.
  useEffect(() => setTyped(value), [value]);
  const send = (text: string): void => {
    if (text.trim() !== value) onChange(text.trim() === '' ? undefined : text.trim());
  };
  return (
    <div className="picker">
      <Autocomplete
        label={t.access.permission}
        description={mayRead ? undefined : t.access.typePermission}
        placeholder={t.access.permissionExample}
        data={[...new Set(permissions?.map(({ name }) => name))]}
        limit={MOST_OPTIONS}
        value={typed}
        onChange={setTyped}
        onOptionSubmit={send}
        onBlur={() => send(typed)}
        onKeyDown={(event) => {
          if (event.key === 'Enter') send(typed);
        }}
        clearable
        onClear={() => onChange(undefined)}
        clearButtonProps={{ 'aria-label': t.access.clear(t.access.permission) }}
        maxDropdownHeight={300}
        spellCheck={false}
        data-raw
      />
      <ReadErrors of={[read]} />
    </div>
  );
}
