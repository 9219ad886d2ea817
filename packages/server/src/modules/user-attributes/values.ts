// What the values of attributes are: whether one suits its attribute, how a patch changes them, and how they are compared.
// It must not read the database.
import { createHash } from 'node:crypto';
import type { FieldError } from '@castellan/contract/envelope';
import {
  type AttributeValues,
  MAX_VALUES_BYTES,
  type UserAttribute,
} from '@castellan/contract/user-attributes';
import { inUnits } from '../../platform/http/bodies/body-limits.ts';
import { cleanText } from '../../platform/security/text.ts';
import { isObject } from '../../platform/unknown-values.ts';

/** What a value is judged by. */
export type Attribute = Pick<
  UserAttribute,
  | 'id'
  | 'name'
  | 'type'
  | 'values'
  | 'max_length'
  | 'unique'
  | 'searchable'
  | 'self'
  | 'required'
  | 'sensitive'
>;

type Judged = { ok: true; value: unknown } | { ok: false; code: string; message: string };

const accepted = (value: unknown): Judged => ({ ok: true, value });
const refused = (code: string, message: string): Judged => ({ ok: false, code, message });
const wrongType = (type: string): Judged => refused('wrong_type', `must be ${type}`);

/** As long as other addresses (contract: redirect URIs and identifiers). */
const MAX_URL_LENGTH = 2_000;

function judgeText(value: unknown, max: number): Judged {
  if (typeof value !== 'string') return wrongType('a string');
  const result = cleanText(value, { min: 1, max });
  return result.ok ? accepted(result.value) : refused(result.code, result.message);
}

/** RFC 3339, 5.6: `full-date`, a day that there is. */
function judgeDate(value: unknown): Judged {
  if (typeof value !== 'string') return wrongType('a string');
  const day = /^\d{4}-\d{2}-\d{2}$/.test(value) ? new Date(`${value}T00:00:00Z`) : null;
  const isDay =
    day !== null && !Number.isNaN(day.getTime()) && day.toISOString().slice(0, value.length) === value;
  return isDay ? accepted(value) : refused('invalid_date', 'must be a day such as 2026-01-31');
}

function judgeUrl(value: unknown): Judged {
  const text = judgeText(value, MAX_URL_LENGTH);
  if (!text.ok) return text;
  const url = URL.parse(String(text.value));
  return url && /^https?:$/.test(url.protocol) && !/\s/u.test(String(text.value))
    ? text
    : refused('invalid_url', 'must be an http or https URL');
}

/** Returns whether every number in a JSON value is one: `1e400` parses as Infinity, which JSON cannot write. */
const isWritable = (value: unknown): boolean =>
  typeof value === 'number'
    ? Number.isFinite(value)
    : !isObject(value) || Object.values(value).every(isWritable);

/** Returns the value as it is stored, or why it does not suit the attribute. */
function judge({ type, values, max_length }: Attribute, value: unknown): Judged {
  switch (type) {
    case 'string':
      return judgeText(value, max_length ?? 0);
    case 'number':
      return typeof value !== 'number'
        ? wrongType('a number')
        : Number.isFinite(value)
          ? accepted(value)
          : refused('out_of_range', 'is too large');
    case 'integer':
      return typeof value !== 'number' || !(Number.isInteger(value) || !Number.isFinite(value))
        ? wrongType('an integer')
        : Number.isSafeInteger(value)
          ? accepted(value)
          : refused('out_of_range', 'must lie between -(2^53 - 1) and 2^53 - 1');
    case 'boolean':
      return typeof value === 'boolean' ? accepted(value) : wrongType('true or false');
    case 'date':
      return judgeDate(value);
    case 'url':
      return judgeUrl(value);
    case 'enum':
      return typeof value === 'string' && values?.includes(value.normalize('NFC'))
        ? accepted(value.normalize('NFC'))
        : refused('unknown_value', `must be one of ${(values ?? []).join(', ')}`);
    default:
      return isWritable(value) ? accepted(value) : refused('out_of_range', 'has a number that is too large');
  }
}

/** Returns the target with the patch applied (RFC 7396, 2). It is recursive: the parser limits how deep a patch is. */
function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch) || Array.isArray(patch)) return patch;
  const merged = new Map(isObject(target) && !Array.isArray(target) ? Object.entries(target) : []);
  for (const [name, value] of Object.entries(patch))
    if (value === null) merged.delete(name);
    else merged.set(name, mergePatch(merged.get(name), value));
  return Object.fromEntries(merged);
}

/** Who writes. Users write only those attributes that they may. */
export type Writer = 'administrator' | 'self';

/** Returns the attributes that exist for somebody who reads or writes. */
export const visibleTo = <T extends Pick<Attribute, 'self'>>(writer: Writer, attributes: readonly T[]): T[] =>
  attributes.filter(({ self }) => writer === 'administrator' || self !== 'none');

export type Patched = { values: AttributeValues; errors: FieldError[] };

/**
 * Returns the values after a patch, or what is wrong with it, a field for each wrong value. `at`: returns the path of an attribute in
 * the request.
 */
export function patchValues(
  attributes: readonly Attribute[],
  before: AttributeValues,
  patch: AttributeValues,
  { writer, at }: { writer: Writer; at: (name: string) => string },
): Patched {
  const known = new Map(visibleTo(writer, attributes).map((one) => [one.name, one]));
  const after = new Map(Object.entries(before));
  const errors: FieldError[] = [];
  const refuse = (name: string, code: string, message: string) =>
    errors.push({ field: at(name), code, message });
  for (const [name, given] of Object.entries(patch)) {
    const attribute = known.get(name);
    if (!attribute) refuse(name, 'unknown_attribute', 'is not a declared attribute');
    else if (writer === 'self' && attribute.self !== 'write')
      refuse(name, 'not_allowed', 'can be changed only by an administrator');
    else if (given === null) after.delete(name);
    else {
      const judged = judge(attribute, attribute.type === 'json' ? mergePatch(after.get(name), given) : given);
      if (judged.ok) after.set(name, judged.value);
      else refuse(name, judged.code, judged.message);
    }
  }
  if (writer === 'administrator')
    for (const { name, required } of attributes)
      if (required && !after.has(name) && !errors.some(({ field }) => field === at(name)))
        refuse(name, 'required', 'is required');
  const values = Object.fromEntries(after);
  if (Buffer.byteLength(JSON.stringify(values)) > MAX_VALUES_BYTES)
    errors.push({
      field: at(''),
      code: 'too_long',
      message: `must take at most ${inUnits(MAX_VALUES_BYTES)} as JSON`,
    });
  return { values, errors };
}

/** Returns what equal values share, and no others: SHA-256 of a text, in lower case for a string. Empty for JSON, which is not compared. */
export function keyOf({ type }: Pick<Attribute, 'type'>, value: unknown): Buffer {
  if (type === 'json') return Buffer.alloc(0);
  const text = type === 'string' ? String(value).toLowerCase().normalize('NFC') : String(value);
  return createHash('sha256').update(text).digest();
}

/** Returns the value that a condition of a list asks for; undefined for a text that no value of the attribute has. */
export function valueFromText(attribute: Attribute, text: string): unknown {
  const { type } = attribute;
  const isNumber = type === 'number' || type === 'integer';
  if (isNumber && !/^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text)) return undefined;
  if (type === 'boolean' && text !== 'true' && text !== 'false') return undefined;
  const judged = judge(attribute, isNumber ? Number(text) : type === 'boolean' ? text === 'true' : text);
  return judged.ok ? judged.value : undefined;
}
