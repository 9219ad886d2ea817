// `castellan role …`: roles and their permissions.
import type { Role } from '@castellan/sdk';
import { type Api, apiOptions } from '../../api/connection.ts';
import { permissionIds, roleGroupId, roleId } from '../../api/names.ts';
import { type Column, listing, listOptions } from '../../api/output.ts';
import { commandsOf, descriptionOption, nameArgument, nameOption } from '../../api/records.ts';
import { argumentOf, type CommandGroup, given, listOf, type Option, optionOf } from '../../command.ts';
import { permissionsOfRoles } from './role/permissions.ts';

const role = nameArgument('role');
const roles = commandsOf({
  noun: 'role',
  argument: role,
  all: '/api/v1/roles',
  one: '/api/v1/roles/{role_id}',
  find: roleId,
  hasPreviews: true,
});

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
      run: listing({
        path: '/api/v1/roles',
        input: async ({ call }) => ({ query: given({ name_pattern: optionOf(call, 'pattern') }) }),
        columns,
      }),
    },
    get: roles.get({
      summary: 'Show a role with its permissions.',
      facts: (data) => [
        ['name', data.name],
        ['description', data.description],
        ['id', data.id],
        ['system role', data.is_system],
        ['permissions', data.permissions.map(({ name }) => name)],
        ['created', data.created_at],
      ],
    }),
    create: roles.create({
      summary: 'Create a role.',
      options: [
        descriptionOption,
        { flags: '--permission <permission>', help: 'A permission, by name or id. Repeatable.', list: true },
        groupOption,
      ],
      hasPreview: true,
      body: async (api) => ({
        name: argumentOf(api.call, 'name'),
        permission_ids: await permissionIds(api, listOf(api.call, 'permission')),
        ...given({ description: optionOf(api.call, 'description'), role_group_id: await groupIn(api) }),
      }),
    }),
    update: roles.update({
      summary: 'Rename or describe a role, or move it to another role group.',
      options: [nameOption, descriptionOption, groupOption],
      body: async (api) =>
        given({
          name: optionOf(api.call, 'name'),
          description: optionOf(api.call, 'description'),
          role_group_id: await groupIn(api),
        }),
    }),
    delete: roles.delete({ summary: 'Delete a role that has no permissions and no holders.' }),
    holders: {
      summary: 'List who has a role.',
      arguments: [role],
      options: [...listOptions, ...apiOptions],
      run: listing({
        path: '/api/v1/roles/{role_id}/holders',
        input: async (api) => ({ path: { role_id: await roles.idIn(api) } }),
        columns: [
          ['TYPE', ({ type }) => type],
          ['NAME', ({ name }) => name],
          ['EMAIL', ({ email }) => email],
          ['ACTIVE', ({ is_active }) => is_active],
          ['ID', ({ id }) => id],
        ],
      }),
    },
    ...permissionsOfRoles,
  },
};
