// Reads the credentials of a client: HTTP Basic or two fields of a form (RFC 6749, section 2.3.1).
// It must not decide whether they are right.
import type { FastifyRequest } from 'fastify';
import { AppError } from '../../errors.ts';
import { APPLICATION_SECRET_MARK } from '../../security/secret-text.ts';
import { isObject } from '../../unknown-values.ts';
import { decodeFormText } from './form-parsing.ts';

/** Both are empty if the client sent credentials that cannot be read. */
export type ClientCredentials = { id: string; secret: string };

/**
 * Returns the credentials of a request whose body, if it was read, is a form; undefined if it presents none. Throws
 * `invalid_request` if it presents two kinds, or names two clients.
 */
export function clientCredentials({ headers, body }: FastifyRequest): ClientCredentials | undefined {
  const { authorization } = headers;
  const { client_id, client_secret } = isObject(body) ? body : {};
  if (authorization === undefined)
    return typeof client_secret === 'string'
      ? { id: typeof client_id === 'string' ? client_id : '', secret: client_secret }
      : undefined;
  const basic = basicCredentials(authorization);
  if (client_secret !== undefined || (basic && client_id !== undefined && client_id !== basic.id))
    throw new AppError('invalid_request', {
      detail: 'Authenticate once: either in the Authorization header or with client_id and client_secret.',
    });
  return basic;
}

/**
 * Returns whether the request authenticates as an application, with a secret or an assertion, right or wrong, and not as a service
 * account. Throws as `clientCredentials`.
 */
export const presentsApplication = (request: FastifyRequest): boolean =>
  (isObject(request.body) && request.body.client_assertion !== undefined) ||
  (clientCredentials(request)?.secret.startsWith(APPLICATION_SECRET_MARK) ?? false);

const unreadable: ClientCredentials = { id: '', secret: '' };

/** Returns the credentials of an Authorization header; undefined if it has another scheme. */
function basicCredentials(authorization: string): ClientCredentials | undefined {
  const match = /^basic(?: +(\S*))?$/i.exec(authorization);
  if (!match) return undefined;
  const [, encoded = ''] = match;
  const bytes = Buffer.from(encoded, 'base64');
  const [, id, secret] = /^([^:]*):(.*)$/s.exec(bytes.toString()) ?? [];
  if (id === undefined || secret === undefined || bytes.toString('base64') !== encoded) return unreadable;
  const decoded = { id: decodeFormText(id), secret: decodeFormText(secret) };
  return decoded.id === undefined || decoded.secret === undefined
    ? unreadable
    : { id: decoded.id, secret: decoded.secret };
}
