// The fields of an application as a form has them: their order, and how each is typed.
// It must not have a text: the catalogues of messages do.
import type { Application } from '@castellan/sdk';
import type { ApplicationField } from '../../../data/form-fields.ts';

/** `lines`: a text a line. `json`: a value that has no form of its own. `choices`: any number of the options. */
export type Kind = 'text' | 'area' | 'lines' | 'flag' | 'number' | 'json' | 'choice' | 'choices';

export const kinds: Readonly<Record<ApplicationField, Kind>> = {
  name: 'text',
  description: 'area',
  is_active: 'flag',
  home_url: 'text',
  policy_url: 'text',
  terms_url: 'text',
  redirect_uris: 'lines',
  post_logout_redirect_uris: 'lines',
  allowed_origins: 'lines',
  backchannel_logout_url: 'text',
  auth_method: 'choice',
  jwks: 'json',
  jwks_url: 'text',
  grant_types: 'choices',
  require_pkce: 'flag',
  require_par: 'flag',
  require_dpop: 'flag',
  scopes: 'choices',
  claims: 'json',
  id_token_claims: 'choice',
  id_token_signing_alg: 'choice',
  subject_type: 'choice',
  sector: 'text',
  first_party: 'flag',
  access_token_seconds: 'number',
  id_token_seconds: 'number',
  refresh_idle_days: 'number',
  grant_days: 'number',
  default_max_age: 'number',
};

export const groups = [
  {
    key: 'about',
    fields: ['name', 'description', 'is_active', 'home_url', 'policy_url', 'terms_url'],
  },
  {
    key: 'addresses',
    fields: ['redirect_uris', 'post_logout_redirect_uris', 'backchannel_logout_url', 'allowed_origins'],
  },
  {
    key: 'proof',
    fields: ['auth_method', 'jwks', 'jwks_url', 'grant_types', 'require_pkce', 'require_par', 'require_dpop'],
  },
  {
    key: 'claims',
    fields: [
      'scopes',
      'claims',
      'id_token_claims',
      'id_token_signing_alg',
      'subject_type',
      'sector',
      'first_party',
    ],
  },
  {
    key: 'lifetimes',
    fields: [
      'access_token_seconds',
      'id_token_seconds',
      'refresh_idle_days',
      'grant_days',
      'default_max_age',
    ],
  },
] as const satisfies readonly { key: string; fields: readonly ApplicationField[] }[];

export const fieldNames: readonly ApplicationField[] = groups.flatMap(({ fields }) => [...fields]);

/** Every option of a field, so that a new one is a compile error here. */
const all = <T extends string>(options: Readonly<Record<T, true>>): readonly string[] => Object.keys(options);

/** The options of fields of the kinds `choice` and `choices`. */
export const options: Partial<Record<ApplicationField, readonly string[]>> = {
  auth_method: all<Application['auth_method']>({ secret: true, private_key_jwt: true, none: true }),
  grant_types: all<Application['grant_types'][number]>({
    authorization_code: true,
    refresh_token: true,
    device_code: true,
  }),
  scopes: all<Application['scopes'][number]>({
    openid: true,
    profile: true,
    email: true,
    roles: true,
    groups: true,
    permissions: true,
    offline_access: true,
  }),
  id_token_claims: all<Application['id_token_claims']>({ all: true, minimal: true }),
  id_token_signing_alg: all<Application['id_token_signing_alg']>({ RS256: true, ES256: true }),
  subject_type: all<Application['subject_type']>({ public: true, pairwise: true }),
};
