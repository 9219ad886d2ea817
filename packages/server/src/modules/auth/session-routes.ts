// HTTP of the caller's own sessions, under /api/v1/auth/sessions.
import { PageQuery } from '@castellan/contract/common';
import { MessageEnvelope } from '@castellan/contract/envelope';
import { SessionListEnvelope, SessionParams } from '@castellan/contract/sessions';
import type { App } from '../../platform/http/server/server.ts';
import { userCallerOf } from '../authz/caller.ts';
import { listSessions, revokeOwnSession, type SessionDeps } from '../sessions/service.ts';

export function sessionRoutes(app: App, deps: SessionDeps): void {
  app.route({
    method: 'GET',
    url: '/sessions',
    config: { access: 'user', openTo: ['second_factor'], endsAccess: true },
    schema: {
      summary: 'List your live sessions',
      querystring: PageQuery,
      response: { 200: SessionListEnvelope },
    },
    handler: async (request) => {
      const { principal } = userCallerOf(request);
      return {
        ...(await listSessions(deps, principal.id, principal.session.id, request.query)),
        message: 'Your live sessions, newest first.',
      };
    },
  });

  app.route({
    method: 'DELETE',
    url: '/sessions/:session_id',
    config: { access: 'user', openTo: ['second_factor'], endsAccess: true, errors: ['session_not_found'] },
    schema: {
      summary: 'End one of your sessions',
      params: SessionParams,
      response: { 200: MessageEnvelope },
    },
    handler: async (request) => {
      await revokeOwnSession(deps, userCallerOf(request), request.params.session_id);
      return { message: 'Session ended.' };
    },
  });
}
