// The user as the API shows it, and the bodies of a user's own operations.
// Internal attributes (hash, counters, locks) have no place in any schema here.
import Type from 'typebox';
import {
  EmailInput,
  MAX_IDS,
  PageQueryWith,
  PasswordInput,
  PersonNameInput,
  Timestamp,
  Uuid,
  UuidList,
} from './common.ts';
import { DataEnvelope } from './envelope.ts';

export const RoleSummary = Type.Object(
  { id: Uuid, name: Type.String(), description: Type.String() },
  { title: 'RoleSummary' },
);

export const User = Type.Object(
  {
    id: Uuid,
    email: Type.String(),
    first_name: Type.String(),
    last_name: Type.String(),
    is_active: Type.Boolean(),
    is_superuser: Type.Boolean(),
    verified: Type.Boolean(),
    roles: Type.Array(RoleSummary),
    permissions: Type.Array(Type.String(), {
      description: 'Sorted, unique permission names through all roles; all of them for a superuser.',
    }),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: 'User' },
);
export type User = Type.Static<typeof User>;

export const UserEnvelope = DataEnvelope(User);

export const UpdateMeBody = Type.Object(
  {
    first_name: Type.Optional(PersonNameInput('Ada')),
    last_name: Type.Optional(PersonNameInput('Lovelace')),
  },
  { title: 'UpdateMe', description: 'Only names can be changed here.' },
);
export type UpdateMeBody = Type.Static<typeof UpdateMeBody>;

/** Fields that `PUT /users/me` refuses (400) instead of ignoring, because ignoring them would mislead. */
export const fieldsRefusedOnMe = [
  'id',
  'email',
  'password',
  'roles',
  'role_id',
  'is_active',
  'is_superuser',
  'is_verified',
  'verified',
  'permissions',
] as const;

/** The users list has a shape of its own (spec: What the service does, 7). */
export const UserListEnvelope = DataEnvelope(
  Type.Object(
    {
      items: Type.Array(User),
      total: Type.Integer(),
      page: Type.Integer(),
      size: Type.Integer(),
      pages: Type.Integer(),
    },
    { title: 'UserPage' },
  ),
);
export const UsersEnvelope = DataEnvelope(Type.Array(User));

export const userSortOrders = [
  'created_at',
  '-created_at',
  'email',
  '-email',
  'last_name',
  '-last_name',
] as const;
export type UserSortOrder = (typeof userSortOrders)[number];

const userFilters = {
  email: Type.Optional(Type.String({ maxLength: 1_000, description: 'Exact, without regard to case.' })),
  search: Type.Optional(
    Type.String({
      maxLength: 250,
      description: 'Part of the full name or of the e-mail address, without regard to case; no wildcards.',
    }),
  ),
  role_id: Type.Optional(Uuid),
  is_active: Type.Optional(Type.Boolean()),
  verified: Type.Optional(Type.Boolean()),
};
export const UserListQuery = PageQueryWith({
  ...userFilters,
  sort: Type.Optional(Type.Enum([...userSortOrders])),
});
export type UserListQuery = Type.Static<typeof UserListQuery>;
/** The same filters; the order is by `created_at`, either way. */
export const UserByCreationQuery = PageQueryWith({
  ...userFilters,
  sort: Type.Optional(Type.Enum(['created_at', '-created_at'])),
});

export const UserParams = Type.Object({ user_id: Uuid });
export const UserSessionParams = Type.Object({ user_id: Uuid, session_id: Uuid });

export const CreateUserBody = Type.Object(
  {
    email: EmailInput,
    password: PasswordInput,
    first_name: PersonNameInput('Ada'),
    last_name: PersonNameInput('Lovelace'),
    role_id: Type.Optional(UuidList),
  },
  { title: 'CreateUser' },
);
export type CreateUserBody = Type.Static<typeof CreateUserBody>;

const changeableFields = {
  email: Type.Optional(EmailInput),
  first_name: Type.Optional(PersonNameInput('Ada')),
  last_name: Type.Optional(PersonNameInput('Lovelace')),
  is_active: Type.Optional(Type.Boolean()),
  is_superuser: Type.Optional(Type.Boolean({ description: 'Only a superuser may set it.' })),
  verified: Type.Optional(Type.Boolean()),
  role_id: Type.Optional(UuidList),
};
export const UpdateUserBody = Type.Object(
  { ...changeableFields, password: Type.Optional(PasswordInput) },
  { title: 'UpdateUser', description: '`role_id` replaces all roles; `password` ends every session.' },
);
export type UpdateUserBody = Type.Static<typeof UpdateUserBody>;

/** `password` is refused (400), so it is not named here. Either `user_ids` with `updates`, or `users`. */
export const BulkUpdateUsersBody = Type.Object(
  {
    user_ids: Type.Optional(UuidList),
    updates: Type.Optional(Type.Object(changeableFields, { description: 'For every user of `user_ids`.' })),
    users: Type.Optional(
      Type.Array(Type.Object({ id: Uuid, ...changeableFields }), {
        maxItems: MAX_IDS,
        description: 'Each with its own changes; instead of `user_ids` and `updates`.',
      }),
    ),
  },
  { title: 'BulkUpdateUsers', description: 'All of them or none.' },
);
export type BulkUpdateUsersBody = Type.Static<typeof BulkUpdateUsersBody>;

/** `{ role_ids }`, `{ role_id }` or the bare array. */
export const UserRolesBody = Type.Union(
  [Type.Object({ role_ids: Type.Optional(UuidList), role_id: Type.Optional(UuidList) }), UuidList],
  { title: 'UserRoles' },
);
export type UserRolesBody = Type.Static<typeof UserRolesBody>;
/** For DELETE, where the ids may stand in the query alone. */
export const OptionalUserRolesBody = Type.Union([...UserRolesBody.anyOf, Type.Null()], {
  title: 'OptionalUserRoles',
});
export const UserRolesQuery = Type.Object({ role_ids: Type.Optional(UuidList) });
