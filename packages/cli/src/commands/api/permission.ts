// `castellan permission …`: the permissions of your product and of Castellan itself.
import type { Permission } from '@castellan/sdk';
import { apiOptions } from '../../api/connection.ts';
import { type Field, textField } from '../../api/fields.ts';
import { permissionGroupId, permissionId } from '../../api/names.ts';
import { type Column, listing, listOptions } from '../../api/output.ts';
import { commandsOf, nameArgument } from '../../api/records.ts';
import { type CommandGroup, given, optionOf, UsageError } from '../../command.ts';
import { authenticationOfPermissions } from './permission/authentication.ts';

const permission = nameArgument('permission');
const permissions = commandsOf({
  noun: 'permission',
  argument: permission,
  all: '/api/v1/permissions',
  one: '/api/v1/permissions/{permission_id}',
  find: permissionId,
  isUnversioned: true,
});

/** `group` has the name of the group. */
type NotShown = 'group_id' | 'updated_at' | 'created_by_id' | 'authentication';
type NotListed = NotShown | 'created_at';

const columns = Object.values({
  name: ['NAME', ({ name }) => name],
  group: ['GROUP', ({ group }) => group.name],
  description: ['DESCRIPTION', ({ description }) => description],
  id: ['ID', ({ id }) => id],
} satisfies Record<Exclude<keyof Permission, NotListed>, Column<Permission>>);

const groupField: Field<string> = {
  option: { flags: '--group <group>', help: 'The permission group, by name or id. Required.' },
  read: (api) => {
    const group = optionOf(api.call, 'group');
    if (group === undefined)
      throw new UsageError('--group is missing. See `castellan help permission create`.');
    return permissionGroupId(api, group);
  },
};

export const declaration: CommandGroup = {
  commands: {
    list: {
      summary: 'List permissions.',
      options: [
        { flags: '--group <group>', help: 'Only those of this permission group, by name or id.' },
        { flags: '--own', help: 'Only those of your product, not those of Castellan itself.' },
        ...listOptions,
        ...apiOptions,
      ],
      run: listing({
        path: '/api/v1/permissions',
        input: async (api) => {
          const group = optionOf(api.call, 'group');
          return {
            query: given({
              group_id: group === undefined ? undefined : await permissionGroupId(api, group),
              is_builtin: api.call.values.own === true ? false : undefined,
            }),
          };
        },
        columns,
      }),
    },
    get: permissions.get<NotShown>({
      summary: 'Show a permission.',
      facts: (data) => ({
        name: ['name', data.name],
        description: ['description', data.description],
        id: ['id', data.id],
        group: ['group', data.group.name],
        created_at: ['created', data.created_at],
      }),
    }),
    create: permissions.create({
      summary: 'Create a permission.',
      argument: {
        name: '<action>',
        help: 'What it allows, such as publish. The name of the group goes in front of it.',
      },
      fields: {
        group_id: groupField,
        description: textField({ flags: '--description <text>', help: 'What it allows.' }),
      },
      done: (_, { name }) => `Permission ${name} created.`,
    }),
    delete: permissions.delete({ summary: 'Delete a permission that no role has.' }),
    authentication: authenticationOfPermissions,
    holders: {
      summary: 'List who holds a permission.',
      arguments: [permission],
      options: [
        { flags: '--superusers', help: 'Also list superusers without a role that gives it.' },
        ...listOptions,
        ...apiOptions,
      ],
      run: listing({
        path: '/api/v1/permissions/{permission_id}/holders',
        input: async (api) => ({
          path: { permission_id: await permissions.idIn(api) },
          query: api.call.values.superusers === true ? { include: 'superusers' } : {},
        }),
        columns: [
          ['TYPE', ({ type }) => type],
          ['NAME', ({ name }) => name],
          ['EMAIL', ({ email }) => email],
          ['ACTIVE', ({ is_active }) => is_active],
          [
            'THROUGH',
            ({ superuser, roles }) => [
              ...(superuser ? ['(superuser)'] : []),
              ...roles.map(({ name }) => name),
            ],
          ],
          ['ID', ({ id }) => id],
        ],
      }),
    },
  },
};
