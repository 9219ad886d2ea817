// HTTP of /api/v1/users.
import { UpdateMeBody, UserEnvelope } from '@castellan/contract/users';
import type { App } from '../../platform/http/server.ts';
import { actorOf } from '../authz/guard.ts';
import { toUser } from './presentation.ts';
import { type UserDeps, updateMe } from './service.ts';

export function userRoutes(app: App, deps: UserDeps): void {
  app.route({
    method: 'GET',
    url: '/me',
    config: { access: 'authenticated' },
    schema: { summary: 'Read the own account', response: { 200: UserEnvelope } },
    // The guard's own statement has read the record already.
    handler: async (request) => {
      const actor = actorOf(request);
      return { data: toUser(actor, actor.graph), message: 'Your account.' };
    },
  });

  app.route({
    method: 'PUT',
    url: '/me',
    config: { access: 'self.update_profile', invalidInput: 'invalid_input', errors: ['field_not_allowed'] },
    schema: { summary: 'Change the own names', body: UpdateMeBody, response: { 200: UserEnvelope } },
    handler: async (request) => ({
      data: await updateMe(deps, request.client, actorOf(request), request.body),
      message: 'Profile updated.',
    }),
  });
}
