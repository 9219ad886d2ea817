// The fields of an identity provider as a form has them: which kinds of provider have which, and how each is typed.
// It must not have a text: the catalogues of messages do.
import type { IdentityProvider } from '@castellan/sdk';
import type { ProviderField } from '../../../data/form-fields.ts';

/**
 * `lines`: a text a line. `words`: texts with spaces between them. `pairs`: `name=value` a line. `secret`: never read, sent only if
 * something was typed. `roles`: ids. `mapping`: roles by claims.
 */
export type Input =
  | 'text'
  | 'lines'
  | 'words'
  | 'pairs'
  | 'secret'
  | 'key'
  | 'flag'
  | 'choice'
  | 'roles'
  | 'mapping';

export const inputs: Readonly<Record<ProviderField, Input>> = {
  name: 'text',
  is_shown: 'flag',
  issuer: 'text',
  tenants: 'lines',
  client_id: 'text',
  client_auth: 'choice',
  client_secret: 'secret',
  team_id: 'text',
  key_id: 'text',
  private_key: 'key',
  scopes: 'words',
  extra_parameters: 'pairs',
  domains: 'lines',
  email_trust: 'choice',
  sign_up: 'choice',
  connect: 'choice',
  required_for_domains: 'flag',
  allow_superusers: 'flag',
  role_ids: 'roles',
  role_mapping: 'mapping',
  mapping: 'choice',
  sync_names: 'flag',
  acr_mapping: 'lines',
  logout: 'choice',
};

export const groups = [
  { key: 'about', fields: ['name', 'is_shown'] },
  {
    key: 'connection',
    fields: [
      'issuer',
      'tenants',
      'client_id',
      'client_auth',
      'client_secret',
      'team_id',
      'key_id',
      'private_key',
      'scopes',
      'extra_parameters',
    ],
  },
  {
    key: 'people',
    fields: ['domains', 'email_trust', 'sign_up', 'connect', 'required_for_domains', 'allow_superusers'],
  },
  { key: 'roles', fields: ['role_ids', 'role_mapping', 'mapping', 'sync_names'] },
  { key: 'sessions', fields: ['acr_mapping', 'logout'] },
] as const satisfies readonly { key: string; fields: readonly ProviderField[] }[];

export const fieldNames: readonly ProviderField[] = groups.flatMap(({ fields }) => [...fields]);

export type ProviderKind = IdentityProvider['kind'];

/** Every kind, so that a new one is a compile error here. */
const kindsInOrder: Readonly<Record<ProviderKind, true>> = {
  oidc: true,
  google: true,
  microsoft: true,
  github: true,
  apple: true,
};
export const kinds = Object.keys(kindsInOrder) as readonly ProviderKind[];

/** Only Apple has them. */
const ofApple: readonly ProviderField[] = ['team_id', 'key_id', 'private_key'];
/** What only a provider has whose metadata an administrator names. */
const ofIssuer: readonly ProviderField[] = ['issuer', 'acr_mapping', 'logout'];

/** The fields that a kind does not have, because it fixes them or has nothing for them. */
const withoutFields: Readonly<Record<ProviderKind, readonly ProviderField[]>> = {
  oidc: ['tenants', ...ofApple],
  google: ['tenants', 'client_auth', 'scopes', ...ofIssuer, ...ofApple],
  microsoft: ['client_auth', 'scopes', ...ofApple],
  github: ['tenants', 'client_auth', 'scopes', ...ofIssuer, ...ofApple],
  apple: [
    'tenants',
    'client_auth',
    'client_secret',
    'scopes',
    'extra_parameters',
    'role_mapping',
    'mapping',
    'sync_names',
    ...ofIssuer,
  ],
};

export const hasField = (kind: ProviderKind, name: ProviderField): boolean =>
  !withoutFields[kind].includes(name);

/** Every option of a field, so that a new one is a compile error here. */
const all = <T extends string>(options: Readonly<Record<T, true>>): readonly T[] =>
  Object.keys(options) as T[];

/** The options of the fields with a choice. */
export const options = {
  // Apple alone has a private key, and no choice.
  client_auth: all<Exclude<IdentityProvider['client_auth'], 'private_key'>>({
    client_secret_basic: true,
    client_secret_post: true,
    none: true,
  }),
  email_trust: all<IdentityProvider['email_trust']>({ none: true, domains: true }),
  sign_up: all<IdentityProvider['sign_up']>({ none: true, domains: true, everyone: true }),
  connect: all<IdentityProvider['connect']>({ confirm: true, trusted: true }),
  mapping: all<IdentityProvider['mapping']>({ creation: true, every_sign_in: true }),
  logout: all<IdentityProvider['logout']>({ here: true, upstream: true }),
} as const;
