// Schemas of permissions and permission groups. The built-in permissions are in permissions.ts.
import Type from 'typebox';
import { AcrValue } from './authentication.ts';
import { authorship, DescriptionInput, ListEnvelope, NameInput, Uuid } from './http/common.ts';
import { DataEnvelope } from './http/envelope.ts';

/** What a call that uses the permission must have proved. */
export const PermissionAuthentication = Type.Object(
  {
    required_acr: AcrValue,
    max_auth_age: Type.Union([Type.Integer(), Type.Null()], {
      description: 'At most how many seconds ago. Null: no matter when.',
    }),
  },
  { title: 'PermissionAuthentication' },
);
export type PermissionAuthentication = Type.Static<typeof PermissionAuthentication>;

const authentication = Type.Optional(PermissionAuthentication);

export const Permission = Type.Object(
  {
    id: Uuid,
    name: Type.String({ description: '`<group name>.<action>`' }),
    description: Type.String(),
    group_id: Uuid,
    group: Type.Object({ id: Uuid, name: Type.String() }, { title: 'GroupReference' }),
    ...authorship,
    authentication,
  },
  { title: 'Permission' },
);
export type Permission = Type.Static<typeof Permission>;

export const PermissionEnvelope = DataEnvelope(Permission);
export const PermissionListEnvelope = ListEnvelope(Permission);
export const PermissionParams = Type.Object({ permission_id: Uuid });
export const PermissionListQuery = {
  group_id: Type.Optional(Uuid),
  roles: Type.Optional(
    Type.Enum(['none'], {
      description: '`none`: in no role, except system roles, which have every permission.',
    }),
  ),
  is_builtin: Type.Optional(
    Type.Boolean({ description: "`true`: the service's own permissions; `false`: those of your product." }),
  ),
};

export const CreatePermissionBody = Type.Object(
  {
    name: Type.String({
      minLength: 1,
      maxLength: 400,
      description: 'The action alone; the name of the group is added in front.',
      examples: ['publish'],
    }),
    description: Type.Optional(DescriptionInput),
    group_id: Uuid,
  },
  { title: 'CreatePermission' },
);
export type CreatePermissionBody = Type.Static<typeof CreatePermissionBody>;

const permissionGroupFields = {
  id: Uuid,
  name: Type.String(),
  description: Type.String(),
  parent_id: Type.Union([Uuid, Type.Null()]),
  permission_group_id: Type.Union([Uuid, Type.Null()], { description: 'Alias of parent_id.' }),
  permissions: Type.Array(Permission),
};
/** Contains its descendants, at most 32 levels. */
export const PermissionGroup = Type.Cyclic(
  {
    PermissionGroup: Type.Object(
      { ...permissionGroupFields, groups: Type.Array(Type.Ref('PermissionGroup')), ...authorship },
      { title: 'PermissionGroup' },
    ),
  },
  'PermissionGroup',
);
export type PermissionGroup = {
  id: string;
  name: string;
  description: string;
  parent_id: string | null;
  permission_group_id: string | null;
  permissions: Permission[];
  groups: PermissionGroup[];
  created_at: string;
  updated_at: string;
  created_by_id: string | null;
};

export const CreatePermissionGroupBody = Type.Object(
  {
    name: NameInput('articles'),
    description: Type.Optional(DescriptionInput),
    parent_id: Type.Optional(Type.Union([Uuid, Type.Null()])),
    permission_group_id: Type.Optional(
      Type.Union([Uuid, Type.Null()], { description: 'Alias of parent_id.' }),
    ),
  },
  { title: 'CreatePermissionGroup' },
);
export type CreatePermissionGroupBody = Type.Static<typeof CreatePermissionGroupBody>;
export const UpdatePermissionGroupBody = Type.Partial(CreatePermissionGroupBody, {
  title: 'UpdatePermissionGroup',
});
export type UpdatePermissionGroupBody = Type.Static<typeof UpdatePermissionGroupBody>;
export const PermissionGroupParams = Type.Object({ group_id: Uuid });
