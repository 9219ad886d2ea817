// HTTP of explanations: effective permissions, and why one permission is held or not.
import {
  EffectivePermissionsEnvelope,
  ExplainBody,
  ExplainInput,
  ExplanationEnvelope,
} from '@castellan/contract/explanations';
import { ServiceAccountParams } from '@castellan/contract/service-accounts';
import { UserParams } from '@castellan/contract/users';
import { compileSchema } from '../../platform/http/bodies/validation.ts';
import type { App } from '../../platform/http/server/server.ts';
import { callerOf } from '../authz/caller.ts';
import { type EffectivePermissionsDeps, effectivePermissionsOf } from './effective-permissions.ts';
import { explain } from './explain.ts';

export function explainRoutes(app: App, deps: EffectivePermissionsDeps): void {
  effectivePermissionsRoutes(app, deps);

  app.route({
    method: 'POST',
    url: '/access/explain',
    config: {
      access: 'authenticated',
      othersNeed: 'access.explain',
      readOnly: true,
      accessLimited: true,
      errors: ['invalid_input'],
    },
    schema: {
      summary: 'Explain why a subject may or may not do something',
      description: 'It decides as an evaluation does, and tells why. It changes nothing.',
      tags: ['Decisions'],
      body: ExplainBody,
      response: { 200: ExplanationEnvelope },
    },
    validatorCompiler: (route) => compileSchema({ ...route, schema: ExplainInput }),
    handler: async (request) => ({
      data: await explain(deps, callerOf(request), request.body),
      message: 'The explanation.',
    }),
  });
}

const DESCRIPTION =
  'Every permission with the roles that it comes from, and the role groups of each role as paths from the root.';

function effectivePermissionsRoutes(app: App, deps: EffectivePermissionsDeps): void {
  app.route({
    method: 'GET',
    url: '/users/me/effective-permissions',
    config: { access: 'user' },
    schema: {
      summary: 'Read your permissions and where they come from',
      description: DESCRIPTION,
      response: { 200: EffectivePermissionsEnvelope },
    },
    handler: async (request) => {
      const caller = callerOf(request);
      return {
        data: await effectivePermissionsOf(deps, caller, caller.principal),
        message: 'Your permissions.',
      };
    },
  });

  app.route({
    method: 'GET',
    url: '/users/:user_id/effective-permissions',
    config: {
      access: 'users.read',
      orSelf: { type: 'user', param: 'user_id' },
      errors: ['user_not_found'],
    },
    schema: {
      summary: 'Read the permissions of a user and where they come from',
      description: DESCRIPTION,
      params: UserParams,
      response: { 200: EffectivePermissionsEnvelope },
    },
    handler: async (request) => ({
      data: await effectivePermissionsOf(deps, callerOf(request), {
        type: 'user',
        id: request.params.user_id,
      }),
      message: 'The permissions of the user.',
    }),
  });

  app.route({
    method: 'GET',
    url: '/service-accounts/:service_account_id/effective-permissions',
    config: {
      access: 'service_account.read',
      orSelf: { type: 'service_account', param: 'service_account_id' },
      errors: ['service_account_not_found'],
    },
    schema: {
      summary: 'Read the permissions of a service account and where they come from',
      description: `${DESCRIPTION} An account that asks about itself with a narrowed API key sees what this key may do.`,
      params: ServiceAccountParams,
      response: { 200: EffectivePermissionsEnvelope },
    },
    handler: async (request) => ({
      data: await effectivePermissionsOf(deps, callerOf(request), {
        type: 'service_account',
        id: request.params.service_account_id,
      }),
      message: 'The permissions of the service account.',
    }),
  });
}
