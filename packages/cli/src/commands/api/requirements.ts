// `castellan requirements`: what the settings, roles and permissions ask of sign-ins.
import { untyped } from '../../api/changes.ts';
import { apiOptions, overApi } from '../../api/connection.ts';
import { tableOf } from '../../api/output.ts';
import { jsonText } from '../../api/text.ts';
import type { Declaration } from '../../command.ts';

type Named = { id: string; name: string };
/** What `GET /api/v1/authentication/requirements` answers. */
type Requirements = {
  settings: { required_for: string; enforced_from: string | null };
  roles: {
    role: Named;
    required_acr: string;
    enforced_from: string | null;
    holders: number;
    without_factor: number;
  }[];
  permissions: { permission: Named; required_acr: string; max_auth_age: number | null }[];
};

export const declaration: Declaration = {
  options: apiOptions,
  run: overApi(async (api) => {
    const { result } = await untyped(api)('GET /api/v1/authentication/requirements', {});
    if (api.call.values.json === true) return api.call.print(jsonText(result, 2));
    const { settings, roles, permissions } = (result as { data: Requirements }).data;
    const from = settings.enforced_from === null ? '' : ` from ${settings.enforced_from}`;
    api.call.print(
      `A second factor is required of ${settings.required_for}${from} (SECOND_FACTOR_REQUIRED_FOR).`,
    );
    if (roles.length > 0)
      tableOf<Requirements['roles'][number]>(api, [
        ['ROLE', ({ role }) => role.name],
        ['REQUIRES', ({ required_acr }) => required_acr],
        ['FROM', ({ enforced_from }) => enforced_from],
        ['HOLDERS', ({ holders }) => holders],
        ['WITHOUT', ({ without_factor }) => without_factor],
      ])(roles);
    if (permissions.length > 0)
      tableOf<Requirements['permissions'][number]>(api, [
        ['PERMISSION', ({ permission }) => permission.name],
        ['REQUIRES', ({ required_acr }) => required_acr],
        ['MAX AGE', ({ max_auth_age }) => (max_auth_age === null ? null : `${max_auth_age} s`)],
      ])(permissions);
    if (roles.length + permissions.length === 0) api.call.print('No role and no permission requires more.');
  }),
};
