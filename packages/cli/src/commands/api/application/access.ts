// `castellan application people|end …`: who has access to an application, and its end.
import type { AccessGrant } from '@castellan/sdk';
import { change, destructiveOptions, report } from '../../../api/changes.ts';
import { type Api, apiOptions, overApi } from '../../../api/connection.ts';
import { applicationId, userId } from '../../../api/names.ts';
import { type Column, listing, listOptions } from '../../../api/output.ts';
import { nameArgument } from '../../../api/records.ts';
import { argumentOf, type Command, given, type Option, optionOf, UsageError } from '../../../command.ts';

const application = nameArgument('application');
const idIn = (api: Api) => applicationId(api, argumentOf(api.call, 'application'));

/** `user get` shows the name of a user. */
type NotListed = 'session_id' | 'resources';

const columns = Object.values({
  user: ['USER', ({ user }) => user.email],
  scopes: ['SCOPES', ({ scopes }) => scopes],
  offline: ['OFFLINE', ({ offline }) => offline],
  created_at: ['SINCE', ({ created_at }) => created_at],
  last_used_at: ['LAST USED', ({ last_used_at }) => last_used_at],
  expires_at: ['UNTIL', ({ expires_at }) => expires_at],
  id: ['ID', ({ id }) => id],
} satisfies Record<Exclude<keyof AccessGrant, NotListed>, Column<AccessGrant>>);

const userOption: Option = { flags: '--user <user>', help: 'Only of this user, by email or id.' };

const userIn = async (api: Api): Promise<string | undefined> => {
  const text = optionOf(api.call, 'user');
  return text === undefined ? undefined : userId(api, text);
};

const outlook = 'Tokens for API resources that are verified without introspection count until they expire.';

/** Ends one authorization, those of one user, or all. */
async function end(api: Api): Promise<void> {
  const { call } = api;
  const { access, application: named } = call.arguments;
  const all = call.values.all === true;
  const user = optionOf(call, 'user');
  if ([access !== undefined, user !== undefined, all].filter(Boolean).length !== 1)
    throw new UsageError(
      'give one of these: the id that `castellan application people` shows, --user, or --all. Nothing was changed.',
    );
  const application_id = await idIn(api);
  const user_id = await userIn(api);
  const answer =
    user_id !== undefined
      ? await change(
          api,
          'DELETE /api/v1/users/{user_id}/applications/{application_id}',
          { path: { user_id, application_id } },
          { consequences: [`The access of ${user} to ${named} ends at once. ${outlook}`] },
        )
      : access !== undefined
        ? await change(
            api,
            'DELETE /api/v1/applications/{application_id}/grants/{grant_id}',
            { path: { application_id, grant_id: String(access) } },
            { consequences: [`This access to ${named} ends at once. ${outlook}`] },
          )
        : await change(
            api,
            'DELETE /api/v1/applications/{application_id}/grants',
            { path: { application_id } },
            { consequences: [`Everybody's access to ${named} ends at once. ${outlook}`] },
          );
  report(api, answer, answer?.result.message ?? '');
}

export const accessToApplications: Readonly<Record<'people' | 'end', Command>> = {
  people: {
    summary: 'List who has access to an application: a line for each sign-in to it.',
    arguments: [application],
    options: [userOption, ...listOptions, ...apiOptions],
    run: listing({
      path: '/api/v1/applications/{application_id}/grants',
      input: async (api) => ({
        path: { application_id: await idIn(api) },
        query: given({ user_id: await userIn(api) }),
      }),
      columns,
    }),
  },
  end: {
    summary: 'End the access of people to an application. They can sign in to it again.',
    arguments: [application, { name: '[access]', help: 'The id that `application people` shows.' }],
    options: [
      { flags: '--user <user>', help: 'All access of this user, by email or id.' },
      { flags: '--all', help: "Everybody's access." },
      ...destructiveOptions,
      ...apiOptions,
    ],
    run: overApi(end),
  },
};
