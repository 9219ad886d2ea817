// HTTP of the own sessions, under /api/v1/auth/sessions.
import { MessageEnvelope } from '@castellan/contract/envelope';
import { SessionListEnvelope, SessionParams } from '@castellan/contract/sessions';
import type { App } from '../../platform/http/server.ts';
import { actorOf } from '../authz/guard.ts';
import { listSessions, revokeSession, type SessionDeps } from './service.ts';

export function sessionRoutes(app: App, deps: SessionDeps): void {
  app.route({
    method: 'GET',
    url: '/sessions',
    config: { access: 'authenticated' },
    schema: { summary: 'List the own live sessions', response: { 200: SessionListEnvelope } },
    handler: async (request) => {
      const actor = actorOf(request);
      return {
        data: await listSessions(deps, actor.user_id, actor.session_id),
        message: 'Your live sessions, newest first.',
      };
    },
  });

  app.route({
    method: 'DELETE',
    url: '/sessions/:session_id',
    config: { access: 'authenticated', errors: ['session_not_found'] },
    schema: {
      summary: 'End one of the own sessions',
      params: SessionParams,
      response: { 200: MessageEnvelope },
    },
    handler: async (request) => {
      const actor = actorOf(request);
      await revokeSession(deps, request.client, actor.user_id, actor.user_id, request.params.session_id);
      return { message: 'Session ended.' };
    },
  });
}
