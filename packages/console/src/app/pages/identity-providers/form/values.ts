// The fields of an identity provider as texts and flags, which a form holds, and back.
import type {
  CreateIdentityProvider,
  IdentityProvider,
  IdentityRoleMapping,
  UpdateIdentityProvider,
} from '@castellan/sdk';
import type { ProviderField } from '../../../data/form-fields.ts';
import { fieldNames, hasField, inputs, type ProviderKind } from './fields.ts';

export type FormValues = Record<ProviderField, string | boolean>;

/** The issuer of Microsoft for the people of every organization. */
const MICROSOFT_ISSUER = 'https://login.microsoftonline.com/organizations/v2.0';

const secrets: ReadonlySet<ProviderField> = new Set(['client_secret', 'private_key']);

/** What a form begins with: the defaults of the service. */
export const emptyValues = (kind: ProviderKind): FormValues => ({
  name: '',
  is_shown: true,
  issuer: kind === 'microsoft' ? MICROSOFT_ISSUER : '',
  tenants: '',
  client_id: '',
  client_auth: 'client_secret_basic',
  client_secret: '',
  team_id: '',
  key_id: '',
  private_key: '',
  scopes: 'openid profile email',
  extra_parameters: '',
  domains: '',
  email_trust: 'none',
  sign_up: 'none',
  connect: 'confirm',
  required_for_domains: false,
  allow_superusers: false,
  role_ids: '',
  role_mapping: '',
  mapping: 'creation',
  sync_names: false,
  acr_mapping: '',
  logout: 'here',
});

const textOf = (name: ProviderField, value: unknown): string | boolean => {
  switch (inputs[name]) {
    case 'flag':
      return value === true;
    case 'words':
    case 'roles':
      return Array.isArray(value) ? value.join(' ') : '';
    case 'lines':
      // The levels have one value each, so that their names say it all.
      return (Array.isArray(value) ? value : Object.keys(Object(value))).join('\n');
    case 'pairs':
      return Object.entries(Object(value))
        .map(([key, one]) => `${key}=${one}`)
        .join('\n');
    case 'mapping':
      return rulesText(Array.isArray(value) ? value : []);
    default:
      return value === null || value === undefined ? '' : String(value);
  }
};

/** Returns what a form shows of the record. Secrets are never known. */
export const valuesOf = (provider: IdentityProvider): FormValues =>
  // It has a value for every name.
  Object.fromEntries(
    fieldNames.map((name) => [name, secrets.has(name) ? '' : textOf(name, Reflect.get(provider, name))]),
  ) as FormValues;

const wordsIn = (text: string, separator: RegExp): string[] =>
  text
    .split(separator)
    .map((one) => one.trim())
    .filter((one) => one !== '');

export const linesIn = (value: string | boolean): string[] => wordsIn(String(value), /\n/);
export const idsIn = (value: string | boolean): string[] => wordsIn(String(value), / /);

export type Rule = IdentityRoleMapping;

/** Returns the rules that a form holds, also those that are not complete. */
export const rulesIn = (value: string | boolean): Rule[] => (value === '' ? [] : JSON.parse(String(value)));

/** Members in one order, so that equal rules are equal texts. */
export const rulesText = (rules: readonly Rule[]): string =>
  rules.length === 0
    ? ''
    : JSON.stringify(rules.map(({ claim, equals, role_id }) => ({ claim, equals, role_id })));

function pairsIn(text: string): Record<string, string> {
  return Object.fromEntries(
    linesIn(text).map((line) => {
      const at = line.indexOf('=');
      return at === -1 ? [line, ''] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    }),
  );
}

/** Says why a text cannot be sent; null if it can. The service judges what it means. */
export function faultOf(name: ProviderField, value: string | boolean): 'pair' | 'rule' | null {
  if (inputs[name] === 'pairs' && linesIn(value).some((line) => !/^[^=]+=/.test(line))) return 'pair';
  const isWhole = ({ claim, equals, role_id }: Rule): boolean =>
    claim.trim() !== '' && equals.trim() !== '' && role_id !== '';
  return inputs[name] === 'mapping' && !rulesIn(value).every(isWhole) ? 'rule' : null;
}

function sentValue(name: ProviderField, value: string | boolean): unknown {
  if (typeof value === 'boolean') return value;
  switch (inputs[name]) {
    case 'lines':
      return name === 'acr_mapping'
        ? Object.fromEntries(linesIn(value).map((one) => [one, 'aal2']))
        : linesIn(value);
    case 'words':
    case 'roles':
      return idsIn(value);
    case 'pairs':
      return pairsIn(value);
    case 'mapping':
      return rulesIn(value).map(({ claim, equals, role_id }) => ({
        claim: claim.trim(),
        equals: equals.trim(),
        role_id,
      }));
    default:
      // Spaces may belong to a secret.
      return secrets.has(name) ? value : value.trim();
  }
}

/** Returns the names of the fields that differ. */
export const changedNames = (before: FormValues, now: FormValues): ProviderField[] =>
  fieldNames.filter((name) => before[name] !== now[name]);

/** Returns the body that changes `before` to `now`: only the fields that differ. */
export const bodyOf = (before: FormValues, now: FormValues): UpdateIdentityProvider =>
  Object.fromEntries(changedNames(before, now).map((name) => [name, sentValue(name, now[name])]));

/** Returns the body that creates a provider: what its kind has, and differs from the default of the service. */
export function newBodyOf(kind: ProviderKind, slug: string, values: FormValues): CreateIdentityProvider {
  const { client_id: _, name: __, ...defaults } = emptyValues(kind);
  const given = fieldNames.filter(
    (name) => hasField(kind, name) && values[name] !== Reflect.get({ ...defaults, issuer: '' }, name),
  );
  return {
    ...Object.fromEntries(given.map((name) => [name, sentValue(name, values[name])])),
    kind,
    slug: slug.trim(),
    name: String(values.name).trim(),
    client_id: String(values.client_id).trim(),
  };
}
