// Schemas of role groups and of the bodies that change them.
import Type from 'typebox';
import { withOtherNames } from './access/access-fields.ts';
import { authorship, DescriptionInput, ListEnvelope, NameInput, Uuid, UuidList } from './http/common.ts';
import { DataEnvelope } from './http/envelope.ts';

/** A role in a role group, without its permissions, which `GET /roles/{role_id}` returns. */
export const GroupRole = Type.Object(
  {
    id: Uuid,
    name: Type.String(),
    description: Type.String(),
    role_group_id: Type.Union([Uuid, Type.Null()]),
    is_system: Type.Boolean(),
    ...authorship,
  },
  { title: 'GroupRole' },
);

/** Contains its descendants, at most 32 levels. */
export const RoleGroup = Type.Cyclic(
  {
    RoleGroup: Type.Object(
      {
        id: Uuid,
        name: Type.String(),
        description: Type.String(),
        parent_id: Type.Union([Uuid, Type.Null()]),
        children: Type.Array(Type.Ref('RoleGroup')),
        roles: Type.Array(GroupRole),
        ...authorship,
      },
      { title: 'RoleGroup' },
    ),
  },
  'RoleGroup',
);
export type RoleGroup = {
  id: string;
  name: string;
  description: string;
  parent_id: string | null;
  children: RoleGroup[];
  roles: Type.Static<typeof GroupRole>[];
  created_at: string;
  updated_at: string;
  created_by_id: string | null;
};

export const RoleGroupEnvelope = DataEnvelope(RoleGroup);
export const RoleGroupListEnvelope = ListEnvelope(RoleGroup);
export const RoleGroupsEnvelope = DataEnvelope(Type.Array(RoleGroup));
export const DeletedCountEnvelope = DataEnvelope(
  Type.Object({ deleted: Type.Integer() }, { title: 'DeletedCount' }),
);
export const SyncEnvelope = DataEnvelope(
  Type.Object({ created: Type.Integer(), skipped: Type.Integer() }, { title: 'SyncResult' }),
);

export const RoleGroupParams = Type.Object({ group_id: Uuid });
export const RoleGroupQuery = Type.Object({
  include_nested_roles: Type.Optional(Type.Boolean({ default: false })),
});

export const CreateRoleGroupBody = Type.Object(
  {
    name: NameInput('Editors'),
    description: Type.Optional(DescriptionInput),
    parent_id: Type.Optional(Type.Union([Uuid, Type.Null()])),
  },
  { title: 'CreateRoleGroup' },
);
export type CreateRoleGroupBody = Type.Static<typeof CreateRoleGroupBody>;
export const UpdateRoleGroupBody = Type.Partial(CreateRoleGroupBody, { title: 'UpdateRoleGroup' });
export type UpdateRoleGroupBody = Type.Static<typeof UpdateRoleGroupBody>;

/** Maximum groups that one bulk request may create. */
export const MAX_BULK_GROUPS = 1_000;
const BulkItem = Type.Intersect([
  CreateRoleGroupBody,
  Type.Object({
    parent: Type.Optional(Type.String({ description: 'The name of an earlier item of this request.' })),
  }),
]);
export type BulkRoleGroup = Type.Static<typeof BulkItem>;
const BulkItems = Type.Array(BulkItem, { minItems: 1, maxItems: MAX_BULK_GROUPS });
export const BulkCreateRoleGroupsBody = Type.Union([Type.Object({ groups: BulkItems }), BulkItems], {
  title: 'BulkCreateRoleGroups',
});
export type BulkCreateRoleGroupsBody = Type.Static<typeof BulkCreateRoleGroupsBody>;
export const BulkDeleteRoleGroupsBody = Type.Union([Type.Object({ group_ids: UuidList }), UuidList], {
  title: 'BulkDeleteRoleGroups',
});
export type BulkDeleteRoleGroupsBody = Type.Static<typeof BulkDeleteRoleGroupsBody>;
export const RoleIdsBody = Type.Union(
  [Type.Object(withOtherNames({ role_ids: Type.Optional(UuidList) })), UuidList],
  { title: 'RoleIds' },
);
export type RoleIdsBody = Type.Static<typeof RoleIdsBody>;
/** Accepts either name; `name` takes precedence. */
export const CloneRoleGroupBody = Type.Object(
  {
    name: Type.Optional(NameInput('Editors (copy)')),
    new_name: Type.Optional(NameInput('Editors (copy)')),
  },
  { title: 'CloneRoleGroup', description: 'One of the two is required.' },
);
export type CloneRoleGroupBody = Type.Static<typeof CloneRoleGroupBody>;
