// Sets what a call that uses a permission must have proved. It changes nobody's permissions, so built-in ones have it too.

import { isDeepStrictEqual } from 'node:util';
import { acrValues } from '@castellan/contract/authentication';
import type { Permission } from '@castellan/contract/permission-records';
import type {
  AuthenticationPreviewEnvelope,
  PermissionAuthenticationBody,
} from '@castellan/contract/requirements';
import { AppError } from '../../platform/errors.ts';
import { requireVersion, type Versioned } from '../../platform/http/record-version.ts';
import type { Caller } from '../authz/caller.ts';
import { change, type Run } from '../authz/change.ts';
import { requireMayGrantPermissions } from '../authz/delegation.ts';
import { needIn } from '../authz/graph/needs.ts';
import { sameAccess } from '../authz/impact/impact.ts';
import type { PreviewDeps } from '../authz/impact/preview.ts';
import { requireMayReplace, requireReachable } from '../authz/requirements/changing.ts';
import { previewRequirement } from '../authz/requirements/preview.ts';
import type { FreshnessDeps } from '../factors/service.ts';
import { findPermission, lockPermission, readPermission, setRequirement } from './store.ts';

export type PermissionAuthenticationDeps = PreviewDeps &
  FreshnessDeps & { settings: { passkeysAvailable: boolean } };

/**
 * Returns the number in the ETag of a permission: 0 where it requires nothing. Permissions count no versions, so it is made of
 * the value: the level in hundred thousands, and the seconds.
 */
export function authenticationVersion({ authentication }: Permission): number {
  if (!authentication) return 0;
  const { required_acr, max_auth_age } = authentication;
  return (acrValues.indexOf(required_acr) + 1) * 100_000 + (max_auth_age ?? 0);
}

const versioned = (record: Permission): Versioned<Permission> => ({
  record,
  version: authenticationVersion(record),
});

/**
 * Throws 404, 412, `privilege_escalation` unless the caller holds the permission, and what `requireMayReplace` and
 * `requireReachable` throw.
 */
export const setPermissionAuthentication = async (
  deps: PermissionAuthenticationDeps,
  caller: Caller,
  id: string,
  body: PermissionAuthenticationBody,
): Promise<Versioned<Permission>> => change(deps, caller, setting(deps, id, body));

export const previewPermissionAuthentication = async (
  deps: PermissionAuthenticationDeps,
  caller: Caller,
  id: string,
  body: PermissionAuthenticationBody,
): Promise<AuthenticationPreviewEnvelope> =>
  previewRequirement(
    deps,
    caller,
    { kind: 'permission', id: id.toLowerCase(), acr: body.required_acr },
    setting(deps, id, body),
  );

function setting(
  deps: PermissionAuthenticationDeps,
  id: string,
  { required_acr: given, max_auth_age }: PermissionAuthenticationBody,
): Run<Versioned<Permission>> {
  const required_acr = given ?? (max_auth_age === null ? null : 'aal1');
  const after = { required_acr, max_auth_age };
  return async (locking) => {
    const { tx, caller } = locking;
    const permission = (await lockPermission(tx, id)) ? await findPermission(tx, id) : undefined;
    if (permission) await requireVersion(caller.ifMatch, authenticationVersion(permission), () => permission);
    const entitled = await locking.entitle();
    if (!permission) throw new AppError('permission_not_found');
    requireReachable(deps.settings, required_acr);
    await requireMayGrantPermissions(entitled, [permission.id]);
    const before = permission.authentication ?? { required_acr: null, max_auth_age: null };
    await requireMayReplace(entitled, deps, { before: needIn(before), after: needIn(after) });
    if (isDeepStrictEqual({ ...before }, after)) return entitled.unchanged(versioned(permission));
    await setRequirement(entitled, permission, after);
    return entitled.done(versioned(await readPermission(tx, permission.id)), sameAccess, {
      action: 'permission_authentication_changed',
      resourceType: 'permission',
      resourceId: permission.id,
      resourceName: permission.name,
      before,
      after,
    });
  };
}
