// Tells what tokens would say about somebody, by the code that makes them. It issues nothing.
import type { ClaimsPreview } from '@castellan/contract/application-claims';
import { AppError } from '../../../platform/errors.ts';
import type { Db } from '../../../schema/database.ts';
import type { Caller } from '../../authz/caller.ts';
import type { GraphSource } from '../../authz/graph/graph.ts';
import { requireMayUse } from '../../authz/requirements/call.ts';
import { findKnownAccount, hasApplication } from './preview-store.ts';
import { claimsIn, fittedToToken, meetsRule, subjectIn } from './service.ts';

export type ClaimsPreviewDeps = { db: Db; graphSource: GraphSource; settings: { publicUrl: string } };

/** As long as in an ID token. */
const example = { number: 1_800_000_000, hash: 'x'.repeat(22), nonce: 'x'.repeat(43) };

/**
 * Returns what userinfo and an ID token would tell the application about the user, if it asked for all that it may ask for. Throws
 * `permission_denied`, `step_up_required` (403), `application_not_found`, `user_not_found` (404).
 */
export async function previewClaims(
  { db, graphSource, settings }: ClaimsPreviewDeps,
  caller: Caller,
  { applicationId, userId }: { applicationId: string; userId: string },
): Promise<ClaimsPreview> {
  requireMayUse(caller, 'users.read');
  const account = await findKnownAccount(db, applicationId, userId);
  if (!account)
    throw new AppError(
      (await hasApplication(db, applicationId)) ? 'user_not_found' : 'application_not_found',
    );
  const graph = await graphSource.at(account.authz_stamp);
  const { allowed_scopes: scopes, id_token_claims: idTokenClaims, claim_mappings: mappings } = account;
  const choice = { scopes, allowedScopes: scopes, requested: null, idTokenClaims, mappings };
  const sub = subjectIn(account);
  const own = {
    iss: settings.publicUrl,
    sub,
    aud: account.client_id,
    iat: example.number,
    exp: example.number,
    auth_time: example.number,
    acr: 'aal1',
    amr: ['pwd'],
    sid: example.hash,
    at_hash: example.hash,
    nonce: example.nonce,
  };
  const { told, isOver } = fittedToToken(
    { alg: account.id_token_signing_alg, own, mappings, attributes: account.attribute_claims },
    claimsIn('id_token', choice, account, graph),
  );
  return {
    may_sign_in: account.is_active && meetsRule(graph, account),
    scopes: account.allowed_scopes,
    userinfo: { sub, ...claimsIn('userinfo', choice, account, graph) },
    id_token: { sub, ...told },
    id_token_overage: isOver,
  };
}
