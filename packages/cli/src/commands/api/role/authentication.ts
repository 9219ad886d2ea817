// `castellan role authentication`: how the holders of a role must sign in.
import { acrOption, authenticationCommand, timeOf } from '../../../api/authentication.ts';
import { roleId } from '../../../api/names.ts';
import { nameArgument } from '../../../api/records.ts';
import { argumentOf, optionOf, UsageError } from '../../../command.ts';

export const authenticationOfRoles = authenticationCommand({
  summary: 'Set how the holders of a role must sign in.',
  argument: nameArgument('role'),
  options: [
    acrOption(['aal2', 'phr', 'none']),
    {
      flags: '--from <date>',
      help: 'When it begins to apply; a past date means now. Default: in 14 days, or as it is.',
    },
  ],
  details: [
    'Until it applies, people see at each sign-in what they need. --dry-run shows how many of them lack it.',
    'A service account can make a requirement stricter. Only a person, in the console, can make it weaker or lift it.',
    'Example: castellan role authentication Admin --acr aal2 --from 2027-01-31',
  ],
  operation: 'PUT /api/v1/roles/{role_id}/authentication',
  path: async (api) => ({ role_id: await roleId(api, argumentOf(api.call, 'role')) }),
  body({ call }) {
    const acr = optionOf(call, 'acr');
    const from = optionOf(call, 'from');
    if (acr === undefined) throw new UsageError('--acr is missing: aal2, phr or none.');
    if (acr === 'none' && from !== undefined)
      throw new UsageError('--acr none lifts the requirement at once: leave out --from.');
    return {
      required_acr: acr === 'none' ? null : acr,
      ...(from === undefined ? {} : { enforced_from: timeOf(from) }),
    };
  },
  done: 'Requirement of the role set.',
});
