// Schemas of API resources: APIs that access tokens of applications are made for (RFC 8707).
import Type from 'typebox';
import { authorship, DescriptionInput, ListEnvelope, PageQueryWith, Uuid } from '../http/common.ts';
import { DataEnvelope } from '../http/envelope.ts';

const MAX_GROUPS = 100;

const Identifier = Type.String({
  maxLength: 2_000,
  description:
    'The audience of its tokens: an absolute URI without fragment, unique, character by character.',
  examples: ['https://orders.example.com'],
});
const Name = Type.String({
  minLength: 1,
  maxLength: 1_000,
  description: '1 to 250 characters.',
  examples: ['Orders'],
});
const fields = {
  permission_group_ids: Type.Array(Uuid, {
    maxItems: MAX_GROUPS,
    description: 'The permissions of these groups are its scopes. Built-in groups are refused.',
  }),
  access_token_seconds: Type.Integer({ minimum: 60, maximum: 3_600, description: 'Default: 300.' }),
  signing_alg: Type.Enum(['RS256', 'ES256'], { description: 'Default: RS256.' }),
};

export const ApiResource = Type.Object(
  {
    id: Uuid,
    identifier: Type.String(),
    name: Type.String(),
    description: Type.String(),
    ...fields,
    ...authorship,
  },
  { title: 'ApiResource' },
);
export type ApiResource = Type.Static<typeof ApiResource>;

const inputs = Type.Partial(Type.Object({ description: DescriptionInput, ...fields })).properties;

export const CreateApiResourceBody = Type.Object(
  { identifier: Identifier, name: Name, ...inputs },
  { title: 'CreateApiResource' },
);
export type CreateApiResourceBody = Type.Static<typeof CreateApiResourceBody>;

export const UpdateApiResourceBody = Type.Partial(
  Type.Object({ identifier: Identifier, name: Name, ...inputs }),
  { title: 'UpdateApiResource', description: 'A list replaces the whole list.' },
);
export type UpdateApiResourceBody = Type.Static<typeof UpdateApiResourceBody>;

export const ApiResourceEnvelope = DataEnvelope(ApiResource);
export const ApiResourceListEnvelope = ListEnvelope(ApiResource);
export const ApiResourceParams = Type.Object({ api_resource_id: Uuid });
export const ApiResourceListQuery = PageQueryWith({
  search: Type.Optional(
    Type.String({ maxLength: 250, description: 'Words that the name or the identifier contains.' }),
  ),
});
export type ApiResourceListQuery = Type.Static<typeof ApiResourceListQuery>;
