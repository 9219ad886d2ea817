// Which pages may read what the token services answer an application (CORS). CORS_ORIGINS has no say here, and no cookie counts.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { vary } from '../../platform/http/accept.ts';
import type { Row } from '../../schema/database.ts';

type WithOrigins = Pick<Row<'applications'>, 'type' | 'redirect_uris' | 'allowed_origins'>;

/** Returns the origins of an application; those of an `spa` include where its redirect addresses are. */
const originsOf = ({ type, redirect_uris, allowed_origins }: WithOrigins): string[] => [
  ...allowed_origins,
  ...(type === 'spa' ? redirect_uris.flatMap((address) => URL.parse(address)?.origin ?? []) : []),
];

/** Lets the page that sent the request read the response, if its origin is one of the application. */
export function allowOrigin(request: FastifyRequest, reply: FastifyReply, application: WithOrigins): void {
  const { origin } = request.headers;
  // Of a page without an origin, whatever its scheme.
  if (origin === undefined || origin === 'null' || !originsOf(application).includes(origin)) return;
  vary(reply, 'origin');
  reply.header('access-control-allow-origin', origin);
  reply.header('access-control-expose-headers', 'WWW-Authenticate, DPoP-Nonce');
}
