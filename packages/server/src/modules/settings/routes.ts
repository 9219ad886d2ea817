// HTTP of /api/v1/settings: the settings that this instance has read. It must not read the environment.
import { SettingListEnvelope } from '@castellan/contract/settings';
import type { SettingInForce } from '../../platform/config/config.ts';
import type { App } from '../../platform/http/server/server.ts';

export function settingRoutes(app: App, deps: { settings: { inForce: readonly SettingInForce[] } }): void {
  app.route({
    method: 'GET',
    url: '',
    config: { access: 'settings.read', turn: false },
    schema: {
      summary: 'List the settings in force',
      description: 'The settings of the instance that responds, in the order of the documentation.',
      response: { 200: SettingListEnvelope },
    },
    handler: () => ({ data: [...deps.settings.inForce], message: 'The settings in force.' }),
  });
}
