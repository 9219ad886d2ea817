// `castellan permission …`: the permissions of your product and of Castellan itself.
import type { Permission } from '@castellan/sdk';
import { change, changeOptions, idempotency, report, retryOption } from '../api/changes.ts';
import { type Api, apiOptions, overApi } from '../api/connection.ts';
import { permissionGroupId, permissionId } from '../api/names.ts';
import { type Column, listOptions, printList, printRecord } from '../api/output.ts';
import { cannotBeUndone, deleteOptions, nameArgument } from '../api/standard.ts';
import { argumentOf, type CommandGroup, given, optionOf, UsageError } from '../command.ts';

const permission = nameArgument('permission');
const permissionOf = (api: Api) => permissionId(api, argumentOf(api.call, 'permission'));

const columns: readonly Column<Permission>[] = [
  ['NAME', ({ name }) => name],
  ['GROUP', ({ group }) => group.name],
  ['DESCRIPTION', ({ description }) => description],
  ['ID', ({ id }) => id],
];

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
      run: overApi(async (api) => {
        const { client, call } = api;
        const group = optionOf(call, 'group');
        const filter = given({
          group_id: group === undefined ? undefined : await permissionGroupId(api, group),
          is_builtin: call.values.own === true ? false : undefined,
        });
        const source = {
          body: (query: { size: number }) =>
            client.get('/api/v1/permissions', { query: { ...filter, ...query } }),
          pages: (query: { size: number }) =>
            client.pages('/api/v1/permissions', { query: { ...filter, ...query } }),
        };
        await printList(api, source, columns);
      }),
    },
    get: {
      summary: 'Show a permission.',
      arguments: [permission],
      options: apiOptions,
      run: overApi(async (api) => {
        const body = await api.client.get('/api/v1/permissions/{permission_id}', {
          path: { permission_id: await permissionOf(api) },
        });
        const { name, description, id, group, created_at } = body.data;
        printRecord(api, body, [
          ['name', name],
          ['description', description],
          ['id', id],
          ['group', group.name],
          ['created', created_at],
        ]);
      }),
    },
    create: {
      summary: 'Create a permission.',
      arguments: [
        {
          name: '<action>',
          help: 'What it allows, such as publish. The name of the group goes in front of it.',
        },
      ],
      options: [
        { flags: '--group <group>', help: 'The permission group, by name or id. Required.' },
        { flags: '--description <text>', help: 'What it allows.' },
        retryOption,
        ...changeOptions,
        ...apiOptions,
      ],
      run: overApi(async (api) => {
        const { call } = api;
        const group = optionOf(call, 'group');
        if (group === undefined)
          throw new UsageError('--group is missing. See `castellan help permission create`.');
        const body = {
          name: argumentOf(call, 'action'),
          group_id: await permissionGroupId(api, group),
          ...given({ description: optionOf(call, 'description') }),
        };
        const answer = await change(api, 'POST /api/v1/permissions', { body, ...idempotency(call) });
        report(api, answer, `Permission ${answer?.result.data.name} created.`);
      }),
    },
    delete: {
      summary: 'Delete a permission that no role has.',
      arguments: [permission],
      options: deleteOptions.filter(({ flags }) => !flags.startsWith('--if-version')),
      run: overApi(async (api) => {
        const input = { path: { permission_id: await permissionOf(api) } };
        const consequences = cannotBeUndone(api, 'permission', 'permission');
        const answer = await change(api, 'DELETE /api/v1/permissions/{permission_id}', input, {
          consequences,
        });
        report(api, answer, 'Permission deleted.');
      }),
    },
    holders: {
      summary: 'List who holds a permission.',
      arguments: [permission],
      options: [
        { flags: '--superusers', help: 'Also list superusers without a role that gives it.' },
        ...listOptions,
        ...apiOptions,
      ],
      run: overApi(async (api) => {
        const { client, call } = api;
        const path = { permission_id: await permissionOf(api) };
        const filter = call.values.superusers === true ? { include: 'superusers' as const } : {};
        const source = {
          body: (query: { size: number }) =>
            client.get('/api/v1/permissions/{permission_id}/holders', {
              path,
              query: { ...filter, ...query },
            }),
          pages: (query: { size: number }) =>
            client.pages('/api/v1/permissions/{permission_id}/holders', {
              path,
              query: { ...filter, ...query },
            }),
        };
        await printList(api, source, [
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
        ]);
      }),
    },
  },
};
