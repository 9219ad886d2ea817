// `castellan role …`: roles and their permissions.
import type { Role } from '@castellan/sdk';
import {
  change,
  changeOptions,
  idempotency,
  ifVersion,
  report,
  retryOption,
  versionOf,
  versionOption,
} from '../api/changes.ts';
import { type Api, apiOptions, overApi } from '../api/connection.ts';
import { permissionIds, roleGroupId, roleId } from '../api/names.ts';
import { type Column, listOptions, printList, printRecord } from '../api/output.ts';
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
import { permissionsOfRoles } from './role/permissions.ts';

const role = nameArgument('role');
const roleOf = (api: Api) => roleId(api, argumentOf(api.call, 'role'));

const columns: readonly Column<Role>[] = [
  ['NAME', ({ name }) => name],
  ['SYSTEM', ({ is_system }) => is_system],
  ['PERMISSIONS', ({ permissions }) => permissions.length],
  ['DESCRIPTION', ({ description }) => description],
  ['ID', ({ id }) => id],
];

const groupOption: Option = {
  flags: '--role-group <group>',
  help: 'The role group that it belongs to, by name or id.',
};

const groupIn = async (api: Api) => {
  const group = optionOf(api.call, 'role-group');
  return group === undefined ? undefined : roleGroupId(api, group);
};

export const declaration: CommandGroup = {
  commands: {
    list: {
      summary: 'List roles.',
      options: [
        { flags: '--pattern <pattern>', help: 'Only names of this pattern; * stands for any characters.' },
        ...listOptions,
        ...apiOptions,
      ],
      run: overApi(async (api) => {
        const { client, call } = api;
        const filter = given({ name_pattern: optionOf(call, 'pattern') });
        const source = {
          body: (query: { size: number }) => client.get('/api/v1/roles', { query: { ...filter, ...query } }),
          pages: (query: { size: number }) =>
            client.pages('/api/v1/roles', { query: { ...filter, ...query } }),
        };
        await printList(api, source, columns);
      }),
    },
    get: {
      summary: 'Show a role with its permissions.',
      arguments: [role],
      options: apiOptions,
      run: overApi(async (api) => {
        const answer = await api.client.request('GET /api/v1/roles/{role_id}', {
          path: { role_id: await roleOf(api) },
        });
        const { data } = answer.result;
        printRecord(api, answer.result, [
          ['name', data.name],
          ['description', data.description],
          ['id', data.id],
          ['system role', data.is_system],
          ['permissions', data.permissions.map(({ name }) => name)],
          ['created', data.created_at],
          ['version', versionOf(answer)],
        ]);
      }),
    },
    create: {
      summary: 'Create a role.',
      arguments: [{ name: '<name>', help: 'The name of the new role.' }],
      options: [
        { flags: '--description <text>', help: 'What it is for.' },
        { flags: '--permission <permission>', help: 'A permission, by name or id. Repeatable.', list: true },
        groupOption,
        retryOption,
        ...changeOptions,
        ...apiOptions,
      ],
      run: overApi(async (api) => {
        const { call } = api;
        const body = {
          name: argumentOf(call, 'name'),
          permission_ids: await permissionIds(api, listOf(call, 'permission')),
          ...given({ description: optionOf(call, 'description'), role_group_id: await groupIn(api) }),
        };
        const input = { body, ...idempotency(call) };
        report(
          api,
          await change(api, 'POST /api/v1/roles', input, { preview: true }),
          `Role ${body.name} created.`,
        );
      }),
    },
    update: {
      summary: 'Rename or describe a role, or move it to another role group.',
      arguments: [role],
      options: [...describing, groupOption, versionOption, ...changeOptions, ...apiOptions],
      run: overApi(async (api) => {
        const { call } = api;
        const body = given({
          name: optionOf(call, 'name'),
          description: optionOf(call, 'description'),
          role_group_id: await groupIn(api),
        });
        if (Object.keys(body).length === 0)
          throw new UsageError('no change is given. See `castellan help role update`.');
        const input = { path: { role_id: await roleOf(api) }, body, ...ifVersion(call) };
        report(
          api,
          await change(api, 'PUT /api/v1/roles/{role_id}', input, { preview: true }),
          'Role changed.',
        );
      }),
    },
    delete: {
      summary: 'Delete a role that has no permissions and no holders.',
      arguments: [role],
      options: deleteOptions,
      run: overApi(async (api) => {
        const input = { path: { role_id: await roleOf(api) }, ...ifVersion(api.call) };
        const options = { preview: true, consequences: cannotBeUndone(api, 'role', 'role') };
        report(api, await change(api, 'DELETE /api/v1/roles/{role_id}', input, options), 'Role deleted.');
      }),
    },
    holders: {
      summary: 'List who has a role.',
      arguments: [role],
      options: [...listOptions, ...apiOptions],
      run: overApi(async (api) => {
        const { client } = api;
        const path = { role_id: await roleOf(api) };
        const source = {
          body: (query: { size: number }) => client.get('/api/v1/roles/{role_id}/holders', { path, query }),
          pages: (query: { size: number }) =>
            client.pages('/api/v1/roles/{role_id}/holders', { path, query }),
        };
        await printList(api, source, [
          ['TYPE', ({ type }) => type],
          ['NAME', ({ name }) => name],
          ['EMAIL', ({ email }) => email],
          ['ACTIVE', ({ is_active }) => is_active],
          ['ID', ({ id }) => id],
        ]);
      }),
    },
    ...permissionsOfRoles,
  },
};
