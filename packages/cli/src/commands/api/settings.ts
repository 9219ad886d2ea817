// `castellan settings list`: the settings in force, as the service has them.
import { apiOptions, overApi } from '../../api/connection.ts';
import { tableOf } from '../../api/output.ts';
import { jsonText } from '../../api/text.ts';
import type { CommandGroup } from '../../command.ts';

export const declaration: CommandGroup = {
  commands: {
    list: {
      summary: 'List the settings in force. Secrets are not shown.',
      options: [{ flags: '--changed', help: 'Only those that are not the default.' }, ...apiOptions],
      run: overApi(async (api) => {
        const body = await api.client.get('/api/v1/settings');
        if (api.call.values.json === true) return api.call.print(jsonText(body, 2));
        const isListed = ({ source }: { source: string }) =>
          api.call.values.changed !== true || source !== 'default';
        tableOf<(typeof body.data)[number]>(api, [
          ['NAME', ({ name }) => name],
          ['VALUE', ({ value, is_secret }) => value ?? (is_secret ? '(not shown)' : null)],
          ['FROM', ({ source }) => source],
        ])(body.data.filter(isListed));
      }),
    },
  },
};
