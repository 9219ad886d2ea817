// Creates and promotes superusers for the command line. No request can reach this code.

import { brokenConstraint } from '../../platform/db/failures.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import { AppError } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import { assignAdmin } from '../assignments/unattended.ts';
import { type Audited, recordChange } from '../audit/service.ts';
import { hashFirstPassword, type PasswordDeps } from '../passwords/service.ts';
import { cleanNames } from './names.ts';
import { insertSuperuser } from './store.ts';
import { lockUserByEmail, raiseToSuperuser } from './superuser-store.ts';

/**
 * Creates an active, verified superuser with the role Admin. `email` is canonical. Throws `invalid_input` (names),
 * `password_rejected` with every broken rule, `email_taken`.
 */
export async function createSuperuser(
  deps: PasswordDeps,
  person: { email: string; first_name: string; last_name: string; password: string },
): Promise<void> {
  const { email, password } = person;
  const names = cleanNames({ first_name: person.first_name, last_name: person.last_name });
  const passwordHash = await hashFirstPassword(deps, password, { email, ...names });
  const id = newId();
  try {
    await inTransaction(deps.db, async (tx) => {
      await insertSuperuser(tx, { id, email, ...names, password_hash: passwordHash });
      await assignAdmin(tx, id);
      await recordChange(tx, deps.auditLog, null, {
        action: 'user_created',
        actorId: null,
        resourceType: 'user',
        resourceId: id,
        details: { after: { email, ...names, is_superuser: true, verified: true }, via: 'command_line' },
      });
    });
  } catch (error) {
    if (brokenConstraint(error) === 'users_email_key') throw new AppError('email_taken');
    throw error;
  }
}

/**
 * Makes the account of this canonical email an active, verified superuser. Returns null if there is no account, false
 * if it already was one.
 */
export function promoteToSuperuser(deps: Audited, email: string): Promise<boolean | null> {
  return inTransaction(deps.db, async (tx) => {
    const user = await lockUserByEmail(tx, email);
    if (!user) return null;
    const { user_id: id, ...before } = user;
    if (before.is_superuser && before.is_active && before.verified) return false;
    await raiseToSuperuser(tx, id);
    await recordChange(tx, deps.auditLog, null, {
      action: 'user_updated',
      actorId: null,
      resourceType: 'user',
      resourceId: id,
      details: {
        before,
        after: { is_superuser: true, is_active: true, verified: true },
        via: 'command_line',
      },
    });
    return true;
  });
}
