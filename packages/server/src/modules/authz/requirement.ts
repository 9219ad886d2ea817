// Decides what a user must do first, before their sessions count for anything else.
// Everything that takes a session for a caller asks here, inside the service and for others (introspection).
import type { Requirement } from '../../platform/http/requirements.ts';
import type { Principal } from './caller.ts';

/** The columns of a user by which it is decided. */
export type Obliged = { readonly must_change_password: boolean };

/**
 * Returns what the principal must do first; null if nothing. `now` is its row, if it was read after the principal was
 * found. Service accounts must do nothing.
 */
export function requirementOf(principal: Principal, now?: Obliged): Requirement | null {
  if (principal.type !== 'user') return null;
  return (now ?? principal.record).must_change_password ? 'password_change' : null;
}
