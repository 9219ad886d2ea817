// Changes of a user to their own record.
import { fieldsRefusedOnMe, type UpdateMeBody, type User } from '@castellan/contract/users';
import { AppError } from '../../platform/errors.ts';
import { allHandled } from '../../platform/fields.ts';
import { requireVersion, type Versioned } from '../../platform/http/record-version.ts';
import type { UserCaller } from '../authz/caller.ts';
import { change } from '../authz/change.ts';
import { sameAccess } from '../authz/impact/impact.ts';
import { cleanNames } from './names.ts';
import { toUser } from './presentation.ts';
import { present, readRecord, type UserDeps } from './service.ts';
import { lockUser, updateNames } from './store.ts';

/** Changes the caller's names. Throws `field_not_allowed` or `invalid_input` (400), 412. */
export async function updateMe(
  deps: UserDeps,
  caller: UserCaller,
  body: UpdateMeBody,
): Promise<Versioned<User>> {
  const named: ReadonlySet<string> = new Set(fieldsRefusedOnMe);
  const refused = Object.keys(body).filter((field) => named.has(field) || field.startsWith('is_'));
  if (refused.length > 0)
    throw new AppError('field_not_allowed', {
      detail: `These fields cannot be changed by this operation: ${refused.join(', ')}.`,
      errors: refused.map((field) => ({
        field,
        code: 'not_allowed',
        message: 'cannot be changed by this operation',
      })),
    });
  const { first_name, last_name, ...rest } = body;
  allHandled(rest);
  const names = cleanNames({ first_name, last_name });
  const { id } = caller.principal;
  const record = await change(deps, caller, async (locking) => {
    const { tx } = locking;
    await lockUser(tx, id);
    const entitled = await locking.entitle();
    const found = await readRecord(tx, id);
    await requireVersion(caller.ifMatch, found.version, () => toUser(found, caller.graph));
    const before = { first_name: found.first_name, last_name: found.last_name };
    const after = { ...before, ...names };
    if (after.first_name === before.first_name && after.last_name === before.last_name)
      return entitled.unchanged(found);
    await updateNames(entitled, id, names);
    return entitled.done(await readRecord(tx, id), sameAccess, {
      action: 'user_profile_updated',
      resourceType: 'user',
      resourceId: id,
      before,
      after,
    });
  });
  return present(deps, record);
}
