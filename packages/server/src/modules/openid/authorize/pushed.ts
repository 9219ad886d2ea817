// Keeps the authorization request that an application pushes before it sends the browser (RFC 9126). It is checked as the request of a
// browser is, and again when a browser brings its address. It must not know a person.
import type { PushedResponse } from '@castellan/contract/oauth';
import { AppError } from '../../../platform/errors.ts';
import type { Client } from '../../../platform/http/client.ts';
import type { Gate } from '../../../platform/limits/gate.ts';
import type { Db } from '../../../schema/database.ts';
import type { AuthenticatedApplication } from '../../applications/authentication.ts';
import type { AuditLog } from '../../audit/service.ts';
import { type KeyProof, useKeyProof } from '../../proofs/service.ts';
import type { KeyRing } from '../../sessions/keys/ring.ts';
import { readHint } from '../id-token-hint.ts';
import { keepRequest, lifetimeSeconds } from '../interactions/service.ts';
import { type Authorizations, countAuthorization } from './deps.ts';
import { PUSHED } from './loading.ts';
import { keptParameters, type Parameters, parametersOfForm } from './parameters.ts';
import { checkRequest, type PageReason } from './request.ts';
import { findRequested } from './store.ts';

export type PushDeps = {
  db: Db;
  auditLog: AuditLog;
  keyRing: Pick<KeyRing, 'publicJwks'>;
  authorizations: Authorizations;
  /** `gate`: limits what one application writes at once. */
  applicationTokens: { gate: Gate };
  settings: { publicUrl: string };
};

/**
 * Keeps a request for 90 seconds. `proof`: binds its code to the key of the proof (RFC 9449, 10.1). Throws the errors of an authorization
 * request (400), `invalid_dpop_proof` (400), `rate_limited` (429), and GateFullError if too many requests of the application wait.
 */
export async function pushRequest(
  deps: PushDeps,
  client: Client,
  application: AuthenticatedApplication,
  { form, proof }: { form: Readonly<Record<string, unknown>>; proof: KeyProof | null },
): Promise<PushedResponse> {
  // Anyone may push in the name of an application without a secret, and each request is kept for a while.
  if (application.auth_method === 'none') await countAuthorization(deps, client, null, form);
  const parameters = parametersOfForm({ ...form, client_id: application.client_id });
  if (parameters === 'too_large')
    throw new AppError('invalid_request', {
      detail: 'A parameter has more than 4,096 characters, or id_token_hint more than 12,288.',
    });
  return deps.applicationTokens.gate.run(application.id, client, () =>
    keepChecked(deps, application, parameters, proof),
  );
}

async function keepChecked(
  { db, keyRing, settings }: PushDeps,
  { id: applicationId, client_id: clientId }: AuthenticatedApplication,
  parameters: Parameters,
  proof: KeyProof | null,
): Promise<PushedResponse> {
  const found = await findRequested(db, { clientId, stored: null, browser: null });
  const outcome = checkRequest(found.application, parameters, {
    isPushed: true,
    readHint: (hint) => readHint(keyRing, settings.publicUrl, hint),
  });
  if ('page' in outcome) throw refusalOf(outcome.page);
  if ('refused' in outcome)
    throw new AppError(outcome.refused.error, { detail: outcome.refused.description });
  await checkProof(db, proof, { jkt: outcome.checked.dpopJkt, now: found.now });
  const { id } = await keepRequest(db, {
    kind: 'pushed',
    applicationId,
    parameters: keptParameters(parameters, outcome.checked),
    state: proof ? { dpop_jkt: proof.jkt } : {},
  });
  return { request_uri: `${PUSHED}${id}`, expires_in: lifetimeSeconds.pushed };
}

/** What a person would see as a page is an error here: the application reads it. */
function refusalOf(reason: PageReason): AppError {
  // The application was made inactive or deleted since it authenticated itself.
  if (reason === 'unknown_application') return new AppError('invalid_client');
  return new AppError('invalid_request', {
    detail:
      reason === 'redirect_uri'
        ? 'The redirect_uri is not registered for this application.'
        : 'Send redirect_uri.',
  });
}

/** `jkt`: of the parameter `dpop_jkt`. */
async function checkProof(
  db: Db,
  proof: KeyProof | null,
  { jkt, now }: { jkt: string | null; now: Date },
): Promise<void> {
  if (!proof) return;
  if (jkt !== null && jkt !== proof.jkt)
    throw new AppError('invalid_dpop_proof', { detail: 'The DPoP proof and dpop_jkt name different keys.' });
  if (!(await useKeyProof(db, proof, now)))
    throw new AppError('invalid_dpop_proof', {
      detail: 'The DPoP proof was used before, or its iat is more than 60 seconds off. Make a new one.',
    });
}
