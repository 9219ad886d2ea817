// The commands that `castellan role-group …` and `castellan permission-group …` share. A group sorts; it grants nothing.
import type { PermissionGroup, RoleGroup } from '@castellan/sdk';
import type { Api } from '../../../api/connection.ts';
import { apiOptions } from '../../../api/connection.ts';
import { listing, listOptions } from '../../../api/output.ts';
import { commandsOf, descriptionOption, type Kind, nameOption } from '../../../api/records.ts';
import { argumentOf, type Command, given, type Option, optionOf } from '../../../command.ts';

type All = '/api/v1/role-groups' | '/api/v1/permission-groups';
type Group = RoleGroup | PermissionGroup;

const namesBelow = (group: Group): string[] =>
  ('children' in group ? group.children : group.groups).map(({ name }) => name);

/** Returns the commands of a kind of groups. `members` is what they sort: `roles`. */
export function groupCommands(
  kind: Kind<All, `${All}/{group_id}`>,
  members: 'roles' | 'permissions',
): Readonly<Record<'list' | 'get' | 'create' | 'update' | 'delete', Command>> {
  const { noun, all, find } = kind;
  const commands = commandsOf(kind);
  const parentOption: Option = {
    flags: '--parent <group>',
    help: `The ${noun} above it, by name or id; none for the top.`,
  };
  const parentIn = async (api: Api): Promise<string | null | undefined> => {
    const parent = optionOf(api.call, 'parent');
    if (parent === undefined) return undefined;
    return parent === 'none' ? null : find(api, parent);
  };

  return {
    list: {
      summary: `List ${noun}s.`,
      options: [...listOptions, ...apiOptions],
      run: listing({
        path: all,
        columns: [
          ['NAME', ({ name }) => name],
          ['BELOW IT', namesBelow],
          ['DESCRIPTION', ({ description }) => description],
          ['ID', ({ id }) => id],
        ],
      }),
    },
    get: commands.get({
      summary: `Show a ${noun} with its ${members}.`,
      facts: (data) => [
        ['name', data.name],
        ['description', data.description],
        ['id', data.id],
        [members, ('roles' in data ? data.roles : data.permissions).map(({ name }) => name)],
        ['below it', namesBelow(data)],
      ],
    }),
    create: commands.create({
      summary: `Create a ${noun}.`,
      options: [descriptionOption, parentOption],
      body: async (api) => ({
        name: argumentOf(api.call, 'name'),
        ...given({ description: optionOf(api.call, 'description'), parent_id: await parentIn(api) }),
      }),
    }),
    update: commands.update({
      summary: `Rename, describe or move a ${noun}.`,
      options: [nameOption, descriptionOption, parentOption],
      body: async (api) =>
        given({
          name: optionOf(api.call, 'name'),
          description: optionOf(api.call, 'description'),
          parent_id: await parentIn(api),
        }),
    }),
    delete: commands.delete({ summary: `Delete a ${noun} without ${members} and groups below it.` }),
  };
}
