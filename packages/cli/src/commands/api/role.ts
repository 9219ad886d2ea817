// `castellan role …`: roles and their permissions.
import type { Role } from '@castellan/sdk';
import { apiOptions } from '../../api/connection.ts';
import type { Field } from '../../api/fields.ts';
import { permissionIds, roleGroupId, roleId } from '../../api/names.ts';
import { type Column, listing, listOptions } from '../../api/output.ts';
import { commandsOf, descriptionField, nameArgument, nameField } from '../../api/records.ts';
import { type CommandGroup, given, listOf, optionOf } from '../../command.ts';
import { authenticationOfRoles } from './role/authentication.ts';
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

/** The ETag has the version. `role-group get` lists the roles of a group. */
type NotShown = 'role_group_id' | 'updated_at' | 'created_by_id' | 'holders' | 'version' | 'authentication';
type NotListed = NotShown | 'created_at';

const columns = Object.values({
  name: ['NAME', ({ name }) => name],
  is_system: ['SYSTEM', ({ is_system }) => is_system],
  permissions: ['PERMISSIONS', ({ permissions }) => permissions.length],
  description: ['DESCRIPTION', ({ description }) => description],
  id: ['ID', ({ id }) => id],
} satisfies Record<Exclude<keyof Role, NotListed>, Column<Role>>);

const groupField: Field<string | undefined> = {
  option: { flags: '--role-group <group>', help: 'The role group that it belongs to, by name or id.' },
  read: (api) => {
    const group = optionOf(api.call, 'role-group');
    return group === undefined ? undefined : roleGroupId(api, group);
  },
};

const permissionsField: Field<string[]> = {
  option: {
    flags: '--permission <permission>',
    help: 'A permission, by name or id. Repeatable.',
    list: true,
  },
  read: (api) => permissionIds(api, listOf(api.call, 'permission')),
};

/** Another name of `permission_ids`. */
type OtherName = 'permissions';

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
    get: roles.get<NotShown>({
      summary: 'Show a role with its permissions.',
      facts: (data) => ({
        name: ['name', data.name],
        description: ['description', data.description],
        id: ['id', data.id],
        is_system: ['system role', data.is_system],
        permissions: ['permissions', data.permissions.map(({ name }) => name)],
        created_at: ['created', data.created_at],
      }),
    }),
    create: roles.create<OtherName>({
      summary: 'Create a role.',
      fields: {
        description: descriptionField,
        permission_ids: permissionsField,
        role_group_id: groupField,
      },
      hasPreview: true,
    }),
    // `role permissions` changes the permissions.
    update: roles.update<OtherName | 'permission_ids'>({
      summary: 'Rename or describe a role, or move it to another role group.',
      fields: { name: nameField, description: descriptionField, role_group_id: groupField },
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
    authentication: authenticationOfRoles,
    ...permissionsOfRoles,
  },
};
