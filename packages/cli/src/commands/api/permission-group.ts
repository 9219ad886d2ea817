// `castellan permission-group …`: the tree that sorts permissions.
import { permissionGroupId } from '../../api/names.ts';
import { nameArgument } from '../../api/records.ts';
import type { CommandGroup } from '../../command.ts';
import { groupCommands } from './group/records.ts';

export const declaration: CommandGroup = {
  commands: groupCommands(
    {
      noun: 'permission group',
      argument: nameArgument('permission group', 'group'),
      all: '/api/v1/permission-groups',
      one: '/api/v1/permission-groups/{group_id}',
      find: permissionGroupId,
    },
    'permissions',
  ),
};
