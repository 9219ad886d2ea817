// `castellan permission authentication`: what a call that uses a permission must have proved, and how lately.
import { acrOption, authenticationCommand } from '../../../api/authentication.ts';
import { permissionId } from '../../../api/names.ts';
import { nameArgument } from '../../../api/records.ts';
import { argumentOf, optionOf, UsageError } from '../../../command.ts';

export const authenticationOfPermissions = authenticationCommand({
  summary: 'Set what people must have proved to use a permission, and how lately.',
  argument: nameArgument('permission'),
  options: [
    acrOption(['aal1', 'aal2', 'phr', 'none']),
    {
      flags: '--max-age <seconds>',
      help: 'How long ago they may have proved it, 30 to 86400 seconds. Default: any time.',
    },
  ],
  details: [
    'It replaces what the permission required, and counts at the next request. Service accounts are not concerned.',
    'A service account can make a requirement stricter. Only a person, in the console, can make it weaker or lift it.',
    'Example: castellan permission authentication orders.refund --acr aal2 --max-age 600',
  ],
  operation: 'PUT /api/v1/permissions/{permission_id}/authentication',
  path: async (api) => ({ permission_id: await permissionId(api, argumentOf(api.call, 'permission')) }),
  body({ call }) {
    const acr = optionOf(call, 'acr');
    const age = optionOf(call, 'max-age');
    if (acr === undefined && age === undefined)
      throw new UsageError('give --acr (aal1, aal2, phr or none), --max-age, or both.');
    if (acr === 'none' && age !== undefined)
      throw new UsageError('--acr none lifts the requirement: leave out --max-age, or give --acr aal1.');
    return {
      required_acr: acr === undefined || acr === 'none' ? null : acr,
      max_auth_age: age === undefined ? null : secondsOf(age),
    };
  },
  done: 'Requirement of the permission set.',
});

function secondsOf(text: string): number {
  const seconds = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (seconds < 30 || seconds > 86_400)
    throw new UsageError('--max-age must be a number of seconds, 30 to 86400.');
  return seconds;
}
