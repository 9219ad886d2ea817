// HTTP of the change feed: GET /api/v1/access/feed, as a stream of events or as JSON.
import { FeedPage, FeedQuery } from '@castellan/contract/feed';
import type { FastifyReply, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { AppError } from '../../platform/errors.ts';
import { preferenceFor, preferredType, vary } from '../../platform/http/accept.ts';
import type { App } from '../../platform/http/server/server.ts';
import { callerOf } from '../authz/caller.ts';
import { bearerToken } from '../sessions/service.ts';
import { readCursor } from './positions.ts';
import { type Feed, type Reading, serviceAccountOf } from './service.ts';
import type { FeedStream } from './stream.ts';

const types = ['application/json', 'text/event-stream'] as const;

const description = `
Tells a service what to forget of the answers about tokens and decisions that it keeps. The SDK's guard reads it with \`live\`.
Only ids are told: no name, address or reason.

With \`Accept: text/event-stream\`, the response is a stream of these messages:

| Event | Data | Meaning |
|---|---|---|
| \`hello\` | \`at, beat_ms, live, resumed\` | the first one; without \`resumed\`, forget everything |
| \`changes\` | \`at, changes\` | forget what concerns these |
| \`beat\` | \`at, live\` | every \`beat_ms\`, when there is nothing else |
| \`reset\` | \`at, reason\` | forget everything, and go on from this id |
| \`bye\` | \`retry_ms\` | the stream ends; come back after this time |

\`at\` is a number of milliseconds since this request arrived, by the clock of the service: all that had been committed by then has
been told. So an answer that you keep may be as old as your request minus \`at\`. While the service cannot say, \`at\` stands still.
A stream ends after 10 to 15 minutes. Go on with \`Last-Event-ID\`.

With \`Accept: application/json\`, the response has changes after a cursor, and can wait for the first one.`;

/** `feed`: null if FEED is off. */
export function feedRoutes(app: App, { feed }: { feed: Feed | null }): void {
  app.route({
    method: 'GET',
    url: '/feed',
    // A HEAD request would open a stream and read nothing.
    exposeHeadRoute: false,
    config: {
      access: 'access.watch',
      // It would have the turn of other reads for as long as it lasts.
      turn: false,
      errors: [
        'service_account_required',
        'invalid_cursor',
        'not_acceptable',
        'rate_limited',
        'overloaded',
        'route_not_found',
      ],
    },
    schema: {
      operationId: 'readFeed',
      summary: 'Read what has changed about sessions, tokens, accounts and access',
      description,
      tags: ['Decisions'],
      querystring: FeedQuery,
      produces: [...types],
      response: {
        200: {
          content: {
            'application/json': { schema: FeedPage },
            'text/event-stream': { schema: Type.String() },
          },
        },
      },
    },
    handler: async (request, reply) => {
      const arrivedAt = performance.now() - reply.elapsedTime;
      if (!feed) throw new AppError('route_not_found');
      const principal = serviceAccountOf(callerOf(request));
      vary(reply, 'accept');
      const { accept } = request.headers;
      if (types.every((type) => preferenceFor(type, accept).quality === 0))
        throw new AppError('not_acceptable');
      const isStream = preferredType(types, accept) === 'text/event-stream';
      const { after, limit, wait } = request.query;
      const reading: Reading = {
        principal,
        client: request.client,
        credential: bearerToken(request.headers.authorization) ?? '',
        arrivedAt,
        after: readCursor((isStream ? lastEventId(request) : undefined) ?? after),
      };
      if (!isStream) return feed.read(reading, { limit, waitSeconds: wait });
      const stream = await feed.open(reading);
      return sendStream(reply, stream);
    },
  });
}

function sendStream(reply: FastifyReply, stream: FeedStream): FastifyReply {
  // nginx and others hold back what they proxy unless they are told not to.
  reply.header('x-accel-buffering', 'no').type('text/event-stream; charset=utf-8');
  return reply.send(stream);
}

/** The header wins, because clients that reconnect by themselves repeat the query. */
function lastEventId({ headers }: FastifyRequest): string | undefined {
  const { 'last-event-id': id } = headers;
  return typeof id === 'string' && id !== '' ? id : undefined;
}
