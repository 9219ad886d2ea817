// Begins sign-ins on devices (RFC 8628, 3.1), and exchanges what they ended with. It must not know who allows one: pages.ts does.
import type { DeviceAuthorization, DeviceAuthorizationRequest } from '@castellan/contract/oauth';
import { inTransaction } from '../../../platform/db/transaction.ts';
import { AppError } from '../../../platform/errors.ts';
import type { Client } from '../../../platform/http/client.ts';
import { createSecretText, secretTextHash } from '../../../platform/security/secret-text.ts';
import type { AuthenticatedApplication } from '../../applications/authentication.ts';
import { recordBounded } from '../../audit/service.ts';
import { type AuthorizeDeps, countAuthorization } from '../authorize/deps.ts';
import { askedScopes } from '../authorize/request.ts';
import { findRequested } from '../authorize/store.ts';
import type { ApplicationTokenDeps } from '../tokens/service.ts';
import { DEVICE_MARK } from './exchange.ts';
import { insertDeviceRequest, type NewDeviceRequest } from './store.ts';
import { createUserCode, shownUserCode } from './user-codes.ts';

export { exchangeDeviceCode } from './exchange.ts';

export type DeviceDeps = Pick<AuthorizeDeps, 'authorizations'> &
  Pick<ApplicationTokenDeps, 'db' | 'auditLog' | 'applicationTokens'> & { settings: { publicUrl: string } };

const LIFETIME_SECONDS = 600;
/** What the column has as its default. */
const INTERVAL_SECONDS = 5;
/** Requests of one application that wait at once. */
const MAX_WAITING = 1_000;
/** A new user code is one of 2.6 · 10^10, so a second attempt is rare. */
const ATTEMPTS = 5;
/** What a request without `scope` asks for. */
const DEFAULT_SCOPE = 'openid';

/**
 * Keeps the request of a device for ten minutes. Throws `unauthorized_client`, `invalid_scope`, `invalid_target` (400), `rate_limited`
 * (429) if too many requests of the application wait, and GateFullError.
 */
export async function beginOnDevice(
  deps: DeviceDeps,
  client: Client,
  application: AuthenticatedApplication,
  { scope = DEFAULT_SCOPE, resource = [] }: DeviceAuthorizationRequest,
): Promise<DeviceAuthorization> {
  if (!application.grant_types.includes('device_code')) throw new AppError('unauthorized_client');
  // Anyone may ask in the name of an application without a secret.
  if (application.auth_method === 'none') await countAuthorization(deps, client, null);
  const code = createSecretText(DEVICE_MARK);
  const codeHash = secretTextHash(DEVICE_MARK, code);
  if (!codeHash) throw new Error('a new device code has the wrong form');
  const userCode = await deps.applicationTokens.gate.run(application.id, client, async () => {
    const found = await findRequested(deps.db, {
      clientId: application.client_id,
      stored: null,
      browser: null,
    });
    // Deleted since it authenticated itself.
    if (!found.application) throw new AppError('invalid_client');
    const asked = askedScopes(found.application, { scope, resource: [...new Set(resource)] });
    if ('error' in asked) throw new AppError(asked.error, { detail: asked.description });
    return keep(deps, client, {
      code_hash: codeHash,
      application_id: application.id,
      scopes: asked.scopes,
      resources: asked.targets,
      address: client.address,
      user_agent: client.userAgent,
    });
  });
  const address = `${deps.settings.publicUrl}/device`;
  return {
    device_code: code,
    user_code: userCode,
    verification_uri: address,
    verification_uri_complete: `${address}?user_code=${userCode}`,
    expires_in: LIFETIME_SECONDS,
    interval: INTERVAL_SECONDS,
  };
}

/** Returns the user code of a new request, as devices show it. */
async function keep(
  deps: DeviceDeps,
  client: Client,
  request: Omit<NewDeviceRequest, 'user_code'>,
): Promise<string> {
  const limits = { lifetimeSeconds: LIFETIME_SECONDS, maxWaiting: MAX_WAITING };
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const user_code = createUserCode();
    const outcome = await inTransaction(deps.db, (tx) =>
      insertDeviceRequest(tx, { ...request, user_code }, limits),
    );
    if (outcome === 'kept') return shownUserCode(user_code);
    if (outcome === 'full') throw await tooMany(deps, client, request.application_id);
  }
  throw new AppError('temporarily_unavailable');
}

async function tooMany(deps: DeviceDeps, client: Client, applicationId: string): Promise<AppError> {
  await recordBounded(deps, client, {
    action: 'rate_limited',
    actorId: null,
    resourceType: 'application',
    resourceId: applicationId,
    details: { limit: 'device_requests', application_id: applicationId },
  });
  return new AppError('rate_limited', {
    detail: `${MAX_WAITING} devices of this application wait. Try again later.`,
    retryAfterSeconds: INTERVAL_SECONDS,
  });
}
