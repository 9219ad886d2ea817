// HTTP of /api/v1/sessions: the sessions of all users, for administrators.
// Those of one user are in account-security-routes.ts, a caller's own are under /api/v1/auth.
import { MessageEnvelope } from '@castellan/contract/envelope';
import {
  AllSessionsQuery,
  SessionFilters,
  SessionPage,
  SessionParams,
  SessionsEndedEnvelope,
} from '@castellan/contract/sessions';
import { counted } from '../../../platform/counted.ts';
import type { App } from '../../../platform/http/server/server.ts';
import { callerOf } from '../../authz/caller.ts';
import type { UserAdminDeps } from '../changes/administration.ts';
import { endAnySession, endMatchingSessions, listAllSessions } from './all-sessions.ts';

export function userSessionRoutes(app: App, deps: UserAdminDeps): void {
  app.route({
    method: 'GET',
    url: '',
    config: { access: 'session.read' },
    schema: {
      summary: 'List the live sessions of all users',
      description: 'Newest sessions first. `next_cursor` is the start of the next page.',
      querystring: AllSessionsQuery,
      response: { 200: SessionPage },
    },
    handler: async (request) => ({
      ...(await listAllSessions(deps, callerOf(request), request.query)),
      message: 'Live sessions, newest first.',
    }),
  });

  app.route({
    method: 'DELETE',
    url: '',
    config: {
      access: 'session.revoke',
      errors: ['superuser_required', 'acting_as', 'privilege_escalation', 'too_many_matches'],
    },
    schema: {
      summary: 'End the sessions that match a filter',
      description:
        'Ends every live session that the list shows with the same filters, your own included, or none. At least one filter is required. One request ends at most 10,000 sessions of at most 1,000 users. Mailed links of these users end as well. With `user_id` or `search` alone, everything that keeps these users signed in ends: their personal access tokens, also of users without a session, and the trust in their devices.',
      querystring: SessionFilters,
      response: { 200: SessionsEndedEnvelope },
    },
    handler: async (request) => {
      const data = await endMatchingSessions(deps, callerOf(request), request.query);
      return {
        data,
        message: `Ended ${counted(data.sessions, 'session')} of ${counted(data.users, 'user')}.`,
      };
    },
  });

  app.route({
    method: 'DELETE',
    url: '/:session_id',
    config: {
      access: 'session.revoke',
      errors: ['session_not_found', 'superuser_required', 'acting_as', 'privilege_escalation'],
    },
    schema: {
      summary: 'End a session of any user',
      description: 'Mailed links of the user end as well.',
      params: SessionParams,
      response: { 200: MessageEnvelope },
    },
    handler: async (request) => {
      await endAnySession(deps, callerOf(request), request.params.session_id);
      return { message: 'Session ended.' };
    },
  });
}
