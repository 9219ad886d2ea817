// Schemas of roles and of the bodies that change them.
import Type from 'typebox';
import { DryRunQuery } from './access/access-changes.ts';
import { withOtherNames } from './access/access-fields.ts';
import { RoleAuthentication } from './access/requirements.ts';
import { authorship, DescriptionInput, ListEnvelope, NameInput, Uuid, UuidList } from './http/common.ts';
import { DataEnvelope } from './http/envelope.ts';
import { Permission } from './permission-records.ts';

export const Role = Type.Object(
  {
    id: Uuid,
    name: Type.String(),
    description: Type.String(),
    role_group_id: Type.Union([Uuid, Type.Null()]),
    is_system: Type.Boolean({ description: 'Name and permissions of a system role cannot be changed.' }),
    permissions: Type.Array(Permission),
    ...authorship,
    authentication: Type.Optional(RoleAuthentication),
    holders: Type.Optional(
      Type.Integer({
        description: 'Users and service accounts with the role. Only in lists, with `include=holders`.',
      }),
    ),
    version: Type.Optional(
      Type.Integer({
        description:
          'The number in the ETag of the role, for `POST /access/changes`. Only in lists, with `include=holders`.',
      }),
    ),
  },
  { title: 'Role' },
);
export type Role = Type.Static<typeof Role>;

/** A role without the records of its permissions. */
export const SummarizedRole = Type.Object(
  {
    id: Uuid,
    name: Type.String(),
    description: Type.String(),
    role_group_id: Type.Union([Uuid, Type.Null()]),
    is_system: Type.Boolean({ description: 'Name and permissions of a system role cannot be changed.' }),
    created_by_id: authorship.created_by_id,
    version: Type.Integer({ description: 'The number in the ETag of the role, for `POST /access/changes`.' }),
    permission_count: Type.Integer(),
    authentication: Type.Optional(RoleAuthentication),
    permission_ids: Type.Optional(
      Type.Array(Uuid, { description: 'In no particular order. Only with `include=permission_ids`.' }),
    ),
    holders: Type.Optional(
      Type.Integer({ description: 'Users and service accounts with the role. Only with `include=holders`.' }),
    ),
  },
  { title: 'SummarizedRole' },
);
export type SummarizedRole = Type.Static<typeof SummarizedRole>;

export const RoleEnvelope = DataEnvelope(Role);
export const RoleListEnvelope = ListEnvelope(Role);
/** All roles, without pagination. */
export const AllRolesEnvelope = DataEnvelope(Type.Array(Role));
export const RoleSummariesEnvelope = ListEnvelope(SummarizedRole);
export const RolePermissionsEnvelope = DataEnvelope(
  Type.Object(
    { id: Uuid, name: Type.String(), permissions: Type.Array(Permission) },
    { title: 'RolePermissions' },
  ),
);

export const CreateRoleBody = Type.Object(
  withOtherNames({
    name: NameInput('Editor'),
    description: Type.Optional(DescriptionInput),
    role_group_id: Type.Optional(Type.Union([Uuid, Type.Null()])),
    permission_ids: Type.Optional(UuidList),
  }),
  { title: 'CreateRole' },
);
export type CreateRoleBody = Type.Static<typeof CreateRoleBody>;

export const UpdateRoleBody = Type.Partial(CreateRoleBody, { title: 'UpdateRole' });
export type UpdateRoleBody = Type.Static<typeof UpdateRoleBody>;

const permissionIds = Type.Object(withOtherNames({ permission_ids: Type.Optional(UuidList) }));
/** An object or the bare array. */
export const PermissionIdsBody = Type.Union([permissionIds, UuidList], { title: 'PermissionIds' });
export type PermissionIdsBody = Type.Static<typeof PermissionIdsBody>;
/** For DELETE, which accepts the ids in the query alone. */
export const OptionalPermissionIdsBody = Type.Union([permissionIds, UuidList, Type.Null()], {
  title: 'OptionalPermissionIds',
});
export const PermissionIdsQuery = Type.Object({
  permission_ids: Type.Optional(UuidList),
  ...DryRunQuery.properties,
});

export const RoleParams = Type.Object({ role_id: Uuid });
export const RolePermissionParams = Type.Object({ role_id: Uuid, permission_id: Uuid });
const include = Type.Optional(
  Type.Enum(['holders'], { description: '`holders` adds `holders` and `version` to each role.' }),
);
export const AllRolesQuery = Type.Object({ include });
export type AllRolesQuery = Type.Static<typeof AllRolesQuery>;
const roleFilters = {
  name_pattern: Type.Optional(
    Type.String({
      maxLength: 250,
      description: '`*` stands for any characters; without one the match is exact.',
    }),
  ),
  holders: Type.Optional(
    Type.Enum(['none'], { description: '`none`: neither a user nor a service account has the role.' }),
  ),
  permissions: Type.Optional(Type.Enum(['none'], { description: '`none`: the role grants nothing.' })),
};
export const RoleListQuery = Type.Object({ ...roleFilters, include });
export type RoleListQuery = Type.Static<typeof RoleListQuery>;
export const RoleSummariesQuery = Type.Object({
  ...roleFilters,
  include: Type.Optional(
    Type.Array(Type.Enum(['permission_ids', 'holders']), {
      maxItems: 2,
      description: 'Repeat it for both: `include=permission_ids&include=holders`.',
    }),
  ),
});
export type RoleSummariesQuery = Type.Static<typeof RoleSummariesQuery>;
