// `castellan user …`: what a user may do, their roles and their sessions.
import { change, changeOptions, destructiveOptions, report } from '../../../api/changes.ts';
import { apiOptions, overApi } from '../../../api/connection.ts';
import { roleIds } from '../../../api/names.ts';
import { tableOf } from '../../../api/output.ts';
import { lossOf, replaceSet } from '../../../api/sets.ts';
import { jsonText } from '../../../api/text.ts';
import { argumentOf, type Command, listOf } from '../../../command.ts';
import { sessionColumns } from '../credentials/session.ts';
import { user, userOf } from './arguments.ts';

const roles = { name: '<roles...>', help: 'Names or ids of roles.' };

/** `asks`: shows the roles that are removed, and asks. */
const replaceRoles = (
  wanted: (ids: readonly string[], chosen: readonly string[]) => string[],
  done: string,
  asks = false,
) =>
  overApi(async (api) => {
    const [user_id, chosen] = [await userOf(api), await roleIds(api, listOf(api.call, 'roles'))];
    let email = '';
    const sent = await replaceSet(
      async () => {
        const { result, headers } = await api.client.request('GET /api/v1/users/{user_id}', {
          path: { user_id },
        });
        email = result.data.email;
        return { members: result.data.roles, etag: headers.get('etag') };
      },
      (ids) => wanted(ids, chosen),
      async (role_ids, headers, removed) => ({
        answer: await change(
          api,
          'POST /api/v1/users/{user_id}/roles',
          { path: { user_id }, body: { role_ids }, headers },
          { preview: true, ...(asks ? lossOf(`The user ${email}`, removed) : {}) },
        ),
      }),
    );
    if (sent) report(api, sent.answer, done);
    else api.call.print('Nothing to change.');
  });

export const access: Readonly<Record<string, Command>> = {
  permissions: {
    summary: 'List what a user may do, and through which roles.',
    arguments: [user],
    options: apiOptions,
    run: overApi(async (api) => {
      const body = await api.client.get('/api/v1/users/{user_id}/effective-permissions', {
        path: { user_id: await userOf(api) },
      });
      if (api.call.values.json === true) return api.call.print(jsonText(body, 2));
      const { permissions, blocked } = body.data;
      if (blocked) api.call.print('The user is inactive and may do nothing. After activation:');
      tableOf<(typeof permissions)[number]>(api, [
        ['PERMISSION', ({ name }) => name],
        [
          'THROUGH',
          ({ superuser, sources }) => [
            ...(superuser ? ['(superuser)'] : []),
            ...sources.map(({ role }) => role.name),
          ],
        ],
      ])(permissions);
    }),
  },
  'roles add': {
    summary: 'Give roles to a user.',
    arguments: [user, roles],
    options: [...changeOptions, ...apiOptions],
    run: replaceRoles((ids, chosen) => [...ids, ...chosen], 'Roles added.'),
  },
  'roles remove': {
    summary: 'Take roles from a user.',
    arguments: [user, roles],
    options: [...changeOptions, ...apiOptions],
    run: replaceRoles((ids, chosen) => ids.filter((id) => !chosen.includes(id)), 'Roles removed.'),
  },
  'roles set': {
    summary: 'Replace all roles of a user. Asks before it removes any.',
    arguments: [user, roles],
    options: [...destructiveOptions, ...apiOptions],
    run: replaceRoles((_, chosen) => [...chosen], 'Roles replaced.', true),
  },
  'sessions list': {
    summary: 'List the live sessions of a user.',
    arguments: [user],
    options: apiOptions,
    run: overApi(async (api) => {
      const body = await api.client.get('/api/v1/users/{user_id}/sessions', {
        path: { user_id: await userOf(api) },
      });
      if (api.call.values.json === true) api.call.print(jsonText(body, 2));
      else tableOf(api, sessionColumns)(body.data);
    }),
  },
  'sessions end': {
    summary: 'End all sessions of a user.',
    arguments: [user],
    options: [...destructiveOptions, ...apiOptions],
    run: overApi(async (api) => {
      const input = { path: { user_id: await userOf(api) } };
      const consequences = [`Every session of ${argumentOf(api.call, 'user')} ends at once.`];
      report(
        api,
        await change(api, 'DELETE /api/v1/users/{user_id}/sessions', input, { consequences }),
        'Sessions ended.',
      );
    }),
  },
};
