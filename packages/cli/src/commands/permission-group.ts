// `castellan permission-group …`: the tree that sorts permissions.
import type { PermissionGroup } from '@castellan/sdk';
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
import { permissionGroupId } from '../api/names.ts';
import { listOptions, printList, printRecord } from '../api/output.ts';
import {
  cannotBeUndone,
  deleteOptions,
  describedColumns,
  describing,
  nameArgument,
} from '../api/standard.ts';
import { argumentOf, type CommandGroup, given, type Option, optionOf, UsageError } from '../command.ts';

const group = nameArgument('permission group', 'group');
const groupOf = (api: Api) => permissionGroupId(api, argumentOf(api.call, 'group'));

const parentOption: Option = {
  flags: '--parent <group>',
  help: 'The permission group above it, by name or id; none for the top.',
};

async function parentIn(api: Api): Promise<string | null | undefined> {
  const parent = optionOf(api.call, 'parent');
  if (parent === undefined) return undefined;
  return parent === 'none' ? null : permissionGroupId(api, parent);
}

const namesBelow = ({ groups }: PermissionGroup): string[] => groups.map(({ name }) => name);

export const declaration: CommandGroup = {
  commands: {
    list: {
      summary: 'List permission groups.',
      options: [...listOptions, ...apiOptions],
      run: overApi((api) =>
        printList(
          api,
          {
            body: (query) => api.client.get('/api/v1/permission-groups', { query }),
            pages: (query) => api.client.pages('/api/v1/permission-groups', { query }),
          },
          [...describedColumns.slice(0, 1), ['BELOW IT', namesBelow], ...describedColumns.slice(1)],
        ),
      ),
    },
    get: {
      summary: 'Show a permission group with its permissions.',
      arguments: [group],
      options: apiOptions,
      run: overApi(async (api) => {
        const answer = await api.client.request('GET /api/v1/permission-groups/{group_id}', {
          path: { group_id: await groupOf(api) },
        });
        const { data } = answer.result;
        printRecord(api, answer.result, [
          ['name', data.name],
          ['description', data.description],
          ['id', data.id],
          ['permissions', data.permissions.map(({ name }) => name)],
          ['below it', namesBelow(data)],
          ['version', versionOf(answer)],
        ]);
      }),
    },
    create: {
      summary: 'Create a permission group.',
      arguments: [{ name: '<name>', help: 'The name of the new permission group.' }],
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
        const answer = await change(api, 'POST /api/v1/permission-groups', { body, ...idempotency(call) });
        report(api, answer, `Permission group ${body.name} created.`);
      }),
    },
    update: {
      summary: 'Rename, describe or move a permission group.',
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
          throw new UsageError('no change is given. See `castellan help permission-group update`.');
        const input = { path: { group_id: await groupOf(api) }, body, ...ifVersion(call) };
        const answer = await change(api, 'PUT /api/v1/permission-groups/{group_id}', input);
        report(api, answer, 'Permission group changed.');
      }),
    },
    delete: {
      summary: 'Delete a permission group without permissions and groups below it.',
      arguments: [group],
      options: deleteOptions,
      run: overApi(async (api) => {
        const input = { path: { group_id: await groupOf(api) }, ...ifVersion(api.call) };
        const consequences = cannotBeUndone(api, 'permission group', 'group');
        const answer = await change(api, 'DELETE /api/v1/permission-groups/{group_id}', input, {
          consequences,
        });
        report(api, answer, 'Permission group deleted.');
      }),
    },
  },
};
