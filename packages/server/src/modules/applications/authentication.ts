// Authenticates applications at the token services: by HTTP Basic, by two fields of the form, by a signed assertion (RFC 7523), or by
// the client_id alone of one that keeps no secret (RFC 6749, 2.3). It caches no result: a revoked secret is refused at the next
// request, on every instance.
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
export type AuthenticatedApplication = Omit<
  PresentedRow,
  'secret_id' | 'is_unnoted' | 'is_active' | 'jwks' | 'jwks_url'
>;

/**
 * What a request presents. `secret` and `assertion`: null for the client_id alone. `clientId`: empty if only the assertion names the
 * application.
 */
export type PresentedApplication = {
  clientId: string;
  secret: string | null;
  assertion: string | null;
  isBasic: boolean;
};

/** Reads and verifies signed assertions. */
export type Assertions = {
  /** Returns the client_id that an assertion names; undefined for a text that is none. Nothing is verified. */
  issuerOf(assertion: string): string | undefined;
  /** Returns what is wrong with an assertion of this application; null if it counts, which it does once. */
  faultOf(
    assertion: string,
    application: Pick<PresentedRow, 'id' | 'client_id' | 'jwks' | 'jwks_url' | 'now'>,
  ): Promise<'form' | 'issuer' | 'audience' | 'time' | 'signature' | 'used' | null>;
};

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
      'The application is not authenticated. Send its client_id and a live secret, by HTTP Basic or in the form, or a new client_assertion, or the client_id alone if it has no way to authenticate itself.',
    headers: presented?.isBasic ? { 'www-authenticate': 'Basic realm="applications", charset="UTF-8"' } : {},
  });

/** RFC 7523, 2.2. */
const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** No service account: those have UUIDs. */
const isClientId = (text: string): boolean =>
  /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(text) && !UUID.test(text);

/**
 * Returns what a request presents; undefined if that is nothing. Throws `invalid_request` if it authenticates in two ways. Nothing in
 * it is verified, and it may be the credentials of a service account.
 */
export function presentedApplication(request: FastifyRequest): PresentedApplication | undefined {
  const { client_id, client_assertion, client_assertion_type } = isObject(request.body) ? request.body : {};
  const isHeader = request.headers.authorization !== undefined;
  const credentials = clientCredentials(request);
  if (client_assertion !== undefined && (credentials || isHeader))
    throw new AppError('invalid_request', {
      detail: 'Authenticate once: with client_assertion or with a secret.',
    });
  const clientId = typeof client_id === 'string' ? client_id : '';
  if (client_assertion !== undefined) {
    const isReadable = client_assertion_type === ASSERTION_TYPE && typeof client_assertion === 'string';
    return { clientId, secret: null, assertion: isReadable ? client_assertion : '', isBasic: false };
  }
  if (credentials)
    return { clientId: credentials.id, secret: credentials.secret, assertion: null, isBasic: isHeader };
  return typeof client_id === 'string' && !isHeader
    ? { clientId, secret: null, assertion: null, isBasic: false }
    : undefined;
}

/** Returns whether a request names an application by its client_id, and presents nothing. A service account has a UUID. */
export function namesApplication({ headers, body }: FastifyRequest): boolean {
  if (headers.authorization !== undefined || !isObject(body)) return false;
  const { client_id, client_secret, client_assertion } = body;
  const isAlone = client_secret === undefined && client_assertion === undefined;
  return isAlone && typeof client_id === 'string' && isClientId(client_id);
}

type Refusal = 'unknown_application' | 'inactive' | 'wrong_method' | 'wrong_secret' | 'wrong_assertion';

const methodOf = ({ secret, assertion }: PresentedApplication): PresentedRow['auth_method'] =>
  assertion === null ? (secret === null ? 'none' : 'secret') : 'private_key_jwt';

export function createApplicationClients(deps: {
  reservedPool: Pool;
  pool: Pool;
  log: Logger;
  auditLog: AuditLog;
  assertions: Assertions;
}): ApplicationClients {
  const { reservedPool, assertions } = deps;
  const find = createBatchedLookup(reservedPool.options.max, (keys: readonly PresentedKey[]) =>
    findPresented(reservedPool, keys),
  );
  const limit = createWrongKeyLimit({ what: 'secrets of applications' });
  const note = createUseNotes(deps.log, 'a secret of an application', (ids) => noteSecretUse(deps.pool, ids));

  async function refuse(
    presented: PresentedApplication | undefined,
    client: Client,
    reason: Refusal,
    { found, fault }: { found?: PresentedRow; fault?: string } = {},
  ): Promise<never> {
    const over = limit.countWrong(client.address);
    await recordBounded(deps, client, {
      action: 'application_authentication_failed',
      actorId: null,
      resourceType: 'application',
      resourceId: found?.id ?? '',
      ...(found ? { resourceName: found.name } : {}),
      details: { reason: over ? 'rate_limited' : reason, ...(fault === undefined ? {} : { fault }) },
    });
    throw over ?? refusalOf(presented);
  }

  return {
    async authenticate(presented, client) {
      if (!presented) throw refusalOf(presented);
      const { secret, assertion } = presented;
      const clientId = assertion === null ? presented.clientId : (assertions.issuerOf(assertion) ?? '');
      const secretHash = secret === null ? null : secretTextHash(APPLICATION_SECRET_MARK, secret);
      // Without a secret, the client_id counts as one here: another assertion comes each time, or nothing else.
      const known = secretHash === null ? tokenHash(clientId) : secretHash;
      const over = limit.refusalOf(client.address, known);
      if (over) throw over;
      if (assertion !== null && presented.clientId !== '' && presented.clientId !== clientId)
        return refuse(presented, client, 'wrong_assertion', { fault: 'issuer' });
      if (!isClientId(clientId)) return refuse(presented, client, 'unknown_application');
      if (secretHash === undefined) return refuse(presented, client, 'wrong_secret');
      const found = await find({ clientId, secretHash });
      if (!found) return refuse(presented, client, 'unknown_application');
      if (found.auth_method !== methodOf(presented))
        return refuse(presented, client, 'wrong_method', { found });
      if (secretHash !== null && found.secret_id === null)
        return refuse(presented, client, 'wrong_secret', { found });
      if (!found.is_active) return refuse(presented, client, 'inactive', { found });
      const fault = assertion === null ? null : await assertions.faultOf(assertion, found);
      if (fault !== null) return refuse(presented, client, 'wrong_assertion', { found, fault });
      if (known) limit.countRight(client.address, known);
      const { secret_id, is_unnoted, is_active: _, jwks: _keys, jwks_url: _address, ...application } = found;
      if (secret_id !== null && is_unnoted) note(secret_id);
      return application;
    },
  };
}
