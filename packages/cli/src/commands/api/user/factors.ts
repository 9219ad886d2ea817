// `castellan user …`: the second factors of a user.
import type { ResultOf } from '@castellan/sdk';
import { change, destructiveOptions, report } from '../../../api/changes.ts';
import { apiOptions, overApi } from '../../../api/connection.ts';
import { tableOf } from '../../../api/output.ts';
import { jsonText } from '../../../api/text.ts';
import { argumentOf, type Command, given, optionOf } from '../../../command.ts';
import { user, userOf } from './arguments.ts';

type Factors = ResultOf<'GET /api/v1/users/{user_id}/factors'>['data'];

/** One row for each thing that decides how the user signs in. */
function rowsOf({ totp, recovery_codes, failures, trusted_devices, recovery_pending }: Factors) {
  const closed = failures.locked_until === null ? '' : `, closed until ${failures.locked_until}`;
  const app = totp && `set up ${totp.created_at}${totp.suspended ? ', suspended' : closed}`;
  return [
    ['authenticator app', app ?? 'none'],
    ['recovery codes', recovery_codes ? `${recovery_codes.left} left` : 'none'],
    ['trusted devices', String(trusted_devices)],
    ['recovery', recovery_pending ? 'pending: the next sign-in takes the recovery link' : 'not pending'],
  ] as const;
}

export const factors: Readonly<Record<string, Command>> = {
  factors: {
    summary: 'Show the second factors of a user.',
    arguments: [user],
    options: apiOptions,
    run: overApi(async (api) => {
      const body = await api.client.get('/api/v1/users/{user_id}/factors', {
        path: { user_id: await userOf(api) },
      });
      if (api.call.values.json === true) api.call.print(jsonText(body, 2));
      else
        tableOf<ReturnType<typeof rowsOf>[number]>(api, [
          ['WHAT', ([what]) => what],
          ['STATE', ([, state]) => state],
        ])([...rowsOf(body.data)]);
    }),
  },
  'reset-second-factor': {
    summary: 'Remove the second factors of a user who lost them, and mail a recovery link.',
    arguments: [user],
    options: [
      { flags: '--show', help: 'Print the link, to hand it over in person, and do not mail it.' },
      { flags: '--reason <text>', help: 'Why, for the audit log.' },
      ...destructiveOptions,
      ...apiOptions,
    ],
    details: ['The link works once, for 24 hours, and only together with the password.'],
    run: overApi(async (api) => {
      const shows = api.call.values.show === true;
      const body = {
        deliver: shows ? 'show' : 'mail',
        ...given({ reason: optionOf(api.call, 'reason') }),
      } as const;
      const answer = await change(
        api,
        'POST /api/v1/users/{user_id}/factors/reset',
        { path: { user_id: await userOf(api) }, body },
        {
          consequences: [
            `Every factor, recovery code, session, trusted device and mailed link of ${argumentOf(api.call, 'user')} ends at once.`,
          ],
        },
      );
      const url = answer?.result.data.recovery_url;
      report(
        api,
        answer,
        url === undefined
          ? 'Second factors reset. The recovery link is on its way.'
          : `Second factors reset. Hand over this link:\n${url}`,
      );
    }),
  },
};
