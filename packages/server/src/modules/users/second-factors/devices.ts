// Forgets the devices of another user: their trust, and their exemption from the lock.
import type { Caller } from '../../authz/caller.ts';
import { change } from '../../authz/change.ts';
import { sameAccess } from '../../authz/impact/impact.ts';
import { deleteDevices } from '../../devices/service.ts';
import type { UserAdminDeps } from '../changes/administration.ts';
import { endPendingLinks } from '../changes/change-store.ts';
import { requireMayActOn } from '../protection.ts';

/** Returns how many devices were known. Throws 404, 403. */
export const forgetDevicesOf = (deps: UserAdminDeps, caller: Caller, id: string): Promise<number> =>
  change(deps, caller, async (locking) => {
    const { entitled, user } = await requireMayActOn(locking, id);
    const forgotten = await deleteDevices(locking.tx, id, null);
    if (forgotten === 0) return entitled.unchanged(0);
    await endPendingLinks(entitled, [id]);
    return entitled.done(forgotten, sameAccess, {
      action: 'device_forgotten',
      resourceId: id,
      details: { email: user.email, devices: forgotten, reason: 'administrator' },
    });
  });
