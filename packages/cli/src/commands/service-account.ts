// `castellan service-account …`: programs that call the API. Their keys: `castellan key …`.
import type { ServiceAccount } from '@castellan/sdk';
import {
  change,
  changeOptions,
  destructiveOptions,
  idempotency,
  ifVersion,
  report,
  retryOption,
  versionOf,
  versionOption,
} from '../api/changes.ts';
import { type Api, apiOptions, overApi } from '../api/connection.ts';
import { roleIds, serviceAccountId } from '../api/names.ts';
import { type Column, listOptions, printList, printRecord } from '../api/output.ts';
import { lossOf, removedNames } from '../api/sets.ts';
import { cannotBeUndone, deleteOptions, describing, nameArgument } from '../api/standard.ts';
import {
  argumentOf,
  type CommandGroup,
  given,
  listOf,
  type Option,
  optionOf,
  UsageError,
} from '../command.ts';

const account = nameArgument('service account', 'account');
const accountOf = (api: Api) => serviceAccountId(api, argumentOf(api.call, 'account'));

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
  path: { service_account_id: string },
  role_ids: readonly string[] | undefined,
): Promise<{ headers?: Record<string, string>; consequences: string[] }> {
  if (role_ids === undefined) return { consequences: [] };
  const { result, headers } = await client.request('GET /api/v1/service-accounts/{service_account_id}', {
    path,
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
      run: overApi(async (api) => {
        const { client, call } = api;
        const filter = given({ search: optionOf(call, 'search') });
        const source = {
          body: (query: { size: number }) =>
            client.get('/api/v1/service-accounts', { query: { ...filter, ...query } }),
          pages: (query: { size: number }) =>
            client.pages('/api/v1/service-accounts', { query: { ...filter, ...query } }),
        };
        await printList(api, source, columns);
      }),
    },
    get: {
      summary: 'Show a service account.',
      arguments: [account],
      options: apiOptions,
      run: overApi(async (api) => {
        const answer = await api.client.request('GET /api/v1/service-accounts/{service_account_id}', {
          path: { service_account_id: await accountOf(api) },
        });
        const { data } = answer.result;
        printRecord(api, answer.result, [
          ['name', data.name],
          ['description', data.description],
          ['id', data.id],
          ['active', data.is_active],
          ['roles', data.roles.map(({ name }) => name)],
          ['last used', data.last_used_at],
          ['version', versionOf(answer)],
        ]);
      }),
    },
    create: {
      summary: 'Create a service account.',
      arguments: [{ name: '<name>', help: 'The name of the new service account.' }],
      options: [
        { flags: '--description <text>', help: 'What it is for.' },
        roleOption,
        retryOption,
        ...changeOptions,
        ...apiOptions,
      ],
      run: overApi(async (api) => {
        const { call } = api;
        const body = {
          name: argumentOf(call, 'name'),
          role_ids: await roleIds(api, listOf(call, 'role')),
          ...given({ description: optionOf(call, 'description') }),
        };
        const answer = await change(api, 'POST /api/v1/service-accounts', { body, ...idempotency(call) });
        report(
          api,
          answer,
          `Service account ${body.name} created. Create a key with \`castellan key create\`.`,
        );
      }),
    },
    update: {
      summary: 'Change a service account: names, roles, whether it is active.',
      arguments: [account],
      options: [
        ...describing,
        { flags: '--active <yes|no>', help: 'Whether its keys are accepted.', choices: ['yes', 'no'] },
        { ...roleOption, help: 'Replaces all roles, by name or id. Repeatable. Asks before it removes any.' },
        versionOption,
        ...destructiveOptions,
        ...apiOptions,
      ],
      run: overApi(async (api) => {
        const { call } = api;
        const roles = listOf(call, 'role');
        const active = optionOf(call, 'active');
        const body = given({
          name: optionOf(call, 'name'),
          description: optionOf(call, 'description'),
          is_active: active === undefined ? undefined : active === 'yes',
          role_ids: roles.length === 0 ? undefined : await roleIds(api, roles),
        });
        if (Object.keys(body).length === 0)
          throw new UsageError('no change is given. See `castellan help service-account update`.');
        const path = { service_account_id: await accountOf(api) };
        const { headers, consequences } = await replacedRoles(api, path, body.role_ids);
        const answer = await change(
          api,
          'PUT /api/v1/service-accounts/{service_account_id}',
          { path, body, headers, ...ifVersion(call) },
          { preview: true, consequences },
        );
        report(api, answer, 'Service account changed.');
      }),
    },
    delete: {
      summary: 'Delete a service account with its keys.',
      arguments: [account],
      options: deleteOptions,
      run: overApi(async (api) => {
        const input = { path: { service_account_id: await accountOf(api) }, ...ifVersion(api.call) };
        const options = { preview: true, consequences: cannotBeUndone(api, 'service account', 'account') };
        const answer = await change(
          api,
          'DELETE /api/v1/service-accounts/{service_account_id}',
          input,
          options,
        );
        report(api, answer, 'Service account deleted.');
      }),
    },
  },
};
