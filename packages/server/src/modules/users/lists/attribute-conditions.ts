// Reads the conditions on attributes in the query of a list of users: `attribute.cost_center=4711`.
// It must not let a caller find users by values that they may not read.
import type { FieldError } from '@castellan/contract/envelope';
import { MAX_ATTRIBUTE_FILTERS } from '@castellan/contract/user-attributes';
import type { Caller } from '../../authz/caller.ts';
import { requireMayUse } from '../../authz/requirements/call.ts';
import { findAttributes, invalid, keyOf, valueFromText } from '../../user-attributes/service.ts';
import type { UserDeps } from '../service.ts';
import type { AttributeCondition } from './filters.ts';

const PREFIX = 'attribute.';

/**
 * Returns the conditions; undefined if there are none. Throws `permission_denied` (403) without `users.read`, and
 * `validation_failed` (422) for an attribute that is not searchable, a text that is no value of it, and too many.
 */
export async function readConditions(
  { db }: UserDeps,
  caller: Caller,
  query: object,
): Promise<AttributeCondition[] | undefined> {
  const asked = Object.entries(query).flatMap(([field, texts]) =>
    field.startsWith(PREFIX)
      ? [texts].flat().map((text) => ({ field: `query.${field}`, text: String(text) }))
      : [],
  );
  const [first] = asked;
  if (!first) return undefined;
  requireMayUse(caller, 'users.read');
  if (asked.length > MAX_ATTRIBUTE_FILTERS)
    throw invalid([
      {
        field: first.field,
        code: 'too_many',
        message: `is one of more than ${MAX_ATTRIBUTE_FILTERS} attributes`,
      },
    ]);
  const attributes = new Map((await findAttributes(db)).map((one) => [one.name, one]));
  const errors: FieldError[] = [];
  const conditions = asked.flatMap(({ field, text }) => {
    const attribute = attributes.get(field.slice(`query.${PREFIX}`.length));
    if (!attribute?.searchable) {
      errors.push({ field, code: 'unknown_attribute', message: 'is not a searchable attribute' });
      return [];
    }
    const value = valueFromText(attribute, text);
    if (value === undefined) {
      errors.push({ field, code: 'invalid', message: `is not a value of the type ${attribute.type}` });
      return [];
    }
    return [{ attributeId: attribute.id, key: keyOf(attribute, value), value: JSON.stringify(value) }];
  });
  if (errors.length > 0) throw invalid(errors);
  return conditions;
}
