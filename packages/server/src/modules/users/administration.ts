// Accounts as administrators make and change them: create, update, many at once.
import type { BulkUpdateUsersBody, CreateUserBody, UpdateUserBody, User } from '@castellan/contract/users';
import type { Tx } from '../../database.ts';
import { brokenConstraint } from '../../platform/db/failures.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import { AppError } from '../../platform/errors.ts';
import type { Client } from '../../platform/http/client.ts';
import { canonicalIds, requireAllFound } from '../../platform/http/ids.ts';
import { newId } from '../../platform/ids.ts';
import { recordChange } from '../audit/service.ts';
import { requireMayGrantRoles, requireStillEntitled } from '../authz/delegation.ts';
import type { Actor } from '../authz/guard.ts';
import {
  clearLock,
  findPasswordHolder,
  hashFirstPassword,
  type PasswordDeps,
  replacePassword,
} from '../passwords/service.ts';
import { cleanChange, readBulkChanges, requireEmail } from './change-input.ts';
import { addRoleLinks, lockRoles } from './change-store.ts';
import { carryOut, type Plan, planChanges, type UserChange } from './changes.ts';
import type { VersionedUser } from './presentation.ts';
import { cleanNames, present, type UserDeps, type VersionedAnswer } from './service.ts';
import { findUserById, insertUser } from './store.ts';

export type UserAdminDeps = UserDeps &
  PasswordDeps & {
    accountMail: {
      enqueue(tx: Tx, kind: 'verification', payload: { email: string }): Promise<void>;
      wake(): void;
    };
  };

/** Verified from the start. Throws 400, 404 (role), 403 (roles that may more than the caller), 409 (e-mail). */
export async function createUser(
  deps: UserAdminDeps,
  client: Client,
  actor: Actor,
  body: CreateUserBody,
): Promise<VersionedAnswer> {
  const email = requireEmail(body.email);
  const names = cleanNames({ first_name: body.first_name, last_name: body.last_name });
  const roleIds = canonicalIds(body.role_id ?? []);
  const passwordHash = await hashFirstPassword(deps, body.password, { email, ...names });
  const id = newId();
  try {
    const record = await inTransaction(deps.db, async (tx) => {
      const roles = await lockRoles(tx, roleIds);
      requireAllFound(
        'role_not_found',
        'role_id',
        roleIds,
        roles.map((role) => role.id),
      );
      await requireStillEntitled(tx, actor);
      await requireMayGrantRoles(tx, actor, roleIds);
      await insertUser(tx, { id, email, ...names, password_hash: passwordHash, verified: true });
      await addRoleLinks(
        tx,
        roleIds.map((roleId) => ({ userId: id, roleId })),
      );
      await recordChange(tx, deps.log, client, {
        action: 'user_created',
        actorId: actor.user_id,
        resourceType: 'user',
        resourceId: id,
        before: null,
        after: { email, ...names, verified: true, roles: roles.map((role) => role.name).sort() },
      });
      return (await findUserById(tx, id)) as VersionedUser;
    });
    return await present(deps, record);
  } catch (error) {
    if (brokenConstraint(error) !== 'users_email_key') throw error;
    throw new AppError('email_taken', {
      errors: [{ field: 'email', code: 'email_taken', message: 'another account has this address' }],
    });
  }
}

/** Nothing to change is no change. Throws 400, 404, 412, 403, 409. */
export async function updateUser(
  deps: UserAdminDeps,
  client: Client,
  actor: Actor,
  id: string,
  { password, ...input }: UpdateUserBody,
  ifMatch: readonly number[] | null,
): Promise<VersionedAnswer> {
  const change = { ...cleanChange(id, input), setsPassword: password !== undefined };
  const plan = (tx: Tx): Promise<Plan> => planChanges(tx, actor, [change], { ifMatch });
  const users =
    password === undefined
      ? await inTransaction(deps.db, async (tx) => carryOut(tx, deps, client, actor, await plan(tx)))
      : await updateWithPassword(deps, client, actor, change, password, plan);
  return present(deps, users[0] as VersionedUser);
}

async function updateWithPassword(
  deps: UserAdminDeps,
  client: Client,
  actor: Actor,
  { id, fields }: UserChange,
  password: string,
  plan: (tx: Tx) => Promise<Plan>,
): Promise<VersionedUser[]> {
  // Refused before the password is looked at: whether it was used before is nobody's business who may not set it.
  await inTransaction(deps.db, plan);
  const holder = await findPasswordHolder(deps.db, id);
  if (!holder) throw new AppError('user_not_found');
  const { email = holder.email, first_name = holder.first_name, last_name = holder.last_name } = fields;
  let agreed!: Plan;
  const users = await replacePassword(deps, client, {
    holder: { ...holder, email, first_name, last_name },
    newPassword: password,
    action: 'password_set_by_admin',
    actorId: actor.user_id,
    prepare: async (tx) => {
      agreed = await plan(tx);
    },
    finish: (tx) => carryOut(tx, deps, client, actor, agreed),
  });
  await clearLock(deps, client, { actorId: actor.user_id, userId: id, email, reason: 'password_set' });
  return users;
}

/** All of them or none, in the order of the request. Refusals name the users at fault. */
export async function updateUsers(
  deps: UserAdminDeps,
  client: Client,
  actor: Actor,
  body: BulkUpdateUsersBody,
): Promise<User[]> {
  const { changes, idsField } = readBulkChanges(body);
  const records = await inTransaction(deps.db, async (tx) =>
    carryOut(tx, deps, client, actor, await planChanges(tx, actor, changes, { idsField })),
  );
  const answers = await Promise.all(records.map((record) => present(deps, record)));
  return answers.map((answer) => answer.user);
}
