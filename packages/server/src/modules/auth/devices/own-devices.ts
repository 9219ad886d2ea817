// A person's own devices: list and forget them.
// It must not end a session: the sessions of a forgotten device stay.
import type { Device } from '@castellan/contract/sessions';
import { AppError } from '../../../platform/errors.ts';
import { type Audited, inRecordedTransaction } from '../../audit/service.ts';
import type { UserCaller } from '../../authz/caller.ts';
import { accountLevel } from '../../authz/requirements/account.ts';
import { type DeviceSettings, deleteDevices, listDevices, mayTrustDevice } from '../../devices/service.ts';
import { lockEpoch } from '../../passwords/service.ts';

export type OwnDeviceDeps = Audited & { settings: DeviceSettings };

export async function readDevices(
  { db, settings }: OwnDeviceDeps,
  { principal, graph, policy, judgedAt: now }: UserCaller,
): Promise<Device[]> {
  const rows = await listDevices(db, principal.id, {
    sessionId: principal.session.id,
    knownDays: settings.knownDeviceDays,
  });
  const isTrustOn = mayTrustDevice(settings, accountLevel({ graph, policy, now }, principal.subject));
  return rows.map(({ created_at, last_used_at, trusted_until, ...device }) => ({
    ...device,
    created_at: created_at.toISOString(),
    last_used_at: last_used_at.toISOString(),
    trusted_until: isTrustOn && trusted_until ? trusted_until.toISOString() : null,
  }));
}

/**
 * Forgets one device of the caller, or all of them: their trust and their exemption from locks end. Throws
 * `device_not_found` (404).
 */
export async function forgetDevices(
  deps: OwnDeviceDeps,
  { client, principal }: UserCaller,
  deviceId: string | null,
): Promise<void> {
  const { id, email } = principal;
  await inRecordedTransaction(deps, client, async (tx) => {
    // A sign-in that trusts the device at the same moment must see that it is forgotten, or be forgotten with it.
    await lockEpoch(tx, id);
    const forgotten = await deleteDevices(tx, id, deviceId);
    if (forgotten === 0 && deviceId !== null) throw new AppError('device_not_found');
    const details = { email, ...(deviceId === null ? { devices: forgotten } : { device_id: deviceId }) };
    const event = { action: 'device_forgotten', actorId: id, resourceId: id, details } as const;
    return { result: undefined, events: forgotten === 0 ? [] : [event] };
  });
}
