// Schemas of users and of the bodies that change them.
// No schema here may contain internal attributes (password hash, counters, locks).
import Type from 'typebox';
import { DryRunQuery } from './access/access-changes.ts';
import { accessFields, withOtherNames } from './access/access-fields.ts';
import { AttributeValues, MAX_ATTRIBUTE_FILTERS, NewAttributes } from './attributes/user-attributes.ts';
import { factorMethods } from './authentication.ts';
import {
  EmailInput,
  ExternalId,
  ExternalIdInput,
  FirstNameInput,
  LastNameInput,
  MAX_IDS,
  PageQueryWith,
  PasswordInput,
  Timestamp,
  Uuid,
  UuidList,
} from './http/common.ts';
import { DataEnvelope } from './http/envelope.ts';

export const RoleSummary = Type.Object(
  { id: Uuid, name: Type.String(), description: Type.String() },
  { title: 'RoleSummary' },
);

/** The columns in a user's record. The SQL, the type of its rows and the response are derived from them. */
export const userFields = {
  email: Type.String({
    description:
      'In lower case. An internationalized domain has its letters, unless it could be read as another one; then it stays `xn--…`.',
  }),
  first_name: Type.String(),
  last_name: Type.String(),
  is_active: Type.Boolean(),
  is_superuser: Type.Boolean(),
  verified: Type.Boolean(),
  must_change_password: Type.Boolean({
    description:
      "Until the password is changed, only the user's own record, `change_password` and sign-out are open.",
  }),
  external_id: ExternalId,
  invited_at: Type.Union([Timestamp, Type.Null()], {
    description: 'When the user was invited, until they accept. Null for everybody else.',
  }),
  deletion_due_at: Type.Union([Timestamp, Type.Null()], {
    description:
      'When the account is removed, because its owner deleted it. It is not active until then. Null for everybody else.',
  }),
  created_at: Timestamp,
  updated_at: Timestamp,
};
const { created_at, updated_at, ...fields } = userFields;

export const User = Type.Object(
  {
    id: Uuid,
    ...fields,
    roles: Type.Array(RoleSummary),
    permissions: Type.Array(Type.String(), {
      description:
        'Sorted, unique names of the permissions granted by all roles; every permission for a superuser.',
    }),
    created_at,
    updated_at,
  },
  { title: 'User' },
);
export type User = Type.Static<typeof User>;

export const OwnUserQuery = Type.Object({
  permissions: Type.Optional(
    Type.Enum(['builtin'], {
      description:
        "`builtin`: `permissions` lists only the service's own, not those of your product, which may be thousands.",
    }),
  ),
});

export const UserEnvelope = DataEnvelope(User);

export const UpdateMeBody = Type.Object(
  {
    first_name: Type.Optional(FirstNameInput),
    last_name: Type.Optional(LastNameInput),
  },
  { title: 'UpdateMe', description: 'Only names can be changed here.' },
);
export type UpdateMeBody = Type.Static<typeof UpdateMeBody>;

export const userStatuses = ['active', 'inactive', 'locked', 'unverified'] as const;
export type UserStatus = (typeof userStatuses)[number];

const statusDescription =
  'As the dashboard shows it: `inactive`; otherwise `locked` after failed sign-ins; otherwise `unverified`; otherwise `active`.';

export const UserActivity = Type.Object(
  {
    status: Type.Enum([...userStatuses], { description: statusDescription }),
    live_sessions: Type.Integer(),
    last_active_at: Type.Union([Timestamp, Type.Null()], {
      description:
        'The latest sign-in, or the latest token refresh of a live session if that is later. Null before the first sign-in.',
    }),
  },
  { title: 'UserActivity' },
);
export type UserActivity = Type.Static<typeof UserActivity>;

export const SecondFactorState = Type.Object(
  {
    on: Type.Boolean({
      description: 'Whether the user has an authenticator app, a passkey or a security key.',
    }),
    methods: Type.Array(Type.Enum([...factorMethods]), {
      description: 'What the user has; `recovery_link` alone after a reset.',
    }),
    required_acr: Type.Union([Type.Enum(['aal2', 'phr']), Type.Null()], {
      description: 'What is required of the user, now or from a date that is announced. Null: nothing.',
    }),
    met: Type.Boolean({ description: 'Whether the factors of the user reach that.' }),
  },
  { title: 'SecondFactorState' },
);
export type SecondFactorState = Type.Static<typeof SecondFactorState>;

export const InvitationState = Type.Object(
  {
    sent_at: Type.Union([Timestamp, Type.Null()], {
      description: 'When the latest mail was written. Null: none has been yet.',
    }),
    expires_at: Type.Union([Timestamp, Type.Null()], {
      description: 'The link of the latest mail works until then, unless an administrator ended it.',
    }),
  },
  { title: 'InvitationState' },
);
export type InvitationState = Type.Static<typeof InvitationState>;

export const ListedUser = Type.Object(
  {
    ...User.properties,
    activity: Type.Optional(UserActivity),
    second_factor: Type.Optional(SecondFactorState),
    invitation: Type.Optional(
      Type.Union([InvitationState, Type.Null()], { description: 'Null: the user is not invited.' }),
    ),
    attributes: Type.Optional(AttributeValues),
  },
  { title: 'ListedUser' },
);
export type ListedUser = Type.Static<typeof ListedUser>;

/** The list of users differs from other lists (spec: What the service does, 7). */
export const UserListEnvelope = DataEnvelope(
  Type.Object(
    {
      items: Type.Array(ListedUser),
      total: Type.Integer({
        description:
          'How many users match. Exact without filters, with `is_active` and `verified`, with `roles=none` alone, and with a `status` alone; otherwise exact up to 10,000: see `total_is_estimate`. With `role_id` of more than 10,000 users and another filter, up to 10,000 users are looked at.',
      }),
      total_is_estimate: Type.Optional(
        Type.Boolean({
          description:
            'True if more users may match. `total` and `pages` then say how many there are at least. A search shows only the first 10,000; narrow it to see the others.',
        }),
      ),
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
  'id',
  '-id',
] as const;
export type UserSortOrder = (typeof userSortOrders)[number];

export const secondFactorFilters = ['on', 'off', 'missing'] as const;
export type SecondFactorFilter = (typeof secondFactorFilters)[number];

const userExtras = ['activity', 'second_factor', 'invitation', 'attributes'] as const;
export type UserExtra = (typeof userExtras)[number];

export const invitationFilters = ['open', 'ended'] as const;
export type InvitationFilter = (typeof invitationFilters)[number];

const userListFields = {
  email: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 1_000,
      description: 'Exact match, in any spelling that signs the user in.',
    }),
  ),
  external_id: Type.Optional(
    Type.String({ minLength: 1, maxLength: 1_000, description: 'Exact match, in the same case.' }),
  ),
  search: Type.Optional(
    Type.String({
      maxLength: 250,
      description:
        'Words that the full name or email address contains, in any order, or a whole id. Case, accents and the shape of apostrophes and hyphens do not matter; no wildcards.',
    }),
  ),
  status: Type.Optional(Type.Enum([...userStatuses], { description: statusDescription })),
  role_id: Type.Optional(Uuid),
  roles: Type.Optional(Type.Enum(['none'], { description: '`none`: users without a role.' })),
  removal_within_hours: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 8_760,
      description:
        'Accounts that registered themselves and that the clean-up removes within this time, unless they are verified.',
    }),
  ),
  is_active: Type.Optional(Type.Boolean()),
  verified: Type.Optional(Type.Boolean()),
  invited: Type.Optional(
    Type.Boolean({ description: '`true`: users who have yet to accept an invitation. `false`: all others.' }),
  ),
  invitation: Type.Optional(
    Type.Enum([...invitationFilters], {
      description:
        '`open`: invited users whose invitation can be accepted. `ended`: those whose invitation ended unanswered.',
    }),
  ),
  after: Type.Optional(
    Type.String({
      format: 'uuid',
      description:
        'Only users whose id is greater. With `sort=id`, the last id of a response as `after` of the next request reads a whole list: each user once, also while the list changes.',
    }),
  ),
  second_factor: Type.Optional(
    Type.Enum([...secondFactorFilters], {
      description:
        '`on`: users with a second factor. `off`: users without one. `missing`: users whose factors do not reach what is required of them, now or from a date that is announced.',
    }),
  ),
  'attribute.{name}': Type.Optional(
    Type.Union([Type.String(), Type.Array(Type.String())], {
      description: `Only users with exactly this value of a searchable attribute: \`attribute.cost_center=4711\`. At most ${MAX_ATTRIBUTE_FILTERS}, all of which must hold. Needs \`users.read\`.`,
    }),
  ),
  include: Type.Optional(
    Type.Union(
      [Type.Enum([...userExtras]), Type.Array(Type.Enum([...userExtras]), { maxItems: userExtras.length })],
      {
        description:
          '`activity` adds status, live sessions and last activity to each user; `second_factor` adds their factors, `invitation` when an invitation was sent and when it expires, `attributes` their attributes (needs `users.read`). Repeat it for several.',
      },
    ),
  ),
};
export const UserListQuery = PageQueryWith({
  ...userListFields,
  sort: Type.Optional(Type.Enum([...userSortOrders])),
});
export type UserListQuery = Type.Static<typeof UserListQuery>;
/** The same, sorted by `created_at`, ascending or descending. */
export const UserByCreationQuery = PageQueryWith({
  ...userListFields,
  sort: Type.Optional(Type.Enum(['created_at', '-created_at'])),
});

export const UserParams = Type.Object({ user_id: Uuid });
export const UserSessionParams = Type.Object({ user_id: Uuid, session_id: Uuid });

const MustChangePassword = Type.Boolean({
  description: 'Whether the user must change their password before they can do anything else.',
  examples: [false],
});

/** The columns of a user that administrators change, besides the email. The SQL that writes them follows. */
export const changeableFields = {
  first_name: Type.Optional(FirstNameInput),
  last_name: Type.Optional(LastNameInput),
  is_active: Type.Optional(Type.Boolean()),
  is_superuser: Type.Optional(Type.Boolean({ description: 'Only a superuser can set it.' })),
  verified: Type.Optional(Type.Boolean()),
  must_change_password: Type.Optional(MustChangePassword),
  external_id: Type.Optional(ExternalIdInput),
};

export const CreateUserBody = Type.Object(
  withOtherNames({
    email: EmailInput,
    password: PasswordInput,
    ...changeableFields,
    first_name: FirstNameInput,
    last_name: LastNameInput,
    role_id: Type.Optional(UuidList),
    attributes: Type.Optional(NewAttributes),
  }),
  {
    title: 'CreateUser',
    description: 'Without the optional fields: active, verified, no superuser, without roles.',
  },
);
export type CreateUserBody = Type.Static<typeof CreateUserBody>;

const userChange = withOtherNames({
  email: Type.Optional(EmailInput),
  ...changeableFields,
  role_id: Type.Optional(UuidList),
});
export const UpdateUserBody = Type.Object(
  { ...userChange, password: Type.Optional(PasswordInput) },
  { title: 'UpdateUser', description: '`role_id` replaces all roles; `password` ends every session.' },
);
export type UpdateUserBody = Type.Static<typeof UpdateUserBody>;

/** Fields that `PUT /users/me` refuses (400) instead of ignoring, because ignoring them would mislead. */
export const fieldsRefusedOnMe: readonly string[] = [
  'id',
  ...accessFields,
  ...Object.keys(UpdateUserBody.properties).filter((name) => !(name in UpdateMeBody.properties)),
];

/** `password` is refused (400), so it is not named here. Either `user_ids` with `updates`, or `users`. */
export const BulkUpdateUsersBody = Type.Object(
  {
    user_ids: Type.Optional(UuidList),
    updates: Type.Optional(Type.Object(userChange, { description: 'Applied to every user in `user_ids`.' })),
    users: Type.Optional(
      Type.Array(Type.Object({ id: Uuid, ...userChange }), {
        maxItems: MAX_IDS,
        description: 'Users with separate changes; replaces `user_ids` and `updates`.',
      }),
    ),
  },
  { title: 'BulkUpdateUsers', description: 'Changes all of the users or none.' },
);
export type BulkUpdateUsersBody = Type.Static<typeof BulkUpdateUsersBody>;

/** Accepts `{ role_ids }`, under any of its names, or the bare array. */
export const UserRolesBody = Type.Union(
  [Type.Object(withOtherNames({ role_ids: Type.Optional(UuidList) })), UuidList],
  { title: 'UserRoles' },
);
export type UserRolesBody = Type.Static<typeof UserRolesBody>;
/** For DELETE, which accepts the ids in the query alone. */
export const OptionalUserRolesBody = Type.Union([...UserRolesBody.anyOf, Type.Null()], {
  title: 'OptionalUserRoles',
});
export const UserRolesQuery = Type.Object({ role_ids: Type.Optional(UuidList), ...DryRunQuery.properties });
