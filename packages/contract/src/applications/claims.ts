// Schemas of the claims that an application is told about people beyond those of the scopes, and of their preview.
import Type from 'typebox';
import { Uuid } from '../http/common.ts';
import { DataEnvelope } from '../http/envelope.ts';
import { Userinfo } from '../openid/tokens.ts';

export const Scope = Type.Enum([
  'openid',
  'profile',
  'email',
  'roles',
  'groups',
  'permissions',
  'offline_access',
]);
export type Scope = Type.Static<typeof Scope>;

const MAX_MAPPED = 100;
const MAX_NAME = 250;

export const ClaimMapping = Type.Object(
  {
    name: Type.String({
      maxLength: MAX_NAME,
      description: 'The name of the claim: letters, digits and `_.:/-`. Names of standards are refused.',
      examples: ['grafana_role'],
    }),
    from: Type.Enum(['role', 'role_group', 'permission', 'role_or_group', 'superuser'], {
      description:
        'What of the user: the names of their roles, of the role groups of these with all ancestors, of their permissions, of roles and groups together, or `superuser` for one.',
    }),
    match: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: MAX_NAME,
        description:
          'Only names like this one, ignoring case: `*` stands for any characters, `?` for one. Default: all.',
        examples: ['grafana*'],
      }),
    ),
    map: Type.Optional(
      Type.Record(Type.String(), Type.String({ maxLength: MAX_NAME }), {
        maxProperties: MAX_MAPPED,
        description:
          'What to tell for a name, ignoring case. Other names are left out. The values have the order of this object.',
        examples: [{ 'Grafana Admins': 'Admin', 'Grafana Editors': 'Editor' }],
      }),
    ),
    as: Type.Enum(['list', 'first', 'text', 'boolean'], {
      description:
        'All values as a list, the first one, all in one text with spaces between, or whether there is any. `first` and `text` are absent without a value.',
    }),
    in: Type.Array(Type.Enum(['id_token', 'userinfo', 'access_token']), {
      minItems: 1,
      maxItems: 3,
      description:
        'Where it is told, also with `id_token_claims` `minimal`. `access_token`: in those for API resources.',
    }),
    scope: Type.Optional(Scope),
  },
  { title: 'ClaimMapping' },
);
export type ClaimMapping = Type.Static<typeof ClaimMapping>;

export const ClaimMappings = Type.Array(ClaimMapping, {
  maxItems: 20,
  description:
    'Claims about people beyond those of the scopes. They tell what a person holds, and give nothing.',
});

export const ClaimsPreviewBody = Type.Object({ user_id: Uuid }, { title: 'ClaimsPreviewRequest' });

export const ClaimsPreview = Type.Object(
  {
    may_sign_in: Type.Boolean({
      description: 'Whether the account is active and holds the permission that the application requires.',
    }),
    scopes: Type.Array(Scope, { description: 'All that the application may ask for, as assumed here.' }),
    userinfo: Userinfo,
    id_token: Type.Object(
      {},
      {
        additionalProperties: true,
        description:
          'Claims about the user. Those about the sign-in, such as `nonce`, are not known and left out.',
      },
    ),
    id_token_overage: Type.Boolean({
      description: 'Whether the ID token would exceed 6 KiB and lacks its lists.',
    }),
  },
  { title: 'ClaimsPreview' },
);
export type ClaimsPreview = Type.Static<typeof ClaimsPreview>;
export const ClaimsPreviewEnvelope = DataEnvelope(ClaimsPreview);
