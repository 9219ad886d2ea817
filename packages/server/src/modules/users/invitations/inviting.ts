// Invites people: accounts without a password, and the mails by which their owners accept. Many rows cost as many statements as one.
// It must not let a row that is refused stop another one.
import { type BulkInviteInput, InviteBody, type RefusedInvitation } from '@castellan/contract/invitations';
import type { AttributeValues } from '@castellan/contract/user-attributes';
import type { User } from '@castellan/contract/users';
import { AppError } from '../../../platform/errors.ts';
import { allHandled } from '../../../platform/fields.ts';
import { createCheck } from '../../../platform/http/bodies/validation.ts';
import { canonicalIds } from '../../../platform/http/ids.ts';
import type { Settle } from '../../../platform/http/plugins/idempotency.ts';
import type { Versioned } from '../../../platform/http/record-version.ts';
import { newId } from '../../../platform/ids.ts';
import { requireEmail } from '../../../platform/security/email.ts';
import { isObject } from '../../../platform/unknown-values.ts';
import { lockRoles, planRoles, type RoleNames, rolesDelta, writeRoles } from '../../assignments/service.ts';
import type { Caller } from '../../authz/caller.ts';
import { change, type Entitled, type Entry, isNonEmpty, type Locking, type Run } from '../../authz/change.ts';
import { findRolesBeyond } from '../../authz/delegation.ts';
import type { AccessDelta } from '../../authz/impact/impact.ts';
import {
  attributePath,
  carryOutValues,
  newValuesTold,
  type PlannedValues,
  planNewValues,
} from '../../user-attributes/service.ts';
import type { UserAdminDeps } from '../changes/administration.ts';
import { cleanNames } from '../names.ts';
import type { VersionedUser } from '../presentation.ts';
import { present } from '../service.ts';
import { findUsersByIds } from '../store.ts';
import { findTakenEmails, insertInvited, type NewInvitation } from './store.ts';

export type InviteDeps = UserAdminDeps & { settings: { invitationHours: number } };

/** A row that can be invited, as far as it tells by itself. `at`: returns the path of a field in the request. */
type Wanted = NewInvitation & {
  index: number;
  roleIds: string[];
  attributes: AttributeValues;
  at: (field: string) => string;
};
type Refusal = { index: number; error: AppError };
type Outcome = { invited: VersionedUser[]; refused: Refusal[] };

/** Invites one person. Throws 400, 404 (role), 403 (a role grants permissions that the caller lacks), 409 (email). */
export async function invite(
  deps: InviteDeps,
  caller: Caller,
  body: InviteBody,
  settle: Settle<Versioned<User>>,
): Promise<Versioned<User>> {
  const wanted = cleanInvitation(deps, body, { index: 0, at: (field) => field });
  const invited = await change(
    deps,
    caller,
    async (locking) => {
      const { entitled, outcome, delta, entries } = await inviteRows(deps, locking, [wanted]);
      const [refusal] = outcome.refused;
      if (refusal) throw refusal.error;
      const [record] = outcome.invited;
      if (!record || !isNonEmpty(entries)) throw new Error('the row was neither invited nor refused');
      return entitled.done(await present(deps, record), delta, ...entries);
    },
    settle,
  );
  deps.accountMail.wake();
  return invited;
}

/** Invites those rows that can be invited. A row is invited whole or not at all. Throws 403 (the caller must step up). */
export async function inviteMany(
  deps: InviteDeps,
  caller: Caller,
  { invitations }: BulkInviteInput,
): Promise<{ invited: User[]; refused: RefusedInvitation[] }> {
  const { wanted, refused } = readRows(deps, invitations);
  const outcome: Outcome =
    wanted.length === 0 ? { invited: [], refused: [] } : await change(deps, caller, inviting(deps, wanted));
  if (outcome.invited.length > 0) deps.accountMail.wake();
  const records = await Promise.all(outcome.invited.map((record) => present(deps, record)));
  return {
    invited: records.map(({ record }) => record),
    refused: [...refused, ...outcome.refused]
      .sort((one, other) => one.index - other.index)
      .map(({ index, error: { code, status, message, extras } }) => ({
        index,
        email: sentEmail(invitations[index]),
        status,
        code,
        detail: message,
        ...(extras.errors ? { errors: extras.errors } : {}),
      })),
  };
}

/** Returns what a row has in the place of an email, up to a thousand characters; empty if that is no text. */
const sentEmail = (row: unknown): string =>
  isObject(row) && typeof row.email === 'string' ? row.email.slice(0, 1_000).toWellFormed() : '';

const check = createCheck(InviteBody);

function readRows(deps: InviteDeps, rows: readonly unknown[]): { wanted: Wanted[]; refused: Refusal[] } {
  const wanted = new Map<string, Wanted>();
  const refused: Refusal[] = [];
  for (const [index, row] of rows.entries())
    try {
      if (!check.accepts(row)) throw check.refusalOf(row, `/invitations/${index}`);
      const one = cleanInvitation(deps, row, { index, at: (field) => `invitations.${index}.${field}` });
      if (wanted.has(one.email)) throw emailTaken(one, 'is that of an earlier row');
      wanted.set(one.email, one);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      refused.push({ index, error });
    }
  return { wanted: [...wanted.values()], refused };
}

function cleanInvitation(
  { settings }: InviteDeps,
  body: InviteBody,
  { index, at }: Pick<Wanted, 'index' | 'at'>,
): Wanted {
  const { email, first_name, last_name, role_id = [], attributes = {}, expires_in_hours, ...rest } = body;
  allHandled(rest);
  return {
    id: newId(),
    email: requireEmail(email, at('email')),
    ...{ first_name: '', last_name: '', ...cleanNames({ first_name, last_name }, at) },
    roleIds: canonicalIds(role_id),
    attributes,
    hours: expires_in_hours ?? settings.invitationHours,
    index,
    at,
  };
}

const emailTaken = ({ at }: Pick<Wanted, 'at'>, message = 'belongs to another account'): AppError =>
  new AppError('email_taken', { errors: [{ field: at('email'), code: 'email_taken', message }] });

const inviting =
  (deps: InviteDeps, wanted: readonly Wanted[]): Run<Outcome> =>
  async (locking) => {
    const { entitled, outcome, delta, entries } = await inviteRows(deps, locking, wanted);
    return isNonEmpty(entries) ? entitled.done(outcome, delta, ...entries) : entitled.unchanged(outcome);
  };

async function inviteRows(
  deps: InviteDeps,
  locking: Locking,
  wanted: readonly Wanted[],
): Promise<{ entitled: Entitled; outcome: Outcome; delta: AccessDelta; entries: readonly Entry[] }> {
  const { tx } = locking;
  const roleIds = canonicalIds(wanted.flatMap((one) => one.roleIds));
  const roleNames: RoleNames = new Map((await lockRoles(tx, roleIds)).map(({ id, name }) => [id, name]));
  const entitled = await locking.entitle();
  const beyond = await findRolesBeyond(entitled, roleIds);
  const taken = await findTakenEmails(
    entitled,
    wanted.map(({ email }) => email),
  );
  const refusals = new Map<Wanted, AppError>();
  for (const one of wanted) {
    const error = refusalOf(one, { roleNames, beyond, taken });
    if (error) refusals.set(one, error);
  }
  const values = await planNewValues(
    tx,
    wanted
      .filter((one) => !refusals.has(one))
      .map(({ id, attributes, at }) => ({
        userId: id,
        attributes,
        at: (name) => at(attributePath(name)),
      })),
  );
  for (const one of wanted) {
    const planned = values.get(one.id);
    if (planned instanceof AppError) refusals.set(one, planned);
  }
  const allowed = wanted.filter((one) => !refusals.has(one));
  const inserted = await insertInvited(entitled, allowed);
  // Somebody took the email in the meantime.
  for (const one of allowed) if (!inserted.has(one.id)) refusals.set(one, emailTaken(one));
  const invited = allowed.filter(({ id }) => inserted.has(id));
  const plans = invited.map(({ id, roleIds: replace, at }) =>
    planRoles({ assignee: { type: 'user', id, role_ids: [] }, roles: { replace }, at }),
  );
  await writeRoles(entitled, plans);
  const plansOf = new Map(
    [...values].flatMap(([id, plan]) => (plan instanceof AppError || !inserted.has(id) ? [] : [[id, plan]])),
  );
  await carryOutValues(tx, [...plansOf.values()]);
  await deps.accountMail.enqueueInvitations(
    tx,
    invited.map(({ email }) => email),
  );
  const records = new Map(
    (await findUsersByIds(tx, [...inserted])).map((record) => [record.user_id, record]),
  );
  const subjects = invited.map(({ id }) => ({ id, is_active: true, is_superuser: false }));
  return {
    entitled,
    outcome: {
      invited: invited.flatMap(({ id }) => records.get(id) ?? []),
      refused: [...refusals].map(([{ index }, error]) => ({ index, error })),
    },
    delta: { ...rolesDelta(plans), subjects },
    entries: invited.map((one) => entryOf(one, roleNames, plansOf.get(one.id))),
  };
}

/** The order of an operation on one record: what the caller may not do, then what conflicts. */
function refusalOf(
  one: Wanted,
  {
    roleNames,
    beyond,
    taken,
  }: { roleNames: RoleNames; beyond: ReadonlySet<string>; taken: ReadonlySet<string> },
): AppError | undefined {
  const missing = one.roleIds.find((id) => !roleNames.has(id));
  if (missing !== undefined)
    return new AppError('role_not_found', {
      errors: [
        { field: one.at('role_id'), code: 'role_not_found', message: `no role has the id ${missing}` },
      ],
    });
  if (one.roleIds.some((id) => beyond.has(id)))
    return new AppError('privilege_escalation', {
      errors: [
        {
          field: one.at('role_id'),
          code: 'privilege_escalation',
          message: 'grants permissions that you do not hold',
        },
      ],
    });
  return taken.has(one.email) ? emailTaken(one) : undefined;
}

const entryOf = (
  { id, email, first_name, last_name, roleIds, hours }: Wanted,
  roleNames: RoleNames,
  values: PlannedValues | undefined,
): Entry => ({
  action: 'user_invited',
  resourceType: 'user',
  resourceId: id,
  before: null,
  after: {
    email,
    first_name,
    last_name,
    roles: roleIds.map((role) => roleNames.get(role) ?? role).sort(),
    expires_in_hours: hours,
    ...(values && newValuesTold(values)),
  },
});
