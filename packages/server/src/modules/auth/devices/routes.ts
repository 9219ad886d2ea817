// HTTP of the caller's own devices, under /api/v1/auth/devices.

import { MessageEnvelope } from '@castellan/contract/envelope';
import { DeviceParams, DevicesEnvelope } from '@castellan/contract/sessions';
import type { App } from '../../../platform/http/server/server.ts';
import { userCallerOf } from '../../authz/caller.ts';
import { forgetDevices, type OwnDeviceDeps, readDevices } from './own-devices.ts';

export function deviceRoutes(app: App, deps: OwnDeviceDeps): void {
  app.route({
    method: 'GET',
    url: '/devices',
    config: { access: 'user', openTo: ['second_factor'], endsAccess: true },
    schema: { summary: 'List your known devices', response: { 200: DevicesEnvelope } },
    handler: async (request) => ({
      data: await readDevices(deps, userCallerOf(request)),
      message: 'Your known devices, the last used first.',
    }),
  });

  app.route({
    method: 'DELETE',
    url: '/devices/:device_id',
    config: { access: 'user', openTo: ['second_factor'], endsAccess: true, errors: ['device_not_found'] },
    schema: {
      summary: 'Forget one of your devices',
      description: 'Trust in it ends. Its sessions stay.',
      params: DeviceParams,
      response: { 200: MessageEnvelope },
    },
    handler: async (request) => {
      await forgetDevices(deps, userCallerOf(request), request.params.device_id);
      return { message: 'Device forgotten.' };
    },
  });

  app.route({
    method: 'DELETE',
    url: '/devices',
    config: { access: 'user', openTo: ['second_factor'], endsAccess: true },
    schema: {
      summary: 'Forget all your devices',
      description: 'Trust in them ends. Their sessions stay.',
      response: { 200: MessageEnvelope },
    },
    handler: async (request) => {
      await forgetDevices(deps, userCallerOf(request), null);
      return { message: 'All your devices are forgotten.' };
    },
  });
}
