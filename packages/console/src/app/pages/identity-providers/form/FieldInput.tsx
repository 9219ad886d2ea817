// The input of one field of an identity provider, by its kind.
import { NativeSelect, Switch, Textarea, TextInput } from '@mantine/core';
import type { ReactElement } from 'react';
import { PasswordField } from '../../../components/forms/PasswordField.tsx';
import { RolePicker } from '../../../components/roles/RolePicker.tsx';
import type { ProviderField } from '../../../data/form-fields.ts';
import { later } from '../../../text.ts';
import { inputs, options } from './fields.ts';
import { RuleList } from './RuleList.tsx';
import { idsIn } from './values.ts';

type Props = {
  name: ProviderField;
  value: string | boolean;
  error: string | null;
  isReadOnly: boolean;
  isRequired: boolean;
  /** Whether a secret is stored; null while the provider is being created. */
  hasSecret: boolean | null;
  onChange: (value: string | boolean) => void;
};

const hasOptions = (name: ProviderField): name is keyof typeof options => Object.hasOwn(options, name);

function choicesOf(name: ProviderField): { value: string; label: string }[] {
  if (!hasOptions(name)) return [];
  const texts: Readonly<Record<string, string>> = later.identityProviders.options[name];
  return options[name].map((value) => ({ value, label: texts[value] ?? value }));
}

export function FieldInput({ name, value, error, isReadOnly, isRequired, ...rest }: Props): ReactElement {
  const texts = later.identityProviders;
  const { label, help } = texts.fields[name];
  const { onChange, hasSecret } = rest;
  const input = inputs[name];
  const common = { label, description: help, error, required: isRequired };
  const text = String(value);
  const typed = {
    ...common,
    value: text,
    readOnly: isReadOnly,
    autoComplete: 'off',
    spellCheck: false,
    onChange: (event: { currentTarget: { value: string } }) => onChange(event.currentTarget.value),
  };
  const secret = { placeholder: hasSecret === null ? '' : hasSecret ? texts.secretKept : texts.secretNone };
  switch (input) {
    case 'flag':
      return (
        <Switch
          {...common}
          checked={value === true}
          disabled={isReadOnly}
          onChange={(event) => onChange(event.currentTarget.checked)}
        />
      );
    case 'choice':
      return (
        <NativeSelect
          {...common}
          value={text}
          disabled={isReadOnly}
          data={choicesOf(name)}
          onChange={(event) => onChange(event.currentTarget.value)}
        />
      );
    case 'roles':
      return (
        <RolePicker
          label={label}
          description={help}
          error={error}
          value={idsIn(value)}
          isReadOnly={isReadOnly}
          onChange={(ids) => onChange(ids.join(' '))}
        />
      );
    case 'mapping':
      return <RuleList {...common} value={text} isReadOnly={isReadOnly} onChange={onChange} />;
    case 'secret':
      return <PasswordField {...typed} {...secret} autoComplete="new-password" />;
    case 'key':
      return (
        <Textarea {...typed} {...secret} autosize minRows={3} maxRows={8} classNames={{ input: 'mono' }} />
      );
    case 'lines':
    case 'pairs':
      return <Textarea {...typed} autosize minRows={2} maxRows={16} />;
    default:
      return <TextInput {...typed} />;
  }
}
