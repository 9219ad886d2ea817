// The fields of an application as texts and flags, which a form holds, and back.
import type { Application, UpdateApplication } from '@castellan/sdk';
import type { ApplicationField } from '../../../data/form-fields.ts';
import { fieldNames, kinds, options } from './fields.ts';

export type FormValues = Record<ApplicationField, string | boolean>;

/** Fields of one text that are null when it is empty. */
const nullable: ReadonlySet<ApplicationField> = new Set([
  'home_url',
  'policy_url',
  'terms_url',
  'jwks_url',
  'backchannel_logout_url',
  'sector',
  'default_max_age',
]);

const textOf = (name: ApplicationField, value: unknown): string | boolean => {
  switch (kinds[name]) {
    case 'flag':
      return value === true;
    case 'lines':
      return Array.isArray(value) ? value.join('\n') : '';
    case 'choices':
      return (options[name] ?? []).filter((one) => Array.isArray(value) && value.includes(one)).join(' ');
    case 'json':
      return value === null || (Array.isArray(value) && value.length === 0)
        ? ''
        : JSON.stringify(value, null, 2);
    default:
      return value === null || value === undefined ? '' : String(value);
  }
};

/** Returns what a form shows of the record. */
export const valuesOf = (application: Application): FormValues =>
  // It has a value for every name.
  Object.fromEntries(fieldNames.map((name) => [name, textOf(name, application[name])])) as FormValues;

const wordsIn = (text: string, separator: RegExp): string[] =>
  text
    .split(separator)
    .map((one) => one.trim())
    .filter((one) => one !== '');

/** Says why a text cannot be sent; null if it can. The service judges what it means. */
export function faultOf(name: ApplicationField, value: string | boolean): 'number' | 'json' | null {
  const text = String(value).trim();
  if (kinds[name] === 'number' && !/^\d{1,10}$/.test(text) && !(text === '' && nullable.has(name)))
    return 'number';
  if (kinds[name] === 'json' && text !== '') {
    try {
      JSON.parse(text);
    } catch {
      return 'json';
    }
  }
  return null;
}

function sentValue(name: ApplicationField, value: string | boolean): unknown {
  if (typeof value === 'boolean') return value;
  const text = value.trim();
  if (text === '' && nullable.has(name)) return null;
  switch (kinds[name]) {
    case 'lines':
      return wordsIn(value, /\n/);
    case 'choices':
      return wordsIn(value, / /);
    case 'number':
      return Number(text);
    case 'json':
      return text === '' ? (name === 'jwks' ? null : []) : JSON.parse(text);
    default:
      return name === 'description' ? value : text;
  }
}

/** Returns the names of the fields that differ. */
export const changedNames = (before: FormValues, now: FormValues): ApplicationField[] =>
  fieldNames.filter((name) => before[name] !== now[name]);

/** Returns the body that changes `before` to `now`: only the fields that differ, as others may need more permissions. */
export const bodyOf = (before: FormValues, now: FormValues): UpdateApplication =>
  Object.fromEntries(changedNames(before, now).map((name) => [name, sentValue(name, now[name])]));
