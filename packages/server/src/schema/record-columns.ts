// The columns of each table that its record in the API shows, for code that must handle each of them or leave it out by name.
// It must not contain a value.
import type { RoleGroup } from '@castellan/contract/role-groups';
import type { Role } from '@castellan/contract/roles';
import type { ServiceAccount } from '@castellan/contract/service-accounts';
import type { userFields } from '@castellan/contract/users';
import type { Row } from './database.ts';

export type UserColumn = keyof typeof userFields;
export type RoleColumn = keyof Role & keyof Row<'roles'>;
export type RoleGroupColumn = keyof RoleGroup & keyof Row<'role_groups'>;
export type ServiceAccountColumn = keyof ServiceAccount & keyof Row<'service_accounts'>;

/** Columns that the database fills in. */
export type KeptColumn = 'created_at' | 'updated_at' | 'version';
