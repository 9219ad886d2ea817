// HTTP of the second factors and the devices of a user, for administrators.
import { MessageEnvelope } from '@castellan/contract/envelope';
import {
  FactorsResetEnvelope,
  ResetFactorsBody,
  UserFactorsEnvelope,
} from '@castellan/contract/user-factors';
import { UserParams } from '@castellan/contract/users';
import type { App } from '../../../platform/http/server/server.ts';
import { callerOf } from '../../authz/caller.ts';
import { forgetDevicesOf } from './devices.ts';
import { readUserFactors } from './reading.ts';
import { type ResetDeps, resetFactors } from './reset.ts';

export function factorRoutes(app: App, deps: ResetDeps): void {
  app.route({
    method: 'GET',
    url: '/:user_id/factors',
    config: { access: 'second_factor.read', errors: ['user_not_found'] },
    schema: {
      summary: 'Read the second factors of a user',
      params: UserParams,
      response: { 200: UserFactorsEnvelope },
    },
    handler: async (request) => ({
      data: await readUserFactors(deps, request.params.user_id),
      message: 'The second factors of the user.',
    }),
  });

  app.route({
    method: 'POST',
    url: '/:user_id/factors/reset',
    config: {
      access: 'second_factor.reset',
      invalidInput: 'invalid_input',
      errors: [
        'user_not_found',
        'superuser_required',
        'acting_as',
        'privilege_escalation',
        'validation_failed',
        'use_own_factors',
        'no_factor',
        'conflict',
      ],
    },
    schema: {
      summary: 'Reset the second factors of a user',
      description:
        'Removes the authenticator app, passkeys and recovery codes, and ends sessions, trusted devices and mailed links. The next sign-in takes the password and the recovery link, which works once, for 24 hours. A service account with the permission needs no recent proof.',
      params: UserParams,
      body: ResetFactorsBody,
      response: { 200: FactorsResetEnvelope },
    },
    handler: async (request) => ({
      data: await resetFactors(deps, callerOf(request), request.params.user_id, request.body),
      message: 'Second factors reset.',
    }),
  });

  app.route({
    method: 'DELETE',
    url: '/:user_id/devices',
    config: {
      access: 'users.update',
      errors: ['user_not_found', 'superuser_required', 'acting_as', 'privilege_escalation'],
    },
    schema: {
      summary: 'Forget the devices of a user',
      description:
        'Ends trust in every device and its exemption from the lock. Sessions stay; mailed links of the user end.',
      params: UserParams,
      response: { 200: MessageEnvelope },
    },
    handler: async (request) => ({
      message: `Devices forgotten: ${await forgetDevicesOf(deps, callerOf(request), request.params.user_id)}.`,
    }),
  });
}
