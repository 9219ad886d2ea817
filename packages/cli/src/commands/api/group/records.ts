// The commands that `castellan role-group …` and `castellan permission-group …` share. A group sorts; it grants nothing.
import type { PermissionGroup, RoleGroup } from '@castellan/sdk';
import { apiOptions } from '../../../api/connection.ts';
import type { Field, KeyOf } from '../../../api/fields.ts';
import { type Column, listing, listOptions } from '../../../api/output.ts';
import { commandsOf, descriptionField, type Kind, nameField } from '../../../api/records.ts';
import { type Command, optionOf } from '../../../command.ts';

type All = '/api/v1/role-groups' | '/api/v1/permission-groups';
type Group = RoleGroup | PermissionGroup;

/** Another name of `parent_id`, only of permission groups. */
type OtherName = 'permission_group_id';
/** `get` of the group above it lists a group. */
type NotShown = OtherName | 'parent_id' | 'created_at' | 'updated_at' | 'created_by_id';
/** Role groups have `children`, permission groups `groups`. */
type NotListed = NotShown | 'roles' | 'permissions' | 'groups';

const names = (records: readonly { name: string }[]): string[] => records.map(({ name }) => name);

const columns = Object.values({
  name: ['NAME', ({ name }) => name],
  children: ['BELOW IT', (group) => names('children' in group ? group.children : group.groups)],
  description: ['DESCRIPTION', ({ description }) => description],
  id: ['ID', ({ id }) => id],
} satisfies Record<Exclude<KeyOf<Group>, NotListed>, Column<Group>>);

/** Returns the commands of a kind of groups. `members` is what they sort: `roles`. */
export function groupCommands(
  kind: Kind<All, `${All}/{group_id}`>,
  members: 'roles' | 'permissions',
): Readonly<Record<'list' | 'get' | 'create' | 'update' | 'delete', Command>> {
  const { noun, all, find } = kind;
  const commands = commandsOf(kind);
  const parentField: Field<string | null | undefined> = {
    option: { flags: '--parent <group>', help: `The ${noun} above it, by name or id; none for the top.` },
    read: (api) => {
      const parent = optionOf(api.call, 'parent');
      if (parent === undefined) return undefined;
      return parent === 'none' ? null : find(api, parent);
    },
  };

  return {
    list: {
      summary: `List ${noun}s.`,
      options: [...listOptions, ...apiOptions],
      run: listing({
        path: all,
        columns,
      }),
    },
    get: commands.get<NotShown>({
      summary: `Show a ${noun} with its ${members}.`,
      facts: (data) => ({
        name: ['name', data.name],
        description: ['description', data.description],
        id: ['id', data.id],
        roles: 'roles' in data ? ['roles', names(data.roles)] : null,
        permissions: 'permissions' in data ? ['permissions', names(data.permissions)] : null,
        children: 'children' in data ? ['below it', names(data.children)] : null,
        groups: 'groups' in data ? ['below it', names(data.groups)] : null,
      }),
    }),
    create: commands.create<OtherName>({
      summary: `Create a ${noun}.`,
      fields: { description: descriptionField, parent_id: parentField },
    }),
    update: commands.update<OtherName>({
      summary: `Rename, describe or move a ${noun}.`,
      fields: { name: nameField, description: descriptionField, parent_id: parentField },
    }),
    delete: commands.delete({ summary: `Delete a ${noun} without ${members} and groups below it.` }),
  };
}
