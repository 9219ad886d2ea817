// The columns of a user that statements read: those of its record, and what belongs to them.
// It must not contain a whole statement.
import { userFields } from '@castellan/contract/users';
import type { Row } from './database.ts';

type Field = keyof typeof userFields;
export type UserRow = Pick<Row<'users'>, Field | 'version'> & {
  user_id: Row<'users'>['id'];
  has_password: boolean;
  role_ids: Row<'roles'>['id'][];
  /** Stamp of the role → permission graph in the same snapshot. */
  authz_stamp: Row<'authz_version'>['stamp'];
};

const isField = (name: string): name is Field => name in userFields;

export const userFieldNames = Object.keys(userFields).filter(isField);

/** Select list of a `UserRow`, from `users u`. */
export const userColumns = `
  u.id as user_id, ${userFieldNames.map((name) => `u.${name}`).join(', ')}, u.version,
  u.password_hash is not null as has_password,
  array(select r.role_id from held_user_roles r where r.user_id = u.id) as role_ids,
  (select stamp from authz_version) as authz_stamp`;
