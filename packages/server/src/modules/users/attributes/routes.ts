// HTTP of the values of attributes of users.
import {
  AttributeValuesEnvelope,
  OwnAttributesEnvelope,
  OwnAttributesQuery,
  PatchAttributesBody,
} from '@castellan/contract/user-attributes';
import { UserParams } from '@castellan/contract/users';
import { sendEtag } from '../../../platform/http/record-version.ts';
import type { App } from '../../../platform/http/server/server.ts';
import { callerOf, personCallerOf, userCallerOf } from '../../authz/caller.ts';
import type { UserDeps } from '../service.ts';
import {
  getAttributes,
  getOwnAttributes,
  ownDefinitions,
  patchAttributes,
  patchOwnAttributes,
} from './service.ts';

export function attributeRoutes(app: App, deps: UserDeps): void {
  ownRoutes(app, deps);

  app.route({
    method: 'GET',
    url: '/:user_id/attributes',
    config: { access: 'users.read', errors: ['user_not_found'] },
    schema: {
      summary: 'Read the attributes of a user',
      params: UserParams,
      response: { 200: AttributeValuesEnvelope },
    },
    handler: async (request, reply) => {
      const { record, version } = await getAttributes(deps, request.params.user_id);
      sendEtag(reply, version);
      return { data: record, message: 'The attributes of the user.' };
    },
  });

  app.route({
    method: 'PATCH',
    url: '/:user_id/attributes',
    config: {
      access: 'users.update',
      errors: [
        'user_not_found',
        'superuser_required',
        'acting_as',
        'privilege_escalation',
        'user_attribute_taken',
        'precondition_failed',
      ],
    },
    schema: {
      summary: 'Change attributes of a user',
      description:
        'Refused if a required attribute would have no value afterwards. The values of one user take at most 16 KiB as JSON.',
      params: UserParams,
      body: PatchAttributesBody,
      response: { 200: AttributeValuesEnvelope },
    },
    handler: async (request, reply) => {
      const { user_id: id } = request.params;
      const { record, version } = await patchAttributes(deps, callerOf(request), id, request.body);
      sendEtag(reply, version);
      return { data: record, message: 'Attributes changed.' };
    },
  });
}

function ownRoutes(app: App, deps: UserDeps): void {
  app.route({
    method: 'GET',
    url: '/me/attributes',
    config: { access: 'user' },
    schema: {
      summary: 'Read your attributes',
      description: 'Those whose `self` is `read` or `write`.',
      querystring: OwnAttributesQuery,
      response: { 200: OwnAttributesEnvelope },
    },
    handler: async (request, reply) => {
      const { record, version } = await getOwnAttributes(deps, personCallerOf(request));
      sendEtag(reply, version);
      return {
        data: record,
        ...(request.query.include === 'definitions' ? { definitions: await ownDefinitions(deps) } : {}),
        message: 'Your attributes.',
      };
    },
  });

  app.route({
    method: 'PATCH',
    url: '/me/attributes',
    config: {
      access: 'self.update_profile',
      errors: ['user_attribute_taken', 'precondition_failed'],
    },
    schema: {
      summary: 'Change your attributes',
      description: 'Those whose `self` is `write`.',
      body: PatchAttributesBody,
      response: { 200: AttributeValuesEnvelope },
    },
    handler: async (request, reply) => {
      const { record, version } = await patchOwnAttributes(deps, userCallerOf(request), request.body);
      sendEtag(reply, version);
      return { data: record, message: 'Attributes changed.' };
    },
  });
}
