// What a declared attribute may be: its texts, and which options its type has.
// It must not look at values of users.
import type { FieldError } from '@castellan/contract/envelope';
import {
  type CreateUserAttributeBody,
  DEFAULT_STRING_LENGTH,
  MAX_ENUM_VALUE_LENGTH,
  type UpdateUserAttributeBody,
  type UserAttribute,
} from '@castellan/contract/user-attributes';
import { AppError } from '../../platform/errors.ts';
import { cleanDescription, cleanName } from '../../platform/security/record-text.ts';
import { cleanText } from '../../platform/security/text.ts';
import { isReservedAttribute } from './claim-names.ts';

/** What an administrator decides about an attribute. */
export type Definition = Omit<UserAttribute, 'id' | 'created_at' | 'updated_at' | 'created_by_id'>;

const MAX_LABEL_LENGTH = 100;

/** Returns a refusal (422) that names each field. */
export const invalid = (errors: FieldError[]): AppError =>
  new AppError('validation_failed', {
    detail: `${errors.map(({ field, message }) => `${field} ${message}`).join('; ')}.`,
    errors,
  });

const refusal = (field: string, code: string, message: string): AppError =>
  invalid([{ field, code, message }]);

/** Returns the definition of a new attribute. Throws `validation_failed` (422), which names the field. */
export function newDefinition(body: CreateUserAttributeBody): Definition {
  const { name, type } = body;
  if (isReservedAttribute(name))
    throw refusal('name', 'reserved_name', 'has another meaning in tokens already; choose another name');
  const defaults: Definition = {
    name,
    type,
    label: '',
    description: '',
    values: null,
    max_length: type === 'string' ? DEFAULT_STRING_LENGTH : null,
    unique: false,
    searchable: false,
    self: 'none',
    required: false,
    claims: false,
    sensitive: false,
  };
  return changedDefinition(defaults, body);
}

/** Returns the definition with the fields of the body in place. Throws `validation_failed` (422), which names the field. */
export function changedDefinition(before: Definition, body: UpdateUserAttributeBody): Definition {
  for (const field of ['name', 'type'] as const)
    if (body[field] !== undefined && body[field] !== before[field])
      throw refusal(field, 'never_changes', 'cannot be changed; declare another attribute');
  const { label, description, values, max_length } = body;
  const after: Definition = {
    ...before,
    unique: body.unique ?? before.unique,
    searchable: body.searchable ?? before.searchable,
    self: body.self ?? before.self,
    required: body.required ?? before.required,
    claims: body.claims ?? before.claims,
    sensitive: body.sensitive ?? before.sensitive,
    ...(label === undefined ? {} : { label: cleanName(label, MAX_LABEL_LENGTH, 'label') }),
    ...(description === undefined ? {} : { description: cleanDescription(description) }),
    ...(values === undefined ? {} : { values: values && cleanEnum(values) }),
    ...(max_length === undefined ? {} : { max_length }),
  };
  requireOptionsOfType(after);
  return after;
}

function cleanEnum(values: readonly string[]): string[] {
  const cleaned = values.map((value, index) => {
    const result = cleanText(value, { min: 1, max: MAX_ENUM_VALUE_LENGTH });
    if (!result.ok) throw refusal(`values.${index}`, result.code, result.message);
    return result.value;
  });
  const twice = cleaned.findIndex((value, index) => cleaned.indexOf(value) < index);
  if (twice >= 0) throw refusal(`values.${twice}`, 'duplicate', 'must be another text than the ones before');
  return cleaned;
}

function requireOptionsOfType({ type, values, max_length, unique, searchable }: Definition): void {
  const isEnum = type === 'enum';
  if (isEnum && (values === null || values.length === 0))
    throw refusal('values', 'required', 'must have at least one text for an enum');
  if (!isEnum && values !== null) throw refusal('values', 'not_allowed', 'belongs to an enum');
  if (type === 'string' && max_length === null)
    throw refusal('max_length', 'required', 'must be a number for a string');
  if (type !== 'string' && max_length !== null)
    throw refusal('max_length', 'not_allowed', 'belongs to a string');
  if (type !== 'json') return;
  for (const [field, isSet] of Object.entries({ unique, searchable }))
    if (isSet) throw refusal(field, 'not_allowed', 'cannot be true for a json, which is not compared');
}
