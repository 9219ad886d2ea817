// The input of one field of an application, by its kind.
import { Checkbox, NativeSelect, Switch, Textarea, TextInput } from '@mantine/core';
import type { ReactElement } from 'react';
import type { ApplicationField } from '../../../data/form-fields.ts';
import { later } from '../../../text.ts';
import { kinds, options } from './fields.ts';

type Props = {
  name: ApplicationField;
  value: string | boolean;
  error: string | null;
  isReadOnly: boolean;
  onChange: (value: string | boolean) => void;
};

/** Names of standards stand as they are. */
const optionText = (name: ApplicationField, option: string): string => {
  const texts: Readonly<Record<string, Readonly<Record<string, string>>>> = later.applications.page.options;
  return texts[name]?.[option] ?? option;
};

export function FieldInput({ name, value, error, isReadOnly, onChange }: Props): ReactElement {
  const { label, help } = later.applications.page.fields[name];
  const kind = kinds[name];
  const common = { label, description: help, error };
  if (kind === 'flag')
    return (
      <Switch
        {...common}
        checked={value === true}
        disabled={isReadOnly}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
    );
  const text = String(value);
  if (kind === 'choices') {
    const chosen = text.split(' ');
    return (
      <Checkbox.Group {...common} value={chosen} onChange={(now) => onChange(inOrder(name, now))}>
        <div className="scope-list">
          {options[name]?.map((option) => (
            <Checkbox
              key={option}
              value={option}
              label={<span data-raw>{optionText(name, option)}</span>}
              disabled={isReadOnly}
            />
          ))}
        </div>
      </Checkbox.Group>
    );
  }
  if (kind === 'choice')
    return (
      <NativeSelect
        {...common}
        value={text}
        disabled={isReadOnly}
        data={(options[name] ?? []).map((option) => ({ value: option, label: optionText(name, option) }))}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
    );
  const typed = {
    ...common,
    value: text,
    readOnly: isReadOnly,
    autoComplete: 'off',
    onChange: (event: { currentTarget: { value: string } }) => onChange(event.currentTarget.value),
  };
  if (kind === 'text') return <TextInput {...typed} required={name === 'name'} />;
  if (kind === 'number') return <TextInput {...typed} inputMode="numeric" />;
  return (
    <Textarea
      {...typed}
      autosize
      minRows={2}
      maxRows={16}
      spellCheck={kind === 'area'}
      {...(kind === 'json' ? { classNames: { input: 'mono' } } : {})}
    />
  );
}

const inOrder = (name: ApplicationField, chosen: readonly string[]): string =>
  (options[name] ?? []).filter((one) => chosen.includes(one)).join(' ');
