// Decides whether a user must do something first, before their sessions count for anything else.
// Everything that takes a session for a caller asks here, inside the service and for others (introspection).
import type { ErrorCode } from '@castellan/contract/errors';

/** The columns of a user by which their sessions are restricted. */
export type Restrictable = { readonly must_change_password: boolean };

/** Returns the code that refuses a restricted session; null if the user need do nothing first. */
export const restrictionOf = ({ must_change_password }: Restrictable): ErrorCode | null =>
  must_change_password ? 'password_change_required' : null;
