// The columns of a user that checks of a password read. It must not contain a whole statement.
import type { Row } from './database.ts';

type User = Row<'users'>;
export type PasswordHolder = Pick<
  User,
  'email' | 'first_name' | 'last_name' | 'password_hash' | 'password_epoch'
> & { user_id: User['id'] };
/** Has also the flags that a sign-in checks after the password. */
export type CredentialHolder = PasswordHolder & Pick<User, 'is_active' | 'verified' | 'invited_at'>;

/** Select list of a `PasswordHolder`, from `users`. */
export const passwordColumns = 'id as user_id, email, first_name, last_name, password_hash, password_epoch';
/** Select list of a `CredentialHolder`, from `users`. */
export const credentialColumns = `${passwordColumns}, is_active, verified, invited_at`;
