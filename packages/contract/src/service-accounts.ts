// Schemas of service accounts and of their API keys.
// The secret of a key is only in the response that creates it.
import Type from 'typebox';
import { withOtherNames } from './access/access-fields.ts';
import {
  authorship,
  DescriptionInput,
  ExternalId,
  ExternalIdInput,
  ListEnvelope,
  NameInput,
  PageQueryWith,
  Timestamp,
  Uuid,
  UuidList,
} from './http/common.ts';
import { DataEnvelope } from './http/envelope.ts';

const OptionalTimestamp = Type.Union([Timestamp, Type.Null()]);

export const ServiceAccount = Type.Object(
  {
    id: Uuid,
    name: Type.String(),
    description: Type.String(),
    is_active: Type.Boolean({
      description: 'The keys and tokens of an account that is not active are refused.',
    }),
    roles: Type.Array(Type.Object({ id: Uuid, name: Type.String() }, { title: 'RoleName' })),
    permissions: Type.Array(Type.String(), {
      description: 'Sorted, unique names of the permissions granted by all roles.',
    }),
    external_id: ExternalId,
    last_used_at: Type.Union([Timestamp, Type.Null()], { description: 'Exact to the minute.' }),
    ...authorship,
  },
  { title: 'ServiceAccount' },
);
export type ServiceAccount = Type.Static<typeof ServiceAccount>;

export const ApiKey = Type.Object(
  {
    id: Uuid,
    name: Type.String(),
    prefix: Type.String({ description: 'The part of the key that names it. It is not a secret.' }),
    permissions: Type.Union([Type.Array(Type.String()), Type.Null()], {
      description: 'The only permissions that the key may use; null if it may use all of the account.',
    }),
    narrowed_by: Type.Union([Type.Literal('maker'), Type.Null()], {
      description:
        '`maker`: the permissions are those that the account had, and its maker held, when the key was made. Null: the request named them, or the key is not narrowed.',
    }),
    expires_at: OptionalTimestamp,
    last_used_at: Type.Union([Timestamp, Type.Null()], { description: 'Exact to the minute.' }),
    created_at: Timestamp,
    revoked_at: OptionalTimestamp,
  },
  { title: 'ApiKey' },
);
export type ApiKey = Type.Static<typeof ApiKey>;

export const NewApiKey = Type.Object(
  {
    ...ApiKey.properties,
    key: Type.Optional(
      Type.String({
        description:
          'The API key. It is shown only here: a response that is replayed for an `Idempotency-Key` leaves it out.',
      }),
    ),
  },
  { title: 'NewApiKey' },
);
export type NewApiKey = Type.Static<typeof NewApiKey>;

export const EndedApiKey = Type.Object(
  {
    ...ApiKey.properties,
    descendants: Type.Integer({
      description:
        'Live keys that were made with this one, directly or through others. `with=descendants` has revoked them.',
    }),
  },
  { title: 'EndedApiKey' },
);

export const ServiceAccountEnvelope = DataEnvelope(ServiceAccount);
export const ServiceAccountListEnvelope = ListEnvelope(ServiceAccount);
export const EndedApiKeyEnvelope = DataEnvelope(EndedApiKey);
export const ApiKeysEnvelope = DataEnvelope(Type.Array(ApiKey));
export const NewApiKeyEnvelope = DataEnvelope(NewApiKey);

export const ServiceAccountParams = Type.Object({ service_account_id: Uuid });
export const ApiKeyParams = Type.Object({ service_account_id: Uuid, key_id: Uuid });
export const EndApiKeyQuery = Type.Object({
  with: Type.Optional(
    Type.Literal('descendants', { description: 'Revokes the keys that were made with this one, too.' }),
  ),
});
export const ServiceAccountListQuery = PageQueryWith({
  search: Type.Optional(
    Type.String({ maxLength: 250, description: 'Words that the name contains, as in the list of users.' }),
  ),
});
export type ServiceAccountListQuery = Type.Static<typeof ServiceAccountListQuery>;

const accountFields = withOtherNames({
  description: Type.Optional(DescriptionInput),
  is_active: Type.Optional(
    Type.Boolean({ description: 'False ends the access tokens of the account for good.' }),
  ),
  role_ids: Type.Optional(UuidList),
  external_id: Type.Optional(ExternalIdInput),
});
export const CreateServiceAccountBody = Type.Object(
  { name: NameInput('orders-api'), ...accountFields },
  { title: 'CreateServiceAccount' },
);
export type CreateServiceAccountBody = Type.Static<typeof CreateServiceAccountBody>;

export const UpdateServiceAccountBody = Type.Object(
  { name: Type.Optional(NameInput('orders-api')), ...accountFields },
  { title: 'UpdateServiceAccount', description: '`role_ids` replaces all roles.' },
);
export type UpdateServiceAccountBody = Type.Static<typeof UpdateServiceAccountBody>;

/** Maximum permissions to which one key can be narrowed. */
const MAX_NARROWED = 1_000;
const expires_at = Type.Optional(
  Type.Union([Timestamp, Type.Null()], { description: 'In the future. Null: the key does not expire.' }),
);

export const CreateApiKeyBody = Type.Object(
  {
    name: NameInput('production'),
    expires_at,
    permissions: Type.Optional(
      Type.Union([Type.Array(Type.String({ maxLength: 400 }), { maxItems: MAX_NARROWED }), Type.Null()], {
        description: 'Names of the only permissions that the key may use. Without it: all of the account.',
        examples: [['access.check']],
      }),
    ),
  },
  { title: 'CreateApiKey' },
);
export type CreateApiKeyBody = Type.Static<typeof CreateApiKeyBody>;

/** Longest overlap: a week. */
export const MAX_OVERLAP_SECONDS = 604_800;
export const RotateApiKeyBody = Type.Union(
  [
    Type.Object({
      overlap_seconds: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: MAX_OVERLAP_SECONDS,
          description: 'How long the old key still works. Default: 86400, a day.',
        }),
      ),
      expires_at,
    }),
    Type.Null(),
  ],
  { title: 'RotateApiKey' },
);
export type RotateApiKeyBody = Type.Static<typeof RotateApiKeyBody>;
