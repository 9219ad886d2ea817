// Runs an administrative change in one transaction: row locks, permission check, writes, audit entries.
// Store functions that write administered records take an `Entitled`, and only `entitle()` returns one.
import type { ErrorCode } from '@castellan/contract/errors';
import type { Permission } from '@castellan/contract/permissions';
import { sql } from 'kysely';
import { inTransaction, rehearse } from '../../platform/db/transaction.ts';
import { AppError } from '../../platform/errors.ts';
import type { Settle } from '../../platform/http/plugins/idempotency.ts';
import type { Tx } from '../../schema/database.ts';
import {
  type AuditEvent,
  type Audited,
  isWrittenAfterCommit,
  recordChanges,
  recordEvent,
} from '../audit/service.ts';
import { actorOf, type Caller, isByToken, type PersonPrincipal, type Principal } from './caller.ts';
import { needIn } from './graph/needs.ts';
import { type Standing, standingOf } from './holding.ts';
import { type AccessDelta, sameAccess } from './impact/impact.ts';
import { refusalUntil, requirementOf } from './requirement.ts';
import { meets, proofRequired, provedBy } from './requirements/call.ts';
import { levelIn } from './requirements/standing.ts';
import { everywhere } from './scope.ts';

/** An audit event whose actor is the caller. */
export type Entry = Omit<AuditEvent, 'actorId' | 'actorType' | 'actorName' | 'actorKeyId' | 'actorTokenId'>;
type Entries = readonly [Entry, ...Entry[]];

export const isNonEmpty = (entries: readonly Entry[]): entries is Entries => entries.length > 0;

/** A change before its permission check: take every row lock here, then call `entitle`. */
class LockingChange {
  readonly #tx: Tx;
  readonly caller: Caller;

  constructor(tx: Tx, caller: Caller) {
    this.#tx = tx;
    this.caller = caller;
  }

  get tx(): Tx {
    return this.#tx;
  }

  /**
   * Checks that the caller still holds the permission of the route, and those in `also`. Call it after taking every
   * lock, because the caller may lose permissions while the transaction waits. Throws `token_revoked` if the user was
   * deactivated or deleted, `personal_token_revoked` or `api_key_revoked` if their token, the service account or its key was, `password_change_required` if the
   * user must now change their password, `permission_denied` if a permission is missing, and `step_up_required` or
   * `second_factor_enrolment_required` if the proof of the call is not what the account or a permission asks for.
   */
  async entitle(also: readonly Permission[] = []): Promise<Entitled> {
    const { principal, access, policy } = this.caller;
    const required = [access, ...also];
    const { rows } = await standingOf(everywhere(principal), required).execute(this.#tx);
    const [now] = rows;
    if (!now) throw new AppError(endOf(principal));
    const pending = requirementOf(principal, {
      must_change_password: now.must_change_password,
      has_password: now.has_password,
      required: levelIn(policy, now),
    });
    if (pending) throw await refusalUntil(this.#tx, policy, principal, pending);
    const held = new Set(now.held.map(({ name }) => name));
    const missing = isSuperuser(now) ? undefined : required.find((one) => !held.has(one));
    if (missing !== undefined) throw new AppError('permission_denied', { requiredPermission: missing });
    requireProved(principal, now);
    return new EntitledChange(this.#tx, this.caller, now);
  }
}

/** Returns why the credential of the caller no longer counts. */
function endOf(principal: Principal): ErrorCode {
  if (principal.type === 'service_account') return 'api_key_revoked';
  return principal.personalToken ? 'personal_token_revoked' : 'token_revoked';
}

/** A narrowed token of a superuser acts with the permissions that it is narrowed to, and as no superuser. */
const isSuperuser = ({ is_superuser, is_narrowed }: Standing): boolean => is_superuser && !is_narrowed;

/** Throws `step_up_required` (403) for a permission that asks for more than the call has proved. */
function requireProved(principal: Principal, { held, judged_at }: Standing): void {
  if (principal.type !== 'user') return;
  for (const row of held) {
    const need = needIn(row);
    if (need && !meets(provedBy(principal), need, judged_at.getTime())) throw proofRequired(principal, need);
  }
}

/** A change that passed its permission check. The private member makes the type nominal: no other object matches it. */
class EntitledChange {
  readonly #tx: Tx;
  readonly caller: Caller;
  /** Read in this transaction. It cannot change while the caller's row is locked. */
  readonly isSuperuser: boolean;
  /** Whether the caller is a user with a second factor. Read in this transaction. */
  readonly hasFactor: boolean;
  /** Whether anybody has a second factor. */
  readonly areFactorsInUse: boolean;

  constructor(tx: Tx, caller: Caller, standing: Standing) {
    this.#tx = tx;
    this.caller = caller;
    this.isSuperuser = isSuperuser(standing);
    this.hasFactor = standing.has_factor;
    this.areFactorsInUse = standing.are_factors_in_use;
  }

  get tx(): Tx {
    return this.#tx;
  }

  /**
   * Ends the change with what it did to access and with its audit entries. A change that writes no roles, permissions or
   * states of subjects says so with `sameAccess`.
   */
  done<T>(result: T, delta: AccessDelta, ...entries: Entries): Done<T> {
    return new DoneChange(result, delta, entries);
  }

  /** Ends a change that wrote nothing, without an audit entry. */
  unchanged<T>(result: T): Done<T> {
    return new DoneChange(result, sameAccess, []);
  }
}

class DoneChange<T> {
  readonly result: T;
  /** What the change did to the access of users and service accounts; for a preview. */
  readonly delta: AccessDelta;
  readonly #entries: readonly Entry[];

  constructor(result: T, delta: AccessDelta, entries: readonly Entry[]) {
    this.result = result;
    this.delta = delta;
    this.#entries = entries;
  }

  get entries(): readonly Entry[] {
    return this.#entries;
  }
}

export type Locking = LockingChange;
export type Entitled = EntitledChange;
export type Done<T> = DoneChange<T>;

/**
 * Locks the rows of users, of service accounts and of the caller until the transaction ends, each kind in the order of
 * its ids: the caller loses permissions either entirely before or entirely after the change. So does who acts as the caller. Call it
 * before `entitle`. Throws `user_session_required` (403) if a personal access token, and `acting_as` (403) if who acts as the caller, is
 * to change the account of its own person: by the operations of administrators they could otherwise get what they are refused on
 * `/users/me`, such as another address for the mail of a reset. Who acts cannot change their own account either, on which
 * administrators are refused more than on those of others, such as a new password.
 */
export async function lockSubjects(
  { tx, caller: { principal } }: Locking,
  { users = [], accounts = [] }: { users?: readonly string[]; accounts?: readonly string[] },
): Promise<void> {
  if (principal.type === 'user') requireOthers(principal, users);
  const userIds =
    principal.type === 'user'
      ? [...users, principal.id, ...(principal.actor ? [principal.actor.id] : [])]
      : users;
  const accountIds = principal.type === 'user' ? accounts : [...accounts, principal.id];
  // Not `for update`: it waits for every transaction that references the user. A user who creates records without pause
  // could then prevent others from changing their permissions.
  if (userIds.length > 0)
    await sql`select from users where id = any(${userIds}::uuid[]) order by id for no key update`.execute(tx);
  if (accountIds.length > 0)
    await sql`select from service_accounts where id = any(${accountIds}::uuid[]) order by id for no key update`.execute(
      tx,
    );
}

/** Throws unless the person themselves, signed in, calls, or the accounts are those of others. */
function requireOthers(principal: PersonPrincipal, changed: readonly string[]): void {
  const ids = new Set(changed.map((id) => id.toLowerCase()));
  if (principal.actor && ids.has(principal.actor.id))
    throw new AppError('acting_as', {
      detail: 'You act as somebody else, and this concerns your own account. End acting as them first.',
    });
  if (!ids.has(principal.id)) return;
  if (principal.actor) throw new AppError('acting_as');
  if (isByToken(principal))
    throw new AppError('user_session_required', {
      detail: 'A personal access token cannot change the account of its owner. Sign in.',
    });
}

export type ChangeDeps = Audited;
/** The body of a change, which `change` carries out and `rehearseChange` tries. */
export type Run<T> = (locking: Locking) => Promise<Done<T>>;

/**
 * Runs `run` in a transaction and retries it after a serialization failure or a deadlock. Writes the audit entries in
 * the same transaction, except those that must follow the commit (`isWrittenAfterCommit`). Calls `settle` last, which
 * stores the response for the Idempotency-Key.
 */
export async function change<T>(
  deps: ChangeDeps,
  caller: Caller,
  run: Run<T>,
  settle?: Settle<T>,
): Promise<T> {
  const { client, principal } = caller;
  const { result, later } = await inTransaction(deps.db, async (tx) => {
    const done = await run(new LockingChange(tx, caller));
    const events = done.entries.map((entry): AuditEvent => ({ ...entry, ...actorOf(principal) }));
    const { now = [], later = [] } = Object.groupBy(events, (event) =>
      isWrittenAfterCommit(event) ? 'later' : 'now',
    );
    await recordChanges(tx, deps.auditLog, client, now);
    await settle?.(tx, done.result);
    return { result: done.result, later };
  });
  for (const event of later) await recordEvent(deps, client, event);
  return result;
}

/**
 * Runs the change and rolls it back, without an audit entry. Returns what it would do to access. Throws what `change`
 * would throw.
 */
export async function rehearseChange(
  deps: ChangeDeps,
  caller: Caller,
  run: Run<unknown>,
): Promise<AccessDelta> {
  const done = await rehearse(deps.db, (tx) => run(new LockingChange(tx, caller)));
  return done.delta;
}
