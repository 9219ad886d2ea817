// The fields of an identity provider: what a new one has, what a body may make of them, and which go together.
// It must not read or write the database.
import type {
  IdentityProvider,
  ProviderKind,
  UpdateIdentityProviderBody,
} from '@castellan/contract/identity-providers';
import { canonicalDomain } from '../../platform/security/email.ts';
import { cleanName } from '../../platform/security/record-text.ts';
import { issuerOf, tenantsOf } from './issuers.ts';
import { refusal } from './refusal.ts';
import type { GivenSecrets } from './secret.ts';

/** Maximum characters of a name. The database repeats it as a CHECK constraint. */
const MAX_NAME_LENGTH = 100;

/** Everything that a change of the record may change, but the secret. */
export type ProviderFields = Omit<
  IdentityProvider,
  | 'id'
  | 'slug'
  | 'kind'
  | 'has_secret'
  | 'redirect_uri'
  | 'post_logout_redirect_uri'
  | 'backchannel_logout_uri'
  | 'created_at'
  | 'updated_at'
  | 'created_by_id'
>;
export type GivenFields = Omit<UpdateIdentityProviderBody, 'slug' | 'kind' | keyof GivenSecrets>;
type Rules = { kind: ProviderKind; publicUrl: string };

const scopesOf: Readonly<Record<ProviderKind, readonly string[]>> = {
  oidc: ['openid', 'profile', 'email'],
  google: ['openid', 'profile', 'email'],
  microsoft: ['openid', 'profile', 'email'],
  github: ['read:user', 'user:email'],
  apple: ['openid', 'name', 'email'],
};

const authOf: Readonly<Record<ProviderKind, ProviderFields['client_auth']>> = {
  oidc: 'client_secret_basic',
  google: 'client_secret_basic',
  microsoft: 'client_secret_basic',
  github: 'client_secret_post',
  apple: 'private_key',
};

/** Returns what a new provider has where its body says nothing. Its position comes from the others. */
export const defaultsOf = (kind: ProviderKind, position: number): ProviderFields => ({
  name: '',
  issuer: '',
  client_id: '',
  client_auth: authOf[kind],
  team_id: null,
  key_id: null,
  scopes: [...scopesOf[kind]],
  is_active: true,
  is_shown: true,
  position,
  sign_up: 'none',
  domains: [],
  required_for_domains: false,
  tenants: [],
  email_trust: 'none',
  connect: 'confirm',
  allow_superusers: false,
  role_ids: [],
  role_mapping: [],
  mapping: 'creation',
  sync_names: false,
  acr_mapping: {},
  logout: 'here',
  extra_parameters: {},
});

/** Taken as they are: their schema says everything. */
const plainFields = [
  'client_auth',
  'is_active',
  'is_shown',
  'position',
  'sign_up',
  'required_for_domains',
  'email_trust',
  'connect',
  'allow_superusers',
  'mapping',
  'sync_names',
  'acr_mapping',
  'logout',
] as const satisfies (keyof ProviderFields)[];

/** Returns the fields with those of the body in place. Throws `validation_failed` (422), which names the field. */
export function changedFields(before: ProviderFields, given: GivenFields, rules: Rules): ProviderFields {
  const plain = plainFields.filter((name) => given[name] !== undefined).map((name) => [name, given[name]]);
  const issuer = issuerOf(given.issuer ?? (before.issuer === '' ? undefined : before.issuer), rules);
  const fields: ProviderFields = {
    ...before,
    ...Object.fromEntries(plain),
    ...cleanTexts(given),
    ...cleanLists(given),
    issuer,
    // The tenants of another issuer are not the ones that were meant.
    tenants: tenantsOf(given.tenants ?? (issuer === before.issuer ? before.tenants : []), {
      kind: rules.kind,
      issuer,
    }),
  };
  requireAuthentication(fields, rules.kind);
  requireDomains(fields);
  if (rules.kind !== 'github' && !fields.scopes.includes('openid'))
    throw refusal('scopes', 'missing', 'must contain openid');
  return fields;
}

function cleanTexts({ name, client_id, team_id, key_id }: GivenFields): Partial<ProviderFields> {
  if (client_id !== undefined && !/^[\x21-\x7e]+$/.test(client_id))
    throw refusal('client_id', 'unsafe_character', 'must consist of visible ASCII characters without spaces');
  for (const [field, text] of Object.entries({ team_id, key_id }))
    if (typeof text === 'string' && !/^[A-Za-z0-9]{1,50}$/.test(text))
      throw refusal(field, 'unsafe_character', 'must consist of letters and digits, such as A1B2C3D4E5');
  return {
    ...(name === undefined ? {} : { name: cleanName(name, MAX_NAME_LENGTH) }),
    ...(client_id === undefined ? {} : { client_id }),
    ...(team_id === undefined ? {} : { team_id }),
    ...(key_id === undefined ? {} : { key_id }),
  };
}

function cleanLists(given: GivenFields): Partial<ProviderFields> {
  const { scopes, domains, role_ids: roleIds, role_mapping: mapping, extra_parameters: extra } = given;
  return {
    ...(scopes === undefined ? {} : { scopes: cleanScopes(scopes) }),
    ...(domains === undefined ? {} : { domains: cleanDomains(domains) }),
    ...(roleIds === undefined
      ? {}
      : { role_ids: [...new Set(roleIds.map((id) => id.toLowerCase()))].sort() }),
    ...(mapping === undefined
      ? {}
      : { role_mapping: mapping.map((one) => ({ ...one, role_id: one.role_id.toLowerCase() })) }),
    ...(extra === undefined ? {} : { extra_parameters: cleanParameters(extra) }),
  };
}

/** RFC 6749, 3.3. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

function cleanScopes(given: readonly string[]): string[] {
  for (const [index, scope] of given.entries())
    if (!SCOPE.test(scope))
      throw refusal(`scopes.${index}`, 'invalid_scope', 'must be one scope, without spaces and quotes');
  return [...new Set(given)];
}

/** Returns the domains as canonical emails have them. */
function cleanDomains(given: readonly string[]): string[] {
  const domains = given.map((text, index) => {
    const domain = canonicalDomain(text);
    if (domain !== null) return domain;
    throw refusal(
      `domains.${index}`,
      'invalid_domain',
      'must be the domain of an email, such as example.com, without @ and *',
    );
  });
  return [...new Set(domains)];
}

/** What the exchange is made of (RFC 6749, RFC 7636, RFC 9101, OpenID Connect Core), and what identifies Castellan. */
const ownParameters: ReadonlySet<string> = new Set([
  'acr_values',
  'assertion',
  'claims',
  'client_assertion',
  'client_assertion_type',
  'client_id',
  'client_secret',
  'code',
  'code_verifier',
  'dpop_jkt',
  'error',
  'grant_type',
  'id_token_hint',
  'iss',
  'max_age',
  'nonce',
  'redirect_uri',
  'refresh_token',
  'request',
  'request_uri',
  'response_mode',
  'response_type',
  'scope',
  'state',
]);

function cleanParameters(given: Readonly<Record<string, string>>): Record<string, string> {
  for (const [name, value] of Object.entries(given)) {
    const field = `extra_parameters.${name}`;
    const lower = name.toLowerCase();
    if (!/^[A-Za-z0-9_.-]{1,50}$/.test(name))
      throw refusal('extra_parameters', 'unsafe_name', 'must have names of letters, digits, _, . and -');
    if (ownParameters.has(lower) || lower.startsWith('code_challenge'))
      throw refusal(field, 'reserved', 'is a parameter that Castellan sets itself; remove it');
    if (!/^[\x20-\x7e]*$/.test(value))
      throw refusal(field, 'unsafe_character', 'must consist of visible ASCII characters and spaces');
  }
  return { ...given };
}

function requireAuthentication(fields: ProviderFields, kind: ProviderKind): void {
  const { client_auth, team_id, key_id } = fields;
  if ((client_auth === 'private_key') !== (kind === 'apple'))
    throw refusal(
      'client_auth',
      'not_allowed',
      kind === 'apple' ? 'must be private_key for Apple' : 'must not be private_key, which is for Apple',
    );
  if (client_auth === 'none' && kind !== 'oidc')
    throw refusal(
      'client_auth',
      'not_allowed',
      'must not be none, because this kind of provider needs a secret',
    );
  for (const [field, value] of Object.entries({ team_id, key_id })) {
    if (kind === 'apple' && value === null) throw refusal(field, 'missing', 'is needed for Apple');
    if (kind !== 'apple' && value !== null)
      throw refusal(field, 'not_allowed', 'must be null; it is for Apple');
  }
}

function requireDomains({ domains, email_trust, sign_up, required_for_domains }: ProviderFields): void {
  if (domains.length > 0) return;
  const why = 'needs at least one domain in domains';
  if (email_trust === 'domains') throw refusal('email_trust', 'missing', why);
  if (sign_up === 'domains') throw refusal('sign_up', 'missing', why);
  if (required_for_domains) throw refusal('required_for_domains', 'missing', why);
}
