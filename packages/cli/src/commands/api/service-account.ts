// `castellan service-account …`: programs that call the API. Their keys: `castellan key …`.
import type { ServiceAccount } from '@castellan/sdk';
import { type Api, apiOptions } from '../../api/connection.ts';
import { type Field, yesNoField } from '../../api/fields.ts';
import { roleIds, serviceAccountId } from '../../api/names.ts';
import { type Column, listing, listOptions } from '../../api/output.ts';
import { commandsOf, descriptionField, externalIdField, nameArgument, nameField } from '../../api/records.ts';
import { lossOf, removedNames } from '../../api/sets.ts';
import { type CommandGroup, given, listOf, type Option, optionOf } from '../../command.ts';

const accounts = commandsOf({
  noun: 'service account',
  argument: nameArgument('service account', 'account'),
  all: '/api/v1/service-accounts',
  one: '/api/v1/service-accounts/{service_account_id}',
  find: serviceAccountId,
  hasPreviews: true,
});

/** The permissions follow from the roles. */
type NotShown = 'permissions' | 'created_at' | 'updated_at' | 'created_by_id';
type NotListed = NotShown | 'description' | 'external_id';

const columns = Object.values({
  name: ['NAME', ({ name }) => name],
  is_active: ['ACTIVE', ({ is_active }) => is_active],
  roles: ['ROLES', ({ roles }) => roles.map(({ name }) => name)],
  last_used_at: ['LAST USED', ({ last_used_at }) => last_used_at],
  id: ['ID', ({ id }) => id],
} satisfies Record<Exclude<keyof ServiceAccount, NotListed>, Column<ServiceAccount>>);

const roleOption: Option = { flags: '--role <role>', help: 'A role, by name or id. Repeatable.', list: true };
const rolesField: Field<string[]> = {
  option: roleOption,
  read: (api) => roleIds(api, listOf(api.call, 'role')),
};
const newRolesField: Field<string[] | undefined> = {
  option: {
    ...roleOption,
    help: 'Replaces all roles, by name or id. Repeatable. Asks before it removes any.',
  },
  read: (api) => (api.call.values.role === undefined ? undefined : rolesField.read(api)),
};

/** Other names of `role_ids`. */
type OtherName = 'role_id' | 'roles';

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
    get: accounts.get<NotShown>({
      summary: 'Show a service account.',
      facts: (data) => ({
        name: ['name', data.name],
        description: ['description', data.description],
        id: ['id', data.id],
        is_active: ['active', data.is_active],
        roles: ['roles', data.roles.map(({ name }) => name)],
        external_id: ['external id', data.external_id],
        last_used_at: ['last used', data.last_used_at],
      }),
    }),
    // A new account is active.
    create: accounts.create<OtherName | 'is_active'>({
      summary: 'Create a service account.',
      fields: { description: descriptionField, role_ids: rolesField, external_id: externalIdField },
      done: ({ name }) => `Service account ${name} created. Create a key with \`castellan key create\`.`,
    }),
    update: accounts.update<OtherName>({
      summary: 'Change a service account: names, roles, whether it is active.',
      fields: {
        name: nameField,
        description: descriptionField,
        is_active: yesNoField('active', 'Whether its keys are accepted.'),
        role_ids: newRolesField,
        external_id: externalIdField,
      },
      loss: (api, id, { role_ids }) => replacedRoles(api, id, role_ids),
    }),
    delete: accounts.delete({ summary: 'Delete a service account with its keys.' }),
  },
};
