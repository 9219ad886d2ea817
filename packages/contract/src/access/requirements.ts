// Schemas of what roles, permissions and the settings ask of sign-ins.
import Type from 'typebox';
import { AcrValue } from '../authentication.ts';
import { Nullable, Timestamp, Uuid } from '../http/common.ts';
import { DataEnvelope } from '../http/envelope.ts';

/** How the holders of a role must have signed in, for anything they do. */
export const RoleAuthentication = Type.Object(
  {
    required_acr: Type.Enum(['aal2', 'phr'], {
      description: '`aal2`: with a second factor. `phr`: with a passkey or a security key.',
    }),
    enforced_from: Nullable(Timestamp),
  },
  { title: 'RoleAuthentication' },
);
export type RoleAuthentication = Type.Static<typeof RoleAuthentication>;

export const RoleAuthenticationBody = Type.Object(
  {
    required_acr: Nullable(Type.Enum(['aal2', 'phr'])),
    enforced_from: Type.Optional(
      Type.String({
        format: 'date-time',
        description:
          'A time in the past means now. Default: in 14 days where the role required nothing before, otherwise as it is.',
      }),
    ),
  },
  { title: 'SetRoleAuthentication' },
);
export type RoleAuthenticationBody = Type.Static<typeof RoleAuthenticationBody>;

export const PermissionAuthenticationBody = Type.Object(
  {
    required_acr: Nullable(AcrValue),
    max_auth_age: Nullable(
      Type.Integer({
        minimum: 30,
        maximum: 86_400,
        description: 'In seconds. Without `required_acr`, it means `aal1`.',
      }),
    ),
  },
  { title: 'SetPermissionAuthentication' },
);
export type PermissionAuthenticationBody = Type.Static<typeof PermissionAuthenticationBody>;

/** Member `second_factor` of a sign-in: what its account must still do, now or from a time on. */
export const UnmetRequirement = Type.Object(
  {
    required_acr: AcrValue,
    enforced_from: Nullable(Timestamp),
    enrolled: Type.Boolean({ description: 'Whether the account has a factor that reaches the level.' }),
  },
  { title: 'UnmetRequirement' },
);
export type UnmetRequirement = Type.Static<typeof UnmetRequirement>;

const affected = {
  holders: Type.Integer({ description: 'Active users whom it concerns.' }),
  without_factor: Type.Integer({ description: 'Those among them without a factor that reaches the level.' }),
};

export const AuthenticationPreviewEnvelope = DataEnvelope(
  Type.Object(
    {
      dry_run: Type.Literal(true),
      would_be_refused: Nullable(
        Type.Object({ status: Type.Integer(), code: Type.String(), detail: Type.String() }),
      ),
      impact: Nullable(
        Type.Object(
          {
            ...affected,
            subjects: Type.Array(Type.Object({ type: Type.Literal('user'), id: Uuid, name: Type.String() }), {
              description: 'The first 100 users without such a factor, by name.',
            }),
            more: Type.Integer({ description: 'Those beyond the list.' }),
          },
          { title: 'AuthenticationImpact' },
        ),
      ),
    },
    { title: 'AuthenticationPreview' },
  ),
);
export type AuthenticationPreviewEnvelope = Type.Static<typeof AuthenticationPreviewEnvelope>;

const Named = Type.Object({ id: Uuid, name: Type.String() }, { title: 'NamedRecord' });

export const RequirementsEnvelope = DataEnvelope(
  Type.Object(
    {
      settings: Type.Object({
        required_for: Type.Enum(['nobody', 'superusers', 'administrators', 'everyone']),
        enforced_from: Nullable(Timestamp),
      }),
      roles: Type.Array(Type.Object({ role: Named, ...RoleAuthentication.properties, ...affected })),
      permissions: Type.Array(
        Type.Object({
          permission: Named,
          required_acr: AcrValue,
          max_auth_age: Nullable(Type.Integer()),
        }),
      ),
    },
    { title: 'AuthenticationRequirements' },
  ),
);
export type RequirementsEnvelope = Type.Static<typeof RequirementsEnvelope>;
