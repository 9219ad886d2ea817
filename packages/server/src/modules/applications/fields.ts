// The fields of an application: what a new one has, what a body may make of them, and which go together.
// It must not read or write the database.
import type { Application, ApplicationType, UpdateApplicationBody } from '@castellan/contract/applications';
import { originOf } from '../../platform/http/origins.ts';
import { cleanDescription, cleanName } from '../../platform/security/record-text.ts';
import {
  hostsOf,
  requireHost,
  requireLogoutAddress,
  requirePageAddress,
  requireRedirectAddress,
} from './addresses.ts';
import { cleanMappings } from './claim-mappings.ts';
import { cleanKeySet } from './key-set.ts';
import { refusal } from './refusal.ts';

/** Maximum characters of a name. The database repeats it as a CHECK constraint. */
export const MAX_NAME_LENGTH = 250;

/** Everything that a change of the record may change. */
export type ApplicationFields = Omit<
  Application,
  'id' | 'client_id' | 'type' | 'created_at' | 'updated_at' | 'created_by_id'
>;
export type GivenFields = Omit<UpdateApplicationBody, 'client_id' | 'type'>;
type Rules = { type: ApplicationType; publicUrl: string };

export const defaultsOf = (type: ApplicationType, name: string): ApplicationFields => ({
  name,
  description: '',
  home_url: null,
  policy_url: null,
  terms_url: null,
  is_active: true,
  auth_method: type === 'web' ? 'secret' : 'none',
  jwks: null,
  jwks_url: null,
  grant_types: [type === 'device' ? 'device_code' : 'authorization_code', 'refresh_token'],
  redirect_uris: [],
  post_logout_redirect_uris: [],
  allowed_origins: [],
  backchannel_logout_url: null,
  first_party: true,
  required_permission_id: null,
  scopes: ['openid', 'profile', 'email', 'roles', 'groups'],
  claims: [],
  resources: [],
  subject_type: 'public',
  sector: null,
  id_token_signing_alg: 'RS256',
  id_token_claims: 'all',
  require_pkce: true,
  require_par: false,
  require_dpop: false,
  access_token_seconds: 300,
  id_token_seconds: 300,
  refresh_idle_days: 7,
  grant_days: 30,
  default_max_age: null,
});

/** Taken as they are: their schema says everything. */
const plainFields = [
  'is_active',
  'auth_method',
  'first_party',
  'subject_type',
  'sector',
  'id_token_signing_alg',
  'id_token_claims',
  'require_pkce',
  'require_par',
  'require_dpop',
  'access_token_seconds',
  'id_token_seconds',
  'refresh_idle_days',
  'grant_days',
  'default_max_age',
] as const satisfies (keyof ApplicationFields)[];
const pageFields = ['home_url', 'policy_url', 'terms_url', 'jwks_url'] as const;
const listFields = ['grant_types', 'scopes', 'redirect_uris', 'post_logout_redirect_uris'] as const;

type Named<N extends keyof ApplicationFields> = Partial<Pick<ApplicationFields, N>>;
function picked<N extends keyof GivenFields & keyof ApplicationFields>(
  given: GivenFields,
  names: readonly N[],
): Named<N> {
  const found = names.filter((name) => given[name] !== undefined).map((name) => [name, given[name]]);
  return Object.fromEntries(found);
}

/** Returns the fields with those of the body in place. Throws `validation_failed` (422), which names the field. */
export function changedFields(
  before: ApplicationFields,
  given: GivenFields,
  rules: Rules,
): ApplicationFields {
  const fields: ApplicationFields = {
    ...before,
    ...cleanTexts(given),
    ...picked(given, plainFields),
    ...cleanAddresses(given, rules),
    ...(given.jwks === undefined ? {} : { jwks: given.jwks && cleanKeySet(given.jwks, 'jwks') }),
    ...(given.claims === undefined ? {} : { claims: cleanMappings(given.claims, 'claims') }),
    ...(given.required_permission_id === undefined
      ? {}
      : { required_permission_id: given.required_permission_id?.toLowerCase() ?? null }),
  };
  requireAuthentication(fields);
  requireFit(fields, rules.type);
  return { ...fields, sector: sectorOf(fields) };
}

const cleanTexts = ({ name, description }: GivenFields): Named<'name' | 'description'> => ({
  ...(name === undefined ? {} : { name: cleanName(name, MAX_NAME_LENGTH) }),
  ...(description === undefined ? {} : { description: cleanDescription(description) }),
});

function cleanAddresses(given: GivenFields, { type, publicUrl }: Rules): Partial<ApplicationFields> {
  const isPlain = publicUrl.startsWith('http:');
  for (const name of pageFields) {
    const address = given[name];
    if (address != null) requirePageAddress(address, name);
  }
  for (const name of ['redirect_uris', 'post_logout_redirect_uris'] as const)
    for (const [index, address] of given[name]?.entries() ?? [])
      requireRedirectAddress(address, `${name}.${index}`, { type, isPlain });
  if (given.backchannel_logout_url != null)
    requireLogoutAddress(given.backchannel_logout_url, 'backchannel_logout_url');
  const lists = Object.entries(picked(given, listFields)).map(([name, list]) => [name, [...new Set(list)]]);
  return {
    ...picked(given, [...pageFields, 'backchannel_logout_url']),
    ...Object.fromEntries(lists),
    ...(given.allowed_origins === undefined ? {} : { allowed_origins: cleanOrigins(given.allowed_origins) }),
  };
}

const cleanOrigins = (given: readonly string[]): string[] => [
  ...new Set(
    given.map((text, index) => {
      const origin = originOf(text);
      if (origin !== undefined) return origin;
      throw refusal(
        `allowed_origins.${index}`,
        'invalid_origin',
        'must be scheme and host, such as https://app.example.com',
      );
    }),
  ),
];

function requireAuthentication({ auth_method, jwks, jwks_url }: ApplicationFields): void {
  if (jwks !== null && jwks_url !== null)
    throw refusal('jwks_url', 'ambiguous', 'cannot be combined with jwks; set one of them to null');
  if (auth_method === 'private_key_jwt' && jwks === null && jwks_url === null)
    throw refusal('jwks', 'missing', 'or jwks_url is needed for private_key_jwt; send one of them');
}

function requireFit(
  { require_pkce, auth_method, redirect_uris }: ApplicationFields,
  type: ApplicationType,
): void {
  if (!require_pkce && type !== 'web')
    throw refusal('require_pkce', 'not_allowed', `must be true for an application of type ${type}`);
  if (!require_pkce && auth_method === 'none')
    throw refusal(
      'require_pkce',
      'not_allowed',
      'must be true for an application that does not authenticate itself',
    );
  if (type === 'device' && redirect_uris.length > 0)
    throw refusal('redirect_uris', 'not_allowed', 'must be empty for a device, which nobody is sent back to');
}

/** The sector stays what it is when the addresses change, because another one makes everybody a stranger. */
function sectorOf({ sector, subject_type, redirect_uris }: ApplicationFields): string | null {
  if (sector !== null) requireHost(sector, 'sector');
  if (sector !== null || subject_type === 'public') return sector;
  const [host, ...others] = hostsOf(redirect_uris);
  if (host !== undefined && others.length === 0) return host;
  throw refusal(
    'sector',
    'missing',
    'must name a host, because the redirect addresses do not have exactly one; write such as example.com',
  );
}
