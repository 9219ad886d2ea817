// Sets how holders of a role must sign in, and from when. It changes no permission, so system roles have it too.
import { isDeepStrictEqual } from 'node:util';
import type { AuthenticationPreviewEnvelope, RoleAuthenticationBody } from '@castellan/contract/requirements';
import type { Role } from '@castellan/contract/roles';
import { AppError } from '../../platform/errors.ts';
import type { Versioned } from '../../platform/http/record-version.ts';
import { canonicalTime } from '../../platform/times.ts';
import type { Caller } from '../authz/caller.ts';
import { change, type Entitled, type Run } from '../authz/change.ts';
import { requireMayGrantRoles } from '../authz/delegation.ts';
import { type Need, roleNeedIn } from '../authz/graph/needs.ts';
import { sameAccess } from '../authz/impact/impact.ts';
import { requireMayReplace, requireReachable, timeIn } from '../authz/requirements/changing.ts';
import { previewRequirement } from '../authz/requirements/preview.ts';
import type { FreshnessDeps } from '../factors/service.ts';
import { type RoleDeps, requireRole, roleEntry, versionedRole } from './record.ts';
import { type RoleRecord, readRole, setRequirement } from './store.ts';

export type RoleAuthenticationDeps = RoleDeps & FreshnessDeps & { settings: { passkeysAvailable: boolean } };

/** Time for the holders of a role to set up a factor, unless the caller names another. */
const GRACE_MS = 14 * 86_400_000;

type Requirement = { required_acr: 'aal2' | 'phr' | null; enforced_from: Date | null };

/**
 * Throws 404, 412, `privilege_escalation` unless the caller holds every permission of the role, and what
 * `requireMayReplace` and `requireReachable` throw.
 */
export const setRoleAuthentication = async (
  deps: RoleAuthenticationDeps,
  caller: Caller,
  id: string,
  body: RoleAuthenticationBody,
): Promise<Versioned<Role>> => change(deps, caller, setting(deps, id, body));

export const previewRoleAuthentication = async (
  deps: RoleAuthenticationDeps,
  caller: Caller,
  id: string,
  body: RoleAuthenticationBody,
): Promise<AuthenticationPreviewEnvelope> =>
  previewRequirement(
    deps,
    caller,
    { kind: 'role', id: id.toLowerCase(), acr: body.required_acr },
    setting(deps, id, body),
  );

function setting(
  deps: RoleAuthenticationDeps,
  id: string,
  { required_acr, enforced_from }: RoleAuthenticationBody,
): Run<Versioned<Role>> {
  if (required_acr === null && enforced_from !== undefined)
    throw wrongTime('must be left out without required_acr: nothing is enforced then');
  const given = enforced_from === undefined ? undefined : canonicalTime(enforced_from);
  if (given === null) throw wrongTime('must be a time such as 2030-01-31T08:00:00Z');
  return async (locking) => {
    const role = await requireRole(locking, id);
    const entitled = await locking.entitle();
    requireReachable(deps.settings, required_acr);
    await requireMayGrantRoles(entitled, [role.id]);
    const before = requirementIn(role);
    const from = required_acr === null ? null : await enforcedFrom(entitled, before, given);
    const after = { required_acr, enforced_from: from };
    await requireMayReplace(entitled, deps, {
      before: needIn(before),
      after: needIn(after),
      isLater: Number(after.enforced_from) > Number(before.enforced_from),
    });
    if (isDeepStrictEqual(before, after)) return entitled.unchanged(versionedRole(role));
    await setRequirement(entitled, role.id, after);
    const entry = roleEntry('role_authentication_changed', role, {
      before: shown(before),
      after: shown(after),
    });
    return entitled.done(versionedRole(await readRole(locking.tx, role.id)), sameAccess, entry);
  };
}

const wrongTime = (message: string): AppError =>
  new AppError('validation_failed', {
    detail: `enforced_from ${message}.`,
    errors: [{ field: 'enforced_from', code: 'invalid_time', message }],
  });

function requirementIn({ authentication }: RoleRecord): Requirement {
  if (!authentication) return { required_acr: null, enforced_from: null };
  const { required_acr, enforced_from } = authentication;
  return { required_acr, enforced_from: enforced_from === null ? null : new Date(enforced_from) };
}

function needIn({ required_acr }: Requirement): Need | null {
  const need = roleNeedIn({ required_acr, enforced_from_ms: null });
  return need && { acr: need.acr, maxAgeSeconds: null };
}

async function enforcedFrom(
  entitled: Entitled,
  before: Requirement,
  given: string | undefined,
): Promise<Date | null> {
  const now = await timeIn(entitled);
  if (given !== undefined) return new Date(Math.max(Date.parse(given), now.getTime()));
  return before.required_acr === null ? new Date(now.getTime() + GRACE_MS) : before.enforced_from;
}

const shown = ({ required_acr, enforced_from }: Requirement) => ({
  required_acr,
  enforced_from: enforced_from?.toISOString() ?? null,
});
