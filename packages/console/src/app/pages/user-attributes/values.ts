// The fields of a declared attribute as the form holds them, and back.
// It must not judge them: the service does.
import type { CreateUserAttribute, UpdateUserAttribute, UserAttribute } from '@castellan/sdk';

const textNames = ['name', 'label', 'description', 'type', 'values', 'max_length', 'self'] as const;
export const flagNames = ['required', 'unique', 'searchable', 'claims', 'sensitive'] as const;
export const fieldNames = [...textNames, ...flagNames] as const;

export type TextName = (typeof textNames)[number];
export type FlagName = (typeof flagNames)[number];
export type FormValues = Record<TextName, string> & Record<FlagName, boolean>;

/** Every field of the body: a new one is a compile error here. */
type Fields = Record<keyof CreateUserAttribute, unknown>;

export const attributeTypes = [
  'string',
  'number',
  'integer',
  'boolean',
  'date',
  'url',
  'enum',
  'json',
] as const satisfies readonly UserAttribute['type'][];
export const selfAccesses = ['none', 'read', 'write'] as const satisfies readonly UserAttribute['self'][];

export const emptyValues: FormValues = {
  name: '',
  label: '',
  description: '',
  type: 'string',
  values: '',
  max_length: '250',
  self: 'none',
  required: false,
  unique: false,
  searchable: false,
  claims: false,
  sensitive: false,
};

export const formOf = (attribute: UserAttribute): FormValues => ({
  name: attribute.name,
  label: attribute.label,
  description: attribute.description,
  type: attribute.type,
  values: (attribute.values ?? []).join('\n'),
  max_length: String(attribute.max_length ?? ''),
  self: attribute.self,
  required: attribute.required,
  unique: attribute.unique,
  searchable: attribute.searchable,
  claims: attribute.claims,
  sensitive: attribute.sensitive,
});

export const linesIn = (text: string): string[] =>
  text
    .split(/\r\n|\r|\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '');

/** Whether the length is a whole number. The service judges how large it may be. */
export const isWhole = ({ type, max_length }: FormValues): boolean =>
  type !== 'string' || /^\d{1,6}$/.test(max_length.trim());

/** Without what never changes. What belongs to another type is left out. */
export function changeOf(values: FormValues) {
  const isJson = values.type === 'json';
  return {
    label: values.label,
    description: values.description,
    values: values.type === 'enum' ? linesIn(values.values) : null,
    max_length: values.type === 'string' ? Number(values.max_length) : null,
    self: selfAccesses.find((one) => one === values.self) ?? 'none',
    required: values.required,
    unique: values.unique && !isJson,
    searchable: values.searchable && !isJson,
    claims: values.claims,
    sensitive: values.sensitive,
  } satisfies UpdateUserAttribute & Omit<Fields, 'name' | 'type'>;
}

export const bodyOf = (values: FormValues) =>
  ({
    ...changeOf(values),
    name: values.name.trim(),
    type: attributeTypes.find((one) => one === values.type) ?? 'string',
  }) satisfies CreateUserAttribute & Fields;
