// The devices that the signed-in person has used.
import { queryOptions } from '@tanstack/react-query';
import { requestWith } from '../api.ts';
import { isCode } from '../errors.ts';
import { type Device, requestLater } from '../second-factor-types.ts';

/** Null from a service that keeps none. */
export const ownDevices = queryOptions({
  queryKey: ['GET /api/v1/auth/devices'],
  queryFn: async ({ signal }): Promise<readonly Device[] | null> => {
    try {
      const { data } = await requestWith('GET /api/v1/auth/devices', (operation) =>
        requestLater(operation, { signal }),
      );
      return data;
    } catch (error) {
      if (isCode(error, 'route_not_found')) return null;
      throw error;
    }
  },
});

/** One that is gone is as good as forgotten. */
export async function forgetDevice(id: string): Promise<void> {
  try {
    await requestWith('DELETE /api/v1/auth/devices/{device_id}', (operation) =>
      requestLater(operation, { path: { device_id: id } }),
    );
  } catch (error) {
    if (!isCode(error, 'device_not_found')) throw error;
  }
}

export const forgetDevices = (): Promise<unknown> =>
  requestWith('DELETE /api/v1/auth/devices', (operation) => requestLater(operation));
