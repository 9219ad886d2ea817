// `castellan session …`: the live sessions of all users.
import type { Session, UserSession } from '@castellan/sdk';
import { change, destructiveOptions, report } from '../../../api/changes.ts';
import { type Api, apiOptions, overApi } from '../../../api/connection.ts';
import { userId } from '../../../api/names.ts';
import { type Column, listing, listOptions } from '../../../api/output.ts';
import { argumentOf, type CommandGroup, given, type Option, optionOf, UsageError } from '../../../command.ts';

export const sessionColumns: readonly Column<Session>[] = [
  ['STARTED', ({ created_at }) => created_at],
  ['LAST USED', ({ last_used_at }) => last_used_at],
  ['ADDRESS', ({ last_address, origin_address }) => last_address ?? origin_address],
  ['NETWORK', ({ unusual_network }) => unusual_network],
  ['PROGRAM', ({ user_agent }) => user_agent],
  ['ID', ({ id }) => id],
];

const columns: readonly Column<UserSession>[] = [['USER', ({ user }) => user.email], ...sessionColumns];

const filterOptions: readonly Option[] = [
  { flags: '--user <user>', help: 'Of this user, by email or id.' },
  { flags: '--address <address>', help: 'Started at this IP address or in this network (CIDR).' },
  { flags: '--search <text>', help: 'Of users whose name or email contains the text.' },
  { flags: '--older-than <time>', help: 'Last used before this time, such as 2026-09-01T00:00:00Z.' },
];

async function filterOf(api: Api) {
  const { call } = api;
  const user = optionOf(call, 'user');
  // The API takes an empty filter for none, and would end more sessions than were meant.
  for (const name of ['address', 'search', 'older-than'])
    if (optionOf(call, name)?.trim() === '') throw new UsageError(`--${name} is empty. Nothing was changed.`);
  return given({
    user_id: user === undefined ? undefined : await userId(api, user),
    address: optionOf(call, 'address'),
    search: optionOf(call, 'search'),
    older_than: optionOf(call, 'older-than'),
  });
}

export const declaration: CommandGroup = {
  commands: {
    list: {
      summary: 'List live sessions.',
      options: [...filterOptions, ...listOptions, ...apiOptions],
      run: listing({
        path: '/api/v1/sessions',
        input: async (api) => ({ query: await filterOf(api) }),
        columns,
      }),
    },
    end: {
      summary: 'End one session, or all that match a filter.',
      arguments: [{ name: '[session]', help: 'The id of the session.' }],
      options: [...filterOptions, ...destructiveOptions, ...apiOptions],
      run: overApi(async (api) => {
        const filter = await filterOf(api);
        const isFiltered = Object.keys(filter).length > 0;
        if ((api.call.arguments.session !== undefined) === isFiltered)
          throw new UsageError(
            'give the id of a session or a filter, not both. See `castellan help session end`.',
          );
        const answer = isFiltered
          ? await change(
              api,
              'DELETE /api/v1/sessions',
              { query: filter },
              {
                consequences: [
                  'Every session that `castellan session list` shows with this filter ends at once.',
                ],
              },
            )
          : await change(
              api,
              'DELETE /api/v1/sessions/{session_id}',
              { path: { session_id: argumentOf(api.call, 'session') } },
              { consequences: ['The session ends at once.'] },
            );
        report(api, answer, answer?.result.message ?? '');
      }),
    },
  },
};
