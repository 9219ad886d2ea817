// `castellan role permissions …`: the permissions of roles, one role or many.
import type { Role } from '@castellan/sdk';
import { change, changeOptions, destructiveOptions, isDryRun, report } from '../../../api/changes.ts';
import { type Api, apiOptions, overApi } from '../../../api/connection.ts';
import { permissionIds, roleId } from '../../../api/names.ts';
import { tableOf } from '../../../api/output.ts';
import { nameArgument } from '../../../api/records.ts';
import { eachRow, fromOption, openRows, textIn, textsIn } from '../../../api/rows.ts';
import { lossOf, replaceSet } from '../../../api/sets.ts';
import { jsonText } from '../../../api/text.ts';
import { argumentOf, type Command, Failure, listOf, optionOf, UsageError } from '../../../command.ts';
import { confirm } from '../../../input/confirmation.ts';

const role = nameArgument('role');
const permissions = { name: '<permissions...>', help: 'Names or ids of permissions.' };
const roleOf = (api: Api) => roleId(api, argumentOf(api.call, 'role'));

type Wanted = (ids: readonly string[], chosen: readonly string[]) => string[];

/**
 * Replaces the permissions of a role by what `wanted` returns. A `set` shows the permissions that are removed, and asks.
 * Returns null if nothing was sent.
 */
function replacePermissions(api: Api, role_id: string, chosen: readonly string[], wanted: Wanted) {
  let name = '';
  return replaceSet(
    async () => {
      const { result, headers } = await api.client.request('GET /api/v1/roles/{role_id}', {
        path: { role_id },
      });
      name = result.data.name;
      return { members: result.data.permissions, etag: headers.get('etag') };
    },
    (ids) => wanted(ids, chosen),
    async (permission_ids, headers, removed) => ({
      answer: await change(
        api,
        'POST /api/v1/roles/{role_id}/permissions',
        { path: { role_id }, body: { permission_ids }, headers },
        { preview: true, ...(wanted === setTo ? lossOf(`The role ${name}`, removed) : {}) },
      ),
    }),
  );
}

const setTo: Wanted = (_, chosen) => [...chosen];

async function changePermissions(api: Api, wanted: Wanted, done: string): Promise<void> {
  const chosen = await permissionIds(api, listOf(api.call, 'permissions'));
  const sent = await replacePermissions(api, await roleOf(api), chosen, wanted);
  if (sent) report(api, sent.answer, done);
  else api.call.print('Nothing to change.');
}

async function setPermissions(api: Api): Promise<void> {
  const from = optionOf(api.call, 'from');
  const isNamed = api.call.arguments.role !== undefined;
  if (from === undefined) {
    if (!isNamed) throw new UsageError('name the role and its permissions, or give --from.');
    return changePermissions(api, setTo, 'Permissions replaced.');
  }
  if (isNamed)
    throw new UsageError('--from has the role and the permissions of each row: leave out the arguments.');
  if (!isDryRun(api))
    await confirm(api.call, [
      'Each role of the file loses the permissions that its row does not name. --dry-run shows which.',
    ]);
  const confirmed = { ...api, call: { ...api.call, values: { ...api.call.values, yes: true } } };
  await eachRow(api.call, openRows(from), async (row) => {
    const name = textIn(row, 'role');
    if (row.permissions === undefined) throw new Failure(1, '"permissions" is missing.');
    const [id, chosen] = [await roleId(api, name), await permissionIds(api, textsIn(row, 'permissions'))];
    const sent = await replacePermissions(confirmed, id, chosen, setTo);
    return { id, message: sent ? `${name}: ${chosen.length} permissions` : `${name}: nothing to change` };
  });
}

export const permissionsOfRoles: Readonly<Record<string, Command>> = {
  'permissions list': {
    summary: 'List the permissions of a role.',
    arguments: [role],
    options: apiOptions,
    run: overApi(async (api) => {
      const body = await api.client.get('/api/v1/roles/{role_id}', {
        path: { role_id: await roleOf(api) },
      });
      if (api.call.values.json === true) return api.call.print(jsonText(body, 2));
      tableOf<Role['permissions'][number]>(api, [
        ['PERMISSION', ({ name }) => name],
        ['GROUP', ({ group }) => group.name],
        ['ID', ({ id }) => id],
      ])(body.data.permissions);
    }),
  },
  'permissions add': {
    summary: 'Add permissions to a role.',
    arguments: [role, permissions],
    options: [...changeOptions, ...apiOptions],
    run: overApi((api) => changePermissions(api, (ids, chosen) => [...ids, ...chosen], 'Permissions added.')),
  },
  'permissions remove': {
    summary: 'Remove permissions from a role.',
    arguments: [role, permissions],
    options: [...changeOptions, ...apiOptions],
    run: overApi((api) =>
      changePermissions(
        api,
        (ids, chosen) => ids.filter((id) => !chosen.includes(id)),
        'Permissions removed.',
      ),
    ),
  },
  'permissions set': {
    summary: 'Replace all permissions of one role, or of many with --from. Asks before it removes any.',
    arguments: [
      { ...role, name: '[role]' },
      { ...permissions, name: '[permissions...]' },
    ],
    options: [fromOption, ...destructiveOptions, ...apiOptions],
    details: [
      'A row of --from has role and permissions (names or ids). A role is replaced as a whole or not at all.',
      'With --from, it asks once, before the first row: --dry-run shows what each row removes.',
    ],
    run: overApi(setPermissions),
  },
};
