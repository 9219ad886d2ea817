// HTTP of the question that a gateway asks about each request. Only 204 lets a request pass.
import { ForwardQuery, subjectHeaders } from '@castellan/contract/forward';
import Type from 'typebox';
import type { App } from '../../platform/http/server/server.ts';
import { callerOf } from '../authz/caller.ts';
import { forward } from './service.ts';

export function forwardRoutes(app: App): void {
  app.route({
    method: 'GET',
    url: '/forward',
    config: {
      access: 'authenticated',
      anyMethod: true,
      isDecision: true,
      turn: false,
      errors: ['permission_denied'],
      answerHeaders: subjectHeaders,
    },
    schema: {
      operationId: 'forwardAccess',
      summary: 'Let a gateway forward a request, or not',
      description:
        'For gateways that read the status: nginx `auth_request`, Caddy and Traefik `forward_auth`, and others. ' +
        'Send the `Authorization` header of the request. 204 lets it pass and tells who the caller is; every other ' +
        'status is a refusal. Any method is answered alike; cookies and body are ignored. A permission that ' +
        'does not exist is 403, and a parameter other than `permission` is 422.',
      tags: ['Decisions'],
      querystring: ForwardQuery,
      response: { 204: Type.Null() },
    },
    handler: (request, reply) => {
      reply
        .code(204)
        .headers(forward(callerOf(request), request.query.permission))
        .send(null);
    },
  });
}
