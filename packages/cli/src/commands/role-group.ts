// `castellan role-group …`: the tree that sorts roles. It grants nothing.
import type { RoleGroup } from '@castellan/sdk';
import {
  change,
  changeOptions,
  idempotency,
  ifVersion,
  report,
  retryOption,
  versionOf,
  versionOption,
} from '../api/changes.ts';
import { type Api, apiOptions, overApi } from '../api/connection.ts';
import { roleGroupId, roleIds } from '../api/names.ts';
import { listOptions, printList, printRecord } from '../api/output.ts';
import {
  cannotBeUndone,
  deleteOptions,
  describedColumns,
  describing,
  nameArgument,
} from '../api/standard.ts';
import {
  argumentOf,
  type CommandGroup,
  given,
  listOf,
  type Option,
  optionOf,
  UsageError,
} from '../command.ts';

const group = nameArgument('role group', 'group');
const roles = { name: '<roles...>', help: 'Names or ids of roles.' };
const groupOf = (api: Api) => roleGroupId(api, argumentOf(api.call, 'group'));

const parentOption: Option = {
  flags: '--parent <group>',
  help: 'The role group above it, by name or id; none for the top.',
};

async function parentIn(api: Api): Promise<string | null | undefined> {
  const parent = optionOf(api.call, 'parent');
  if (parent === undefined) return undefined;
  return parent === 'none' ? null : roleGroupId(api, parent);
}

const namesBelow = ({ children }: RoleGroup): string[] => children.map(({ name }) => name);

export const declaration: CommandGroup = {
  commands: {
    list: {
      summary: 'List role groups.',
      options: [...listOptions, ...apiOptions],
      run: overApi((api) =>
        printList(
          api,
          {
            body: (query) => api.client.get('/api/v1/role-groups', { query }),
            pages: (query) => api.client.pages('/api/v1/role-groups', { query }),
          },
          [...describedColumns.slice(0, 1), ['BELOW IT', namesBelow], ...describedColumns.slice(1)],
        ),
      ),
    },
    get: {
      summary: 'Show a role group with its roles.',
      arguments: [group],
      options: apiOptions,
      run: overApi(async (api) => {
        const answer = await api.client.request('GET /api/v1/role-groups/{group_id}', {
          path: { group_id: await groupOf(api) },
        });
        const { data } = answer.result;
        printRecord(api, answer.result, [
          ['name', data.name],
          ['description', data.description],
          ['id', data.id],
          ['roles', data.roles.map(({ name }) => name)],
          ['below it', namesBelow(data)],
          ['version', versionOf(answer)],
        ]);
      }),
    },
    create: {
      summary: 'Create a role group.',
      arguments: [{ name: '<name>', help: 'The name of the new role group.' }],
      options: [
        { flags: '--description <text>', help: 'What it is for.' },
        parentOption,
        retryOption,
        ...changeOptions,
        ...apiOptions,
      ],
      run: overApi(async (api) => {
        const { call } = api;
        const body = {
          name: argumentOf(call, 'name'),
          ...given({ description: optionOf(call, 'description'), parent_id: await parentIn(api) }),
        };
        const answer = await change(api, 'POST /api/v1/role-groups', { body, ...idempotency(call) });
        report(api, answer, `Role group ${body.name} created.`);
      }),
    },
    update: {
      summary: 'Rename, describe or move a role group.',
      arguments: [group],
      options: [...describing, parentOption, versionOption, ...changeOptions, ...apiOptions],
      run: overApi(async (api) => {
        const { call } = api;
        const body = given({
          name: optionOf(call, 'name'),
          description: optionOf(call, 'description'),
          parent_id: await parentIn(api),
        });
        if (Object.keys(body).length === 0)
          throw new UsageError('no change is given. See `castellan help role-group update`.');
        const input = { path: { group_id: await groupOf(api) }, body, ...ifVersion(call) };
        report(api, await change(api, 'PUT /api/v1/role-groups/{group_id}', input), 'Role group changed.');
      }),
    },
    delete: {
      summary: 'Delete a role group without roles and groups below it.',
      arguments: [group],
      options: deleteOptions,
      run: overApi(async (api) => {
        const input = { path: { group_id: await groupOf(api) }, ...ifVersion(api.call) };
        const consequences = cannotBeUndone(api, 'role group', 'group');
        const answer = await change(api, 'DELETE /api/v1/role-groups/{group_id}', input, { consequences });
        report(api, answer, 'Role group deleted.');
      }),
    },
    'roles add': {
      summary: 'Add roles to a role group.',
      arguments: [group, roles],
      options: [versionOption, ...changeOptions, ...apiOptions],
      run: overApi(async (api) => {
        const body = { role_ids: await roleIds(api, listOf(api.call, 'roles')) };
        const input = { path: { group_id: await groupOf(api) }, body, ...ifVersion(api.call) };
        report(api, await change(api, 'POST /api/v1/role-groups/{group_id}/roles', input), 'Roles added.');
      }),
    },
    'roles remove': {
      summary: 'Remove roles from a role group. The roles themselves stay.',
      arguments: [group, roles],
      options: [versionOption, ...changeOptions, ...apiOptions],
      run: overApi(async (api) => {
        const body = { role_ids: await roleIds(api, listOf(api.call, 'roles')) };
        const input = { path: { group_id: await groupOf(api) }, body, ...ifVersion(api.call) };
        report(
          api,
          await change(api, 'DELETE /api/v1/role-groups/{group_id}/roles', input),
          'Roles removed.',
        );
      }),
    },
  },
};
