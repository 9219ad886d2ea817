// Authenticates applications at the token services: by HTTP Basic, by two fields of the form, or by the client_id alone of one that
// keeps no secret (RFC 6749, 2.3). It caches no result: a revoked secret is refused at the next request, on every instance.
import type { FastifyRequest } from 'fastify';
import type { Pool } from 'pg';
import { createBatchedLookup } from '../../platform/db/batched.ts';
import { AppError } from '../../platform/errors.ts';
import type { Client } from '../../platform/http/client.ts';
import { clientCredentials } from '../../platform/http/plugins/client-credentials.ts';
import { UUID } from '../../platform/ids.ts';
import type { Logger } from '../../platform/logging/log.ts';
import { tokenHash } from '../../platform/security/jwt.ts';
import { APPLICATION_SECRET_MARK, secretTextHash } from '../../platform/security/secret-text.ts';
import { isObject } from '../../platform/unknown-values.ts';
import { createUseNotes } from '../api-keys/use-notes.ts';
import { createWrongKeyLimit } from '../api-keys/wrong-key-limit.ts';
import { type AuditLog, recordBounded } from '../audit/service.ts';
import {
  findPresented,
  noteSecretUse,
  type PresentedKey,
  type PresentedRow,
} from './authentication-store.ts';

/** An application that has authenticated itself and is active. */
export type AuthenticatedApplication = Omit<PresentedRow, 'secret_id' | 'is_unnoted' | 'is_active'>;

/** What a request presents. `secret`: null for the client_id alone. */
export type PresentedApplication = { clientId: string; secret: string | null; isBasic: boolean };

export type ApplicationClients = {
  /**
   * Returns the application that a request presents. Throws `invalid_client` (401) in one text for every reason, and
   * `rate_limited` (429) after too many wrong ones from the network of the client.
   */
  authenticate(
    presented: PresentedApplication | undefined,
    client: Client,
  ): Promise<AuthenticatedApplication>;
};

/** For RFC 6749, 5.2: the challenge answers the scheme that was tried. A page that uses no Basic must not see a dialog of it. */
const refusalOf = (presented: PresentedApplication | undefined): AppError =>
  new AppError('invalid_client', {
    detail:
      'The application is not authenticated. Send its client_id and a live secret, by HTTP Basic or in the form, or the client_id alone if it keeps no secret.',
    headers: presented?.isBasic ? { 'www-authenticate': 'Basic realm="applications", charset="UTF-8"' } : {},
  });

/** No service account: those have UUIDs. */
const isClientId = (text: string): boolean =>
  /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(text) && !UUID.test(text);

/**
 * Returns what a request presents; undefined if that is nothing. Throws `invalid_request` if it authenticates in two ways. Nothing in
 * it is verified, and it may be the credentials of a service account.
 */
export function presentedApplication(request: FastifyRequest): PresentedApplication | undefined {
  const { client_id, client_assertion } = isObject(request.body) ? request.body : {};
  const isHeader = request.headers.authorization !== undefined;
  const credentials = clientCredentials(request);
  if (client_assertion !== undefined && (credentials || isHeader))
    throw new AppError('invalid_request', {
      detail: 'Authenticate once: with client_assertion or with a secret.',
    });
  // An assertion proves nothing, so the application that sends one is not authenticated.
  if (client_assertion !== undefined) return { clientId: '', secret: null, isBasic: false };
  if (credentials) return { clientId: credentials.id, secret: credentials.secret, isBasic: isHeader };
  return typeof client_id === 'string' && !isHeader
    ? { clientId: client_id, secret: null, isBasic: false }
    : undefined;
}

type Refusal = 'unknown_application' | 'inactive' | 'wrong_method' | 'wrong_secret';

export function createApplicationClients(deps: {
  reservedPool: Pool;
  pool: Pool;
  log: Logger;
  auditLog: AuditLog;
}): ApplicationClients {
  const { reservedPool } = deps;
  const find = createBatchedLookup(reservedPool.options.max, (keys: readonly PresentedKey[]) =>
    findPresented(reservedPool, keys),
  );
  const limit = createWrongKeyLimit({ what: 'secrets of applications' });
  const note = createUseNotes(deps.log, 'a secret of an application', (ids) => noteSecretUse(deps.pool, ids));

  async function refuse(
    presented: PresentedApplication | undefined,
    client: Client,
    reason: Refusal,
    found?: PresentedRow,
  ): Promise<never> {
    const over = limit.countWrong(client.address);
    await recordBounded(deps, client, {
      action: 'application_authentication_failed',
      actorId: null,
      resourceType: 'application',
      resourceId: found?.id ?? '',
      ...(found ? { resourceName: found.name } : {}),
      details: { reason: over ? 'rate_limited' : reason },
    });
    throw over ?? refusalOf(presented);
  }

  return {
    async authenticate(presented, client) {
      if (!presented) throw refusalOf(presented);
      const { clientId, secret } = presented;
      const secretHash = secret === null ? null : secretTextHash(APPLICATION_SECRET_MARK, secret);
      // The client_id of an application without a secret counts as its secret here: it is all that it sends.
      const known = secretHash === null ? tokenHash(clientId) : secretHash;
      const over = limit.refusalOf(client.address, known);
      if (over) throw over;
      if (!isClientId(clientId)) return refuse(presented, client, 'unknown_application');
      if (secretHash === undefined) return refuse(presented, client, 'wrong_secret');
      const found = await find({ clientId, secretHash });
      if (!found) return refuse(presented, client, 'unknown_application');
      if (found.auth_method !== (secretHash === null ? 'none' : 'secret'))
        return refuse(presented, client, 'wrong_method', found);
      if (secretHash !== null && found.secret_id === null)
        return refuse(presented, client, 'wrong_secret', found);
      if (!found.is_active) return refuse(presented, client, 'inactive', found);
      if (known) limit.countRight(client.address, known);
      const { secret_id, is_unnoted, is_active: _, ...application } = found;
      if (secret_id !== null && is_unnoted) note(secret_id);
      return application;
    },
  };
}
