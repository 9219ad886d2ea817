// `castellan token …`: personal access tokens. None can be made or ended for oneself here: that takes a person who signs in.
import type { PersonalToken } from '@castellan/sdk';
import { change, destructiveOptions, report } from '../../../api/changes.ts';
import { type Api, apiOptions, overApi } from '../../../api/connection.ts';
import { userId } from '../../../api/names.ts';
import { type Column, tableOf } from '../../../api/output.ts';
import { jsonText } from '../../../api/text.ts';
import { argumentOf, type CommandGroup, Failure, optionOf, UsageError } from '../../../command.ts';

const columns: readonly Column<PersonalToken>[] = [
  ['NAME', ({ name }) => name],
  ['PREFIX', ({ prefix }) => prefix],
  ['EXPIRES', ({ expires_at }) => expires_at],
  ['LAST USED', ({ last_used_at }) => last_used_at],
  ['NARROWED TO', ({ permissions }) => permissions],
  ['NARROWED BY', ({ narrowed_by }) => narrowed_by],
  ['ID', ({ id }) => id],
];

const userOption = { flags: '--user <user>', help: 'Of this user, by email or id.' };

function tokensOf(api: Api, user_id: string) {
  return api.client.get('/api/v1/users/{user_id}/tokens', { path: { user_id } });
}

/** Finds a token of the user by id, prefix or name. */
async function tokenOf(api: Api, user_id: string): Promise<PersonalToken> {
  const text = argumentOf(api.call, 'token');
  const { data } = await tokensOf(api, user_id);
  const exact = data.find(({ id, prefix }) => id === text.toLowerCase() || prefix === text);
  if (exact) return exact;
  const [first, ...others] = data.filter(({ name }) => name === text);
  if (!first) throw new Failure(3, `this user has no personal access token "${text}". Nothing was changed.`);
  if (others.length > 0)
    throw new Failure(1, `several tokens are named "${text}". Nothing was changed. Use the prefix.`);
  return first;
}

export const declaration: CommandGroup = {
  commands: {
    list: {
      summary: 'List the personal access tokens of a user, or your own if a token is the key.',
      options: [userOption, ...apiOptions],
      run: overApi(async (api) => {
        const user = optionOf(api.call, 'user');
        const body =
          user === undefined
            ? await api.client.get('/api/v1/users/me/tokens')
            : await tokensOf(api, await userId(api, user));
        if (api.call.values.json === true) api.call.print(jsonText(body, 2));
        else tableOf(api, columns)(body.data);
      }),
    },
    revoke: {
      summary: 'End a personal access token of a user.',
      arguments: [{ name: '<token>', help: 'The id, the prefix or the name of the token.' }],
      options: [userOption, ...destructiveOptions, ...apiOptions],
      run: overApi(async (api) => {
        const user = optionOf(api.call, 'user');
        if (user === undefined)
          throw new UsageError('name the owner with --user. People end their own tokens in the console.');
        const user_id = await userId(api, user);
        const { id, name, prefix } = await tokenOf(api, user_id);
        const answer = await change(
          api,
          'DELETE /api/v1/users/{user_id}/tokens/{token_id}',
          { path: { user_id, token_id: id } },
          { consequences: [`The token ${prefix} (${name}) is refused at once. This cannot be undone.`] },
        );
        report(api, answer, `Token ${prefix} (${name}) has ended.`);
      }),
    },
  },
};
