// The devices that the signed-in person has used.
import type { Device } from '@castellan/sdk';
import { queryOptions } from '@tanstack/react-query';
import { call } from '../api.ts';
import { isCode } from '../errors.ts';

/** Empty where the service keeps none. */
export const ownDevices = queryOptions({
  queryKey: ['GET /api/v1/auth/devices'],
  queryFn: async ({ signal }): Promise<Device[]> => (await call('GET /api/v1/auth/devices', { signal })).data,
});

/** One that is gone is as good as forgotten. */
export async function forgetDevice(id: string): Promise<void> {
  try {
    await call('DELETE /api/v1/auth/devices/{device_id}', { path: { device_id: id } });
  } catch (error) {
    if (!isCode(error, 'device_not_found')) throw error;
  }
}

export const forgetDevices = () => call('DELETE /api/v1/auth/devices', {});
