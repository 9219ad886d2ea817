// Schemas of applications: services that people sign in to with Castellan. OAuth calls them clients.
// A secret is only in the response that creates it.
import Type, { type TSchema } from 'typebox';
import {
  authorship,
  DescriptionInput,
  ListEnvelope,
  NameInput,
  Nullable,
  PageQueryWith,
  Timestamp,
  Uuid,
  UuidList,
} from '../http/common.ts';
import { DataEnvelope } from '../http/envelope.ts';
import { ClaimMappings, Scope } from './claims.ts';

export const ApplicationType = Type.Enum(['web', 'spa', 'native', 'device']);
export type ApplicationType = Type.Static<typeof ApplicationType>;
const GrantType = Type.Enum(['authorization_code', 'refresh_token', 'device_code']);

/** Longest address of an application, in characters. */
export const MAX_ADDRESS_LENGTH = 2_000;
const MAX_ADDRESSES = 50;
const MAX_KEYS = 20;
const MAX_RESOURCES = 20;

const address = (example: string) => Type.String({ maxLength: MAX_ADDRESS_LENGTH, examples: [example] });
const addresses = (example: string, description: string) =>
  Type.Array(address(example), { maxItems: MAX_ADDRESSES, description });
const days = (maximum: number, description: string) => Type.Integer({ minimum: 1, maximum, description });

/** Members that a public key may have. Which ones it needs depends on `kty`. */
const PublicKey = Type.Object(
  {
    kty: Type.String({ examples: ['EC'] }),
    kid: Type.Optional(Type.String({ maxLength: 250 })),
    use: Type.Optional(Type.String()),
    alg: Type.Optional(Type.String()),
    crv: Type.Optional(Type.String({ examples: ['P-256'] })),
    x: Type.Optional(Type.String()),
    y: Type.Optional(Type.String()),
    n: Type.Optional(Type.String()),
    e: Type.Optional(Type.String()),
  },
  { title: 'PublicKey', description: 'RFC 7517: an RSA key of 2,048 to 8,192 bits, an EC key, or Ed25519.' },
);
export type PublicKey = Type.Static<typeof PublicKey>;
const keySetOf = <T extends TSchema>(key: T) =>
  Type.Object({ keys: Type.Array(key, { minItems: 1, maxItems: MAX_KEYS }) });

/** Fields that are the same in the record and in its bodies. */
const fields = {
  is_active: Type.Boolean({ description: 'An application that is not active is refused everything.' }),
  auth_method: Type.Enum(['secret', 'private_key_jwt', 'none'], {
    description:
      'How the application authenticates itself: with a secret, with a signed assertion (`private_key_jwt`), or not at all. Default: `secret` for `web`, otherwise `none`.',
  }),
  home_url: Nullable(address('https://grafana.example.com')),
  policy_url: Nullable(address('https://grafana.example.com/privacy')),
  terms_url: Nullable(address('https://grafana.example.com/terms')),
  jwks_url: Type.Union([address('https://grafana.example.com/jwks.json'), Type.Null()], {
    description: 'Where the public keys of the application are. `private_key_jwt` needs this or `jwks`.',
  }),
  grant_types: Type.Array(GrantType, {
    maxItems: 3,
    description:
      'Default: `authorization_code` and `refresh_token`; for `device`, `device_code` and `refresh_token`.',
  }),
  redirect_uris: addresses(
    'https://grafana.example.com/login/generic_oauth',
    'Where people may be sent back to, compared character by character. A native application may use every port of a registered loopback address.',
  ),
  post_logout_redirect_uris: addresses(
    'https://grafana.example.com/login',
    'Where people may be sent after they signed out.',
  ),
  allowed_origins: addresses(
    'https://app.example.com',
    'Origins whose pages may call the token services. Those of the redirect addresses of an `spa` count, too.',
  ),
  backchannel_logout_url: Type.Union([address('https://grafana.example.com/logout'), Type.Null()], {
    description: 'Where the application is told that a session has ended.',
  }),
  first_party: Type.Boolean({
    description: 'Whether the application is your own, so that people need not agree to it. Default: true.',
  }),
  required_permission_id: Type.Union([Uuid, Type.Null()], {
    description: 'Who may sign in: holders of this permission, and superusers. Null: every active account.',
  }),
  scopes: Type.Array(Scope, {
    maxItems: 7,
    description: 'What the application may ask for. Default: openid, profile, email, roles, groups.',
  }),
  claims: ClaimMappings,
  subject_type: Type.Enum(['public', 'pairwise'], {
    description: '`pairwise`: other applications know the same person by another `sub`. Default: `public`.',
  }),
  sector: Type.Union([Type.String({ maxLength: 253, examples: ['example.com'] }), Type.Null()], {
    description:
      'The host that a `pairwise` `sub` is computed from. Default: that of the redirect addresses, if it is one.',
  }),
  id_token_signing_alg: Type.Enum(['RS256', 'ES256'], { description: 'Default: RS256.' }),
  id_token_claims: Type.Enum(['all', 'minimal'], {
    description:
      'Whether the claims of the scopes are in the ID token, too, or in userinfo only. Default: `all`.',
  }),
  require_pkce: Type.Boolean({ description: 'False is allowed for `web` only. Default: true.' }),
  require_par: Type.Boolean({ description: 'Whether requests must be pushed (RFC 9126). Default: false.' }),
  require_dpop: Type.Boolean({
    description: 'Whether tokens must be bound to a key (RFC 9449). Default: false.',
  }),
  access_token_seconds: Type.Integer({ minimum: 60, maximum: 3_600, description: 'Default: 300.' }),
  id_token_seconds: Type.Integer({ minimum: 60, maximum: 86_400, description: 'Default: 300.' }),
  refresh_idle_days: days(90, 'How long a refresh token may be unused. Default: 7.'),
  grant_days: days(365, 'The end of what one sign-in gave, however often it was refreshed. Default: 30.'),
  default_max_age: Type.Union([Type.Integer({ minimum: 0, maximum: 1_000_000_000 }), Type.Null()], {
    description:
      'The longest time since people proved who they are, in seconds, unless a request says otherwise.',
  }),
};

export const Application = Type.Object(
  {
    id: Uuid,
    client_id: Type.String(),
    name: Type.String(),
    description: Type.String(),
    type: ApplicationType,
    ...fields,
    jwks: Nullable(keySetOf(PublicKey)),
    resources: Type.Array(
      Type.Object({
        resource_id: Uuid,
        permission_ids: Type.Array(Uuid, { description: 'What tokens for the resource may carry.' }),
      }),
      { description: 'The API resources that the application may get tokens for.' },
    ),
    ...authorship,
  },
  { title: 'Application' },
);
export type Application = Type.Static<typeof Application>;

/** Live sign-ins up to which people are counted, newest first. */
export const MOST_COUNTED = 1_000;

const ListedApplication = Type.Object(
  {
    ...Application.properties,
    people: Nullable(
      Type.Integer({
        description: `How many people have access now; null for an application with over ${MOST_COUNTED} live sign-ins.`,
      }),
    ),
    last_sign_in_at: Nullable(
      Type.String({
        format: 'date-time',
        description: 'Of the sign-ins that are kept: null after they have ended.',
      }),
    ),
  },
  { title: 'ListedApplication' },
);
export type ListedApplication = Type.Static<typeof ListedApplication>;

export const NewApplication = Type.Object(
  {
    ...Application.properties,
    client_secret: Type.Optional(
      Type.String({
        description:
          'With `auth_method` `secret`. It is shown only here: a response that is replayed for an `Idempotency-Key` leaves it out.',
      }),
    ),
  },
  { title: 'NewApplication' },
);
export type NewApplication = Type.Static<typeof NewApplication>;

const KeySetInput = Nullable(
  keySetOf(Type.Object({}, { additionalProperties: true, description: 'A public key (RFC 7517).' })),
);
const ResourcesInput = Type.Array(
  Type.Object({
    resource_id: Uuid,
    permission_ids: Type.Union([UuidList, Type.Null()], {
      description:
        'Permissions of the groups of the resource. Null: all that exist now and you hold, which are stored.',
    }),
  }),
  {
    maxItems: MAX_RESOURCES,
    description: 'The API resources that the application may get tokens for, and what these may carry.',
  },
);
const inputs = Type.Partial(
  Type.Object({ description: DescriptionInput, ...fields, jwks: KeySetInput, resources: ResourcesInput }),
).properties;
const ClientId = Type.String({
  maxLength: 400,
  description:
    'Letters, digits, `.`, `_` and `-`, at most 100. It is neither a UUID nor `castellan`, and never changes.',
  examples: ['grafana'],
});

export const CreateApplicationBody = Type.Object(
  { client_id: ClientId, name: NameInput('Grafana'), type: Type.Optional(ApplicationType), ...inputs },
  { title: 'CreateApplication' },
);
export type CreateApplicationBody = Type.Static<typeof CreateApplicationBody>;

export const UpdateApplicationBody = Type.Object(
  {
    name: Type.Optional(NameInput('Grafana')),
    ...inputs,
    client_id: Type.Optional(Type.String({ description: 'Refused, unless it is what the application has.' })),
    type: Type.Optional(Type.String({ description: 'Refused, unless it is what the application has.' })),
  },
  { title: 'UpdateApplication', description: 'A list replaces the whole list.' },
);
export type UpdateApplicationBody = Type.Static<typeof UpdateApplicationBody>;

export const ApplicationSecret = Type.Object(
  {
    id: Uuid,
    name: Type.String(),
    prefix: Type.String({ description: 'The beginning of the secret, by which people tell secrets apart.' }),
    created_at: Timestamp,
    expires_at: Nullable(Timestamp),
    last_used_at: Nullable(Timestamp),
  },
  { title: 'ApplicationSecret' },
);
export type ApplicationSecret = Type.Static<typeof ApplicationSecret>;

export const NewApplicationSecret = Type.Object(
  {
    ...ApplicationSecret.properties,
    secret: Type.Optional(
      Type.String({
        description:
          'It is shown only here: a response that is replayed for an `Idempotency-Key` leaves it out.',
      }),
    ),
  },
  { title: 'NewApplicationSecret' },
);
export type NewApplicationSecret = Type.Static<typeof NewApplicationSecret>;

export const CreateApplicationSecretBody = Type.Object(
  {
    name: Type.Optional(
      Type.String({ minLength: 1, maxLength: 1_000, description: 'Default: `Secret`.', examples: ['2027'] }),
    ),
    expires_at: Type.Optional(
      Type.Union([Timestamp, Type.Null()], { description: 'In the future. Null: it does not expire.' }),
    ),
  },
  { title: 'CreateApplicationSecret' },
);
export type CreateApplicationSecretBody = Type.Static<typeof CreateApplicationSecretBody>;

export const ApplicationEnvelope = DataEnvelope(Application);
export const NewApplicationEnvelope = DataEnvelope(NewApplication);
export const ApplicationListEnvelope = ListEnvelope(ListedApplication);
export const ApplicationSecretEnvelope = DataEnvelope(ApplicationSecret);
export const NewApplicationSecretEnvelope = DataEnvelope(NewApplicationSecret);
export const ApplicationSecretsEnvelope = DataEnvelope(Type.Array(ApplicationSecret));

export const ApplicationParams = Type.Object({ application_id: Uuid });
export const ApplicationSecretParams = Type.Object({ application_id: Uuid, secret_id: Uuid });
export const ApplicationListQuery = PageQueryWith({
  search: Type.Optional(
    Type.String({ maxLength: 250, description: 'Words that the name or the client id contains.' }),
  ),
  is_active: Type.Optional(Type.Boolean()),
  type: Type.Optional(ApplicationType),
});
export type ApplicationListQuery = Type.Static<typeof ApplicationListQuery>;
