// Superusers made by whoever runs the service, from the command line. No request reaches this.

import type { Db } from '../../database.ts';
import { brokenConstraint } from '../../platform/db/failures.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import { AppError } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import type { Logger } from '../../platform/log.ts';
import { recordChange } from '../audit/service.ts';
import { hashFirstPassword, type PasswordDeps } from '../passwords/service.ts';
import { cleanNames } from './service.ts';
import { insertUser } from './store.ts';
import { addAdminRole, lockUserByEmail, raiseToSuperuser } from './superuser-store.ts';

/**
 * Active, verified, with role Admin. `email` is canonical. Throws `invalid_input` (names), `password_rejected` with
 * every broken rule, `email_taken`.
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
      await insertUser(tx, {
        id,
        email,
        ...names,
        password_hash: passwordHash,
        verified: true,
        is_superuser: true,
      });
      await addAdminRole(tx, id);
      await recordChange(tx, deps.log, null, {
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

/** Makes the account of this canonical address an active, verified superuser. Null: no account; false: it was one. */
export function promoteToSuperuser(deps: { db: Db; log: Logger }, email: string): Promise<boolean | null> {
  return inTransaction(deps.db, async (tx) => {
    const user = await lockUserByEmail(tx, email);
    if (!user) return null;
    const { user_id: id, ...before } = user;
    if (before.is_superuser && before.is_active && before.verified) return false;
    await raiseToSuperuser(tx, id);
    await recordChange(tx, deps.log, null, {
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
