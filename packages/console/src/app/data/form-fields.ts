// The fields that the forms of a record must have, as types: all that the API takes, but what is left out by name.
// A new field of the API is a compile error in each form until it is handled there or left out here.
import type {
  CreateUser,
  ServiceAccount,
  UpdateApplication,
  UpdateIdentityProvider,
  UpdateRole,
  UpdateServiceAccount,
  UpdateUser,
  UpdateWebhook,
  User,
} from '@castellan/sdk';

/** Roles have a picker, and other names in the API. */
type Roles = 'role_id' | 'role_ids' | 'roles';

/** Names that the API has besides `role_ids`. */
type OtherRoleNames = Exclude<Roles, 'role_ids'>;

/** Nobody sets them. */
type Kept = 'id' | 'created_at' | 'updated_at' | 'invited_at' | 'deletion_due_at';

type State = 'is_active' | 'is_superuser';

/** A new user is active, verified and no superuser. */
export type NewUserField = Exclude<keyof CreateUser, Roles | State | 'verified'>;
/** State and password have dialogs. */
export type UserField = Exclude<keyof UpdateUser, Roles | State | 'password'>;
/** Changes of these are shown to a person who was slower. Permissions follow from the roles. */
export type ComparedUserField = Exclude<keyof User, Kept | 'permissions'>;
/** Permissions have a page. */
export type RoleField = Exclude<keyof UpdateRole, 'permission_ids' | 'permissions'>;
/** The state has a dialog. */
export type ServiceAccountField = Exclude<keyof UpdateServiceAccount, Roles | 'is_active'>;
/** As of users. */
export type ComparedServiceAccountField = Exclude<
  keyof ServiceAccount,
  Kept | 'permissions' | 'last_used_at' | 'created_by_id'
>;
/** What never changes has no field; the rule of who may sign in and the API resources have tabs. */
export type ApplicationField = Exclude<
  keyof UpdateApplication,
  'client_id' | 'type' | 'required_permission_id' | 'resources'
>;
/** What never changes has no field; the state has a dialog, and the position is where it is in the list. */
export type ProviderField = Exclude<
  keyof UpdateIdentityProvider,
  'slug' | 'kind' | 'is_active' | 'position' | OtherRoleNames
>;
/** The state has buttons. */
export type WebhookField = Exclude<keyof UpdateWebhook, 'status'>;
