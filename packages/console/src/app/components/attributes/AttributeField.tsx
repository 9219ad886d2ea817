// The control for one value of an attribute, by its type. It holds a text: see values.ts.
import { type InputWrapperProps, NativeSelect, Textarea, TextInput } from '@mantine/core';
import type { ReactElement } from 'react';
import type { Attribute } from '../../data/attributes/attributes.ts';
import { later } from '../../text.ts';
import { textOf } from './values.ts';

type Props = {
  attribute: Attribute;
  text: string;
  onChange: (text: string) => void;
  error: string | null;
  isRequired?: boolean;
  isReadOnly?: boolean;
};

/** Returns what a value reads like where it cannot be changed. */
export function shownText(attribute: Pick<Attribute, 'type'>, value: unknown): string {
  if (typeof value === 'boolean') return value ? later.userAttributes.yes : later.userAttributes.no;
  return textOf(attribute, value);
}

export function AttributeField({
  attribute: { label, description, type, values },
  text,
  onChange,
  error,
  isRequired = false,
  isReadOnly = false,
}: Props): ReactElement {
  const texts = later.userAttributes;
  const common = {
    label,
    description: description || null,
    value: text,
    error,
    required: isRequired,
    autoComplete: 'off',
    'data-raw': true,
    // The inputs of a row are at one height, however long what is said about them.
    inputWrapperOrder: [
      'label',
      'input',
      'description',
      'error',
    ] satisfies InputWrapperProps['inputWrapperOrder'],
    onChange: (event: { currentTarget: { value: string } }) => onChange(event.currentTarget.value),
  };
  const choices =
    type === 'boolean'
      ? [
          { value: 'true', label: texts.yes },
          { value: 'false', label: texts.no },
        ]
      : (values ?? []).map((value) => ({ value, label: value }));
  if (isReadOnly && type !== 'json') {
    const chosen = choices.find(({ value }) => value === text);
    return <TextInput {...common} value={chosen?.label ?? text} readOnly />;
  }
  switch (type) {
    case 'boolean':
    case 'enum':
      return <NativeSelect {...common} data={[{ value: '', label: texts.none }, ...choices]} />;
    case 'json':
      return (
        <Textarea
          {...common}
          readOnly={isReadOnly}
          autosize
          minRows={2}
          maxRows={12}
          spellCheck={false}
          classNames={{ input: 'mono' }}
        />
      );
    case 'date':
      return <TextInput {...common} type="date" />;
    case 'url':
      return <TextInput {...common} inputMode="url" spellCheck={false} />;
    case 'number':
    case 'integer':
      return <TextInput {...common} inputMode={type === 'number' ? 'decimal' : 'numeric'} />;
    default:
      return <TextInput {...common} />;
  }
}
