// `castellan role-group …`: the tree that sorts roles. It grants nothing.
import { change, changeOptions, ifVersion, report, versionOption } from '../../api/changes.ts';
import { apiOptions, overApi } from '../../api/connection.ts';
import { roleGroupId, roleIds } from '../../api/names.ts';
import { nameArgument } from '../../api/records.ts';
import { argumentOf, type Command, type CommandGroup, listOf } from '../../command.ts';
import { groupCommands } from './group/records.ts';

const group = nameArgument('role group', 'group');
const roles = { name: '<roles...>', help: 'Names or ids of roles.' };

/** Returns the command that adds roles to a group, or removes them. */
const membership = (method: 'POST' | 'DELETE', summary: string, done: string): Command => ({
  summary,
  arguments: [group, roles],
  options: [versionOption, ...changeOptions, ...apiOptions],
  run: overApi(async (api) => {
    const body = { role_ids: await roleIds(api, listOf(api.call, 'roles')) };
    const path = { group_id: await roleGroupId(api, argumentOf(api.call, 'group')) };
    const input = { path, body, ...ifVersion(api.call) };
    report(api, await change(api, `${method} /api/v1/role-groups/{group_id}/roles`, input), done);
  }),
});

export const declaration: CommandGroup = {
  commands: {
    ...groupCommands(
      {
        noun: 'role group',
        argument: group,
        all: '/api/v1/role-groups',
        one: '/api/v1/role-groups/{group_id}',
        find: roleGroupId,
      },
      'roles',
    ),
    'roles add': membership('POST', 'Add roles to a role group.', 'Roles added.'),
    'roles remove': membership(
      'DELETE',
      'Remove roles from a role group. The roles themselves stay.',
      'Roles removed.',
    ),
  },
};
