// Creates users and changes one or many of them, for administrators.
import type { AccessPreviewEnvelope } from '@castellan/contract/access-changes';
import type { BulkUpdateUsersBody, CreateUserBody, UpdateUserBody, User } from '@castellan/contract/users';
import { brokenConstraint } from '../../../platform/db/failures.ts';
import { AppError } from '../../../platform/errors.ts';
import { allHandled } from '../../../platform/fields.ts';
import { canonicalIds } from '../../../platform/http/ids.ts';
import type { Settle } from '../../../platform/http/plugins/idempotency.ts';
import type { Versioned } from '../../../platform/http/record-version.ts';
import { newId } from '../../../platform/ids.ts';
import type { RateLimitResult } from '../../../platform/limits/rate-limit.ts';
import { requireEmail } from '../../../platform/security/email.ts';
import { cleanExternalId } from '../../../platform/security/record-text.ts';
import type { Tx } from '../../../schema/database.ts';
import { lockWantedRoles, planRoles, rolesDelta, writeRoles } from '../../assignments/service.ts';
import { actorOf, type Caller } from '../../authz/caller.ts';
import { change, type Entry, type Locking, type Run, rehearseChange } from '../../authz/change.ts';
import { requireMayGrantRoles, requireProvedAll } from '../../authz/delegation.ts';
import { type PreviewDeps, preview } from '../../authz/impact/preview.ts';
import type { PolicySettings } from '../../authz/requirements/account.ts';
import { clearAttempts } from '../../lockout/service.ts';
import {
  countingRefusals,
  findPasswordHolder,
  hashFirstPassword,
  type PasswordDeps,
  prepareReplacement,
  replacementEvent,
  replacePassword,
  unlockEvent,
} from '../../passwords/service.ts';
import {
  attributePath,
  carryOutValues,
  newValuesTold,
  planNewValues,
} from '../../user-attributes/service.ts';
import { cleanNames } from '../names.ts';
import type { VersionedUser } from '../presentation.ts';
import { present, readRecord, type UserDeps } from '../service.ts';
import { insertUser } from '../store.ts';
import { cleanChange, readBulkChanges } from './change-input.ts';
import { type Plan, planChanges, type UserChange } from './change-plans.ts';
import { carryOut, deltaOf, uniqueFields, write } from './changes.ts';
import { type OwnAddressDeps, requireFreshForAddress, tellFormerAddress } from './own-address.ts';

export type UserAdminDeps = UserDeps &
  PasswordDeps &
  PreviewDeps &
  OwnAddressDeps & {
    settings: PolicySettings & { unverifiedAccountHours: number };
    accountMail: {
      enqueue(
        tx: Tx,
        kind: 'verification' | 'invitation',
        payload: { email: string; counted?: true },
      ): Promise<void>;
      /** Queues one mail to each of these invited users. */
      enqueueInvitations(tx: Tx, emails: readonly string[]): Promise<void>;
      wake(): void;
      /** Counts one mail to this email and returns the result; null if there is no limit. */
      count(email: string, purpose: 'verification' | 'invitation'): Promise<RateLimitResult | null>;
    };
  };

/**
 * Creates a user. Throws 400, 404 (role), 403 (only superusers create superusers; a role grants permissions that the caller
 * lacks), 409 (email).
 */
export async function createUser(
  deps: UserAdminDeps,
  caller: Caller,
  body: CreateUserBody,
  settle: Settle<Versioned<User>>,
): Promise<Versioned<User>> {
  const {
    email: address,
    password,
    first_name,
    last_name,
    role_id = [],
    attributes = {},
    is_active = true,
    is_superuser = false,
    verified = true,
    must_change_password = false,
    external_id = null,
    ...rest
  } = body;
  allHandled(rest);
  const state = {
    is_active,
    is_superuser,
    verified,
    must_change_password,
    external_id: cleanExternalId(external_id, 'external_id', 'invalid_input'),
  };
  const email = requireEmail(address);
  const names = cleanNames({ first_name, last_name });
  const roleIds = canonicalIds(role_id);
  const passwordHash = await hashFirstPassword(deps, password, { email, ...names });
  const id = newId();
  const create = async (locking: Locking) => {
    const { tx } = locking;
    const wanted = {
      assignee: { type: 'user', id, role_ids: [] },
      roles: { replace: roleIds },
      at: () => 'role_id',
    } as const;
    const roleNames = await lockWantedRoles(tx, [wanted]);
    const entitled = await locking.entitle();
    if (is_superuser && !entitled.isSuperuser)
      throw new AppError('superuser_required', {
        errors: [
          {
            field: 'is_superuser',
            code: 'superuser_required',
            message: 'can be set only by a superuser',
          },
        ],
      });
    await requireMayGrantRoles(entitled, roleIds);
    if (is_superuser) await requireProvedAll(entitled);
    const values = (
      await planNewValues(tx, [{ userId: id, attributes, at: (name) => attributePath(name) }])
    ).get(id);
    if (values === undefined || values instanceof AppError) throw values ?? new Error('no plan');
    await insertUser(entitled, { id, email, ...names, password_hash: passwordHash, ...state });
    const planned = [planRoles(wanted)];
    await writeRoles(entitled, planned);
    await carryOutValues(tx, [values]);
    const delta = { ...rolesDelta(planned), subjects: [{ id, is_active, is_superuser }] };
    return entitled.done(await present(deps, await readRecord(tx, id)), delta, {
      action: 'user_created',
      resourceType: 'user',
      resourceId: id,
      before: null,
      after: {
        email,
        ...names,
        ...state,
        roles: [...roleNames.values()].sort(),
        ...newValuesTold(values),
      },
    });
  };
  try {
    return await change(deps, caller, create, settle);
  } catch (error) {
    const field = uniqueFields.find((one) => brokenConstraint(error) === `users_${one}_key`);
    if (field === undefined) throw error;
    const code = `${field}_taken` as const;
    throw new AppError(code, { errors: [{ field, code, message: 'belongs to another account' }] });
  }
}

const changing =
  (deps: OwnAddressDeps, wanted: readonly UserChange[], idsField?: string): Run<VersionedUser[]> =>
  async (locking) => {
    const plan = await planChanges(locking, wanted, idsField);
    await requireFreshForAddress(locking.tx, deps, plan);
    const done = await carryOut(plan);
    await tellFormerAddress(locking.tx, deps, plan);
    return done;
  };

// A stolen session must not be enough to guess or replace its user's password.
function refuseOwnPassword(caller: Caller, id: string, password: string | undefined): void {
  if (password !== undefined && id === caller.principal.id) throw new AppError('use_change_password');
}

/**
 * Changes a user. Writes nothing if every field already has its value. Throws 400, 404, 412, 403, 409; with a password
 * also 429 and `password_rejected`, after all other checks.
 */
export async function updateUser(
  deps: UserAdminDeps,
  caller: Caller,
  id: string,
  { password, ...input }: UpdateUserBody,
): Promise<Versioned<User>> {
  refuseOwnPassword(caller, id, password);
  const wanted = { ...cleanChange(id, input), setsPassword: password !== undefined };
  const users =
    password === undefined
      ? await change(deps, caller, changing(deps, [wanted]))
      : await updateWithPassword(deps, caller, wanted, password);
  return present(deps, requireOne(users));
}

/**
 * Previews a change of a user. A password in the body is neither hashed nor compared with the policy, and no rejected one
 * is counted: the preview tells only whether the caller may set a password.
 */
export async function previewUserUpdate(
  deps: UserAdminDeps,
  caller: Caller,
  id: string,
  { password, ...input }: UpdateUserBody,
): Promise<AccessPreviewEnvelope> {
  const run = changing(deps, [{ ...cleanChange(id, input), setsPassword: password !== undefined }]);
  return preview(deps, caller, { resourceType: 'user', resourceId: id }, async (locking) => {
    refuseOwnPassword(caller, id, password);
    return run(locking);
  });
}

function requireOne(users: readonly VersionedUser[]): VersionedUser {
  const [user] = users;
  if (!user) throw new AppError('user_not_found');
  return user;
}

async function updateWithPassword(
  deps: UserAdminDeps,
  caller: Caller,
  wanted: UserChange,
  newPassword: string,
): Promise<VersionedUser[]> {
  const { client, principal } = caller;
  const { id, fields } = wanted;
  // All other checks run first, so that no later error reveals whether the password was accepted.
  await rehearseChange(deps, caller, changing(deps, [wanted]));
  const holder = await findPasswordHolder(deps.db, id);
  if (!holder) throw new AppError('user_not_found');
  const { email = holder.email, first_name = holder.first_name, last_name = holder.last_name } = fields;
  const refusals = {
    limit: 'admin-password',
    by: [principal.id, id],
    actor: actorOf(principal),
    userId: id,
  } as const;
  return countingRefusals(deps, client, refusals, async () => {
    const replacement = await prepareReplacement(deps, client, {
      holder: { ...holder, email, first_name, last_name },
      newPassword,
      action: 'password_set_by_admin',
      actor: actorOf(principal),
    });
    return change(deps, caller, async (locking) => {
      const plan = await planChanges(locking, [wanted]);
      const { sessionsEnded } = await replacePassword(locking.tx, deps, replacement);
      const { users, entries } = await write(plan);
      // Last: sign-ins with this email wait for it.
      const wasLocked = await clearAttempts(locking.tx, email);
      const unlocked = wasLocked ? [unlockEvent(replacement)] : [];
      const replaced = replacementEvent(replacement, sessionsEnded);
      return plan.entitled.done(users, deltaOf(plan), replaced, ...unlocked, ...acceptedBy(plan), ...entries);
    });
  });
}

/** Returns the entries of invitations that end because their accounts get a password. */
const acceptedBy = ({ changes }: Plan): Entry[] =>
  changes
    .filter(({ before }) => before.invited_at !== null)
    .map(({ before }) => ({
      action: 'invitation_accepted',
      resourceId: before.user_id,
      details: { email: before.email, by: 'administrator' },
    }));

/**
 * Changes all of the users or none. Returns them in the order of the request. Errors name the users that caused them.
 */
export async function updateUsers(
  deps: UserAdminDeps,
  caller: Caller,
  body: BulkUpdateUsersBody,
): Promise<User[]> {
  const { changes, idsField } = readBulkChanges(body);
  const records = await change(deps, caller, changing(deps, changes, idsField));
  const answers = await Promise.all(records.map((record) => present(deps, record)));
  return answers.map(({ record }) => record);
}

export async function previewUserUpdates(
  deps: UserAdminDeps,
  caller: Caller,
  body: BulkUpdateUsersBody,
): Promise<AccessPreviewEnvelope> {
  const { changes, idsField } = readBulkChanges(body);
  return preview(deps, caller, { resourceType: 'user' }, changing(deps, changes, idsField));
}
