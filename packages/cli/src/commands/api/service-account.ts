// `castellan service-account …`: programs that call the API. Their keys: `castellan key …`.
import type { ServiceAccount } from '@castellan/sdk';
import { type Api, apiOptions } from '../../api/connection.ts';
import { roleIds, serviceAccountId } from '../../api/names.ts';
import { type Column, listing, listOptions } from '../../api/output.ts';
import { commandsOf, descriptionOption, nameArgument, nameOption } from '../../api/records.ts';
import { lossOf, removedNames } from '../../api/sets.ts';
import { argumentOf, type CommandGroup, given, listOf, type Option, optionOf } from '../../command.ts';

const accounts = commandsOf({
  noun: 'service account',
  argument: nameArgument('service account', 'account'),
  all: '/api/v1/service-accounts',
  one: '/api/v1/service-accounts/{service_account_id}',
  find: serviceAccountId,
  hasPreviews: true,
});

const columns: readonly Column<ServiceAccount>[] = [
  ['NAME', ({ name }) => name],
  ['ACTIVE', ({ is_active }) => is_active],
  ['ROLES', ({ roles }) => roles.map(({ name }) => name)],
  ['LAST USED', ({ last_used_at }) => last_used_at],
  ['ID', ({ id }) => id],
];

const roleOption: Option = { flags: '--role <role>', help: 'A role, by name or id. Repeatable.', list: true };

/** Returns what a replacement of the roles removes, and the header for the version that was looked at. */
async function replacedRoles(
  { client }: Api,
  service_account_id: string,
  role_ids: readonly string[] | undefined,
): Promise<{ headers?: Record<string, string>; consequences: string[] }> {
  if (role_ids === undefined) return { consequences: [] };
  const { result, headers } = await client.request('GET /api/v1/service-accounts/{service_account_id}', {
    path: { service_account_id },
  });
  const { name, roles } = result.data;
  return {
    headers: { 'if-match': headers.get('etag') ?? '*' },
    ...lossOf(`The service account ${name}`, removedNames(roles, role_ids)),
  };
}

export const declaration: CommandGroup = {
  commands: {
    list: {
      summary: 'List service accounts.',
      options: [{ flags: '--search <text>', help: 'Part of the name.' }, ...listOptions, ...apiOptions],
      run: listing({
        path: '/api/v1/service-accounts',
        input: async ({ call }) => ({ query: given({ search: optionOf(call, 'search') }) }),
        columns,
      }),
    },
    get: accounts.get({
      summary: 'Show a service account.',
      facts: (data) => [
        ['name', data.name],
        ['description', data.description],
        ['id', data.id],
        ['active', data.is_active],
        ['roles', data.roles.map(({ name }) => name)],
        ['last used', data.last_used_at],
      ],
    }),
    create: accounts.create({
      summary: 'Create a service account.',
      options: [descriptionOption, roleOption],
      body: async (api) => ({
        name: argumentOf(api.call, 'name'),
        role_ids: await roleIds(api, listOf(api.call, 'role')),
        ...given({ description: optionOf(api.call, 'description') }),
      }),
      done: ({ name }) => `Service account ${name} created. Create a key with \`castellan key create\`.`,
    }),
    update: accounts.update({
      summary: 'Change a service account: names, roles, whether it is active.',
      options: [
        nameOption,
        descriptionOption,
        { flags: '--active <yes|no>', help: 'Whether its keys are accepted.', choices: ['yes', 'no'] },
        { ...roleOption, help: 'Replaces all roles, by name or id. Repeatable. Asks before it removes any.' },
      ],
      body: async (api) => {
        const { call } = api;
        const roles = listOf(call, 'role');
        const active = optionOf(call, 'active');
        return given({
          name: optionOf(call, 'name'),
          description: optionOf(call, 'description'),
          is_active: active === undefined ? undefined : active === 'yes',
          role_ids: roles.length === 0 ? undefined : await roleIds(api, roles),
        });
      },
      loss: (api, id, { role_ids }) => replacedRoles(api, id, role_ids),
    }),
    delete: accounts.delete({ summary: 'Delete a service account with its keys.' }),
  },
};
