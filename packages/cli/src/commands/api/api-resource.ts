// `castellan api-resource …`: APIs of yours that access tokens of applications are made for.
import type { ApiResource } from '@castellan/sdk';
import { type Api, apiOptions } from '../../api/connection.ts';
import type { Field } from '../../api/fields.ts';
import { apiResourceId, permissionGroupId } from '../../api/names.ts';
import { type Column, listing, listOptions } from '../../api/output.ts';
import { commandsOf, descriptionField, nameField } from '../../api/records.ts';
import { type CommandGroup, given, listOf, optionOf, UsageError } from '../../command.ts';

const resources = commandsOf({
  noun: 'API resource',
  command: 'api-resource',
  argument: { name: '<resource>', help: 'The name, the identifier or the id of the API resource.' },
  all: '/api/v1/api-resources',
  one: '/api/v1/api-resources/{api_resource_id}',
  find: apiResourceId,
});

type NotShown = 'created_at' | 'updated_at' | 'created_by_id';
type NotListed = NotShown | 'permission_group_ids';

const columns = Object.values({
  name: ['NAME', ({ name }) => name],
  identifier: ['IDENTIFIER', ({ identifier }) => identifier],
  access_token_seconds: ['SECONDS', ({ access_token_seconds }) => access_token_seconds],
  signing_alg: ['ALGORITHM', ({ signing_alg }) => signing_alg],
  description: ['DESCRIPTION', ({ description }) => description],
  id: ['ID', ({ id }) => id],
} satisfies Record<Exclude<keyof ApiResource, NotListed>, Column<ApiResource>>);

const identifierOption = {
  flags: '--identifier <uri>',
  help: 'The audience of its tokens, such as https://orders.example.com.',
};
const identifierField: Field<string | undefined> = {
  option: identifierOption,
  read: ({ call }) => optionOf(call, 'identifier'),
};
const newIdentifierField: Field<string> = {
  option: { ...identifierOption, help: `${identifierOption.help} It is needed.` },
  read: ({ call }) => {
    const text = optionOf(call, 'identifier');
    if (text === undefined)
      throw new UsageError('give --identifier, such as --identifier https://orders.example.com.');
    return text;
  },
};

const groupsField: Field<string[] | undefined> = {
  option: {
    flags: '--permission-group <group>',
    help: "A permission group whose permissions are its scopes, by name or id; '' for none. Repeatable; replaces the whole list.",
    list: true,
  },
  read: async (api: Api) => {
    if (api.call.values['permission-group'] === undefined) return undefined;
    const ids: string[] = [];
    for (const group of listOf(api.call, 'permission-group'))
      if (group !== '') ids.push(await permissionGroupId(api, group));
    return ids;
  },
};

const secondsField: Field<number | undefined> = {
  option: { flags: '--seconds <number>', help: 'How long its tokens count, 60 to 3600. Default: 300.' },
  read: ({ call }) => {
    const text = optionOf(call, 'seconds');
    if (text === undefined) return undefined;
    if (!/^\d{1,9}$/.test(text)) throw new UsageError('--seconds must be a number.');
    return Number(text);
  },
};

const algorithmField: Field<ApiResource['signing_alg'] | undefined> = {
  option: {
    flags: '--algorithm <name>',
    help: 'How its tokens are signed. Default: RS256.',
    choices: ['RS256', 'ES256'],
  },
  read: ({ call }) => optionOf(call, 'algorithm') as ApiResource['signing_alg'] | undefined,
};

const fields = {
  description: descriptionField,
  permission_group_ids: groupsField,
  access_token_seconds: secondsField,
  signing_alg: algorithmField,
};

export const declaration: CommandGroup = {
  commands: {
    list: {
      summary: 'List API resources.',
      options: [
        { flags: '--search <text>', help: 'Part of the name or of the identifier.' },
        ...listOptions,
        ...apiOptions,
      ],
      run: listing({
        path: '/api/v1/api-resources',
        input: async ({ call }) => ({ query: given({ search: optionOf(call, 'search') }) }),
        columns,
      }),
    },
    get: resources.get<NotShown>({
      summary: 'Show an API resource.',
      facts: (data) => ({
        name: ['name', data.name],
        identifier: ['identifier', data.identifier],
        description: ['description', data.description],
        id: ['id', data.id],
        permission_group_ids: ['permission groups', data.permission_group_ids],
        access_token_seconds: ['seconds', data.access_token_seconds],
        signing_alg: ['algorithm', data.signing_alg],
      }),
    }),
    create: resources.create({
      summary: 'Create an API resource.',
      fields: { identifier: newIdentifierField, ...fields },
    }),
    update: resources.update({
      summary: 'Change an API resource.',
      fields: { name: nameField, identifier: identifierField, ...fields },
    }),
    delete: resources.delete({ summary: 'Delete an API resource that no application names.' }),
  },
};
