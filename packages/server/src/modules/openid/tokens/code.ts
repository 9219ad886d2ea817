// Exchanges a code for the tokens of an application (RFC 6749, 4.1.3; RFC 7636, 4.6; OpenID Connect Core, 3.1.3).
import { hash } from 'node:crypto';
import type { TokenRequest, TokenResponse } from '@castellan/contract/oauth';
import { AppError } from '../../../platform/errors.ts';
import type { Client } from '../../../platform/http/client.ts';
import { secretTextHash } from '../../../platform/security/secret-text.ts';
import type { Tx } from '../../../schema/database.ts';
import type { AuthenticatedApplication } from '../../applications/authentication.ts';
import type { KeyProof } from '../../proofs/service.ts';
import type { ApplicationTokenDeps } from './deps.ts';
import {
  inTurn,
  type Outcome,
  redeemGrant,
  refused,
  requireUsable,
  settleFirst,
  wrongKey,
} from './exchange.ts';
import { mayUse } from './standing.ts';
import { endGrant, lockGrantOfCode } from './store.ts';

const CODE_MARK = 'cas_ac_';

type Fields = Pick<TokenRequest, 'code' | 'redirect_uri' | 'code_verifier' | 'resource'>;

/**
 * Returns the tokens for a code. Throws `invalid_request`, `invalid_grant`, `unauthorized_client`, `invalid_target` (400),
 * `invalid_dpop_proof` (400), `temporarily_unavailable` (503), and GateFullError if too many exchanges wait.
 */
export async function exchangeCode(
  deps: ApplicationTokenDeps,
  client: Client,
  application: AuthenticatedApplication,
  fields: Fields,
  proof: KeyProof | null,
): Promise<TokenResponse> {
  requireUsable(deps, application, 'authorization_code', proof);
  const { code, redirect_uri } = fields;
  if (code === undefined || redirect_uri === undefined)
    throw new AppError('invalid_request', { detail: 'Send code and redirect_uri.' });
  const codeHash = secretTextHash(CODE_MARK, code);
  const outcome = codeHash
    ? await inTurn(deps, client, { application, key: codeHash.toString('hex') }, (tx) =>
        redeem(tx, deps, application, { ...fields, redirect_uri, codeHash, proof }),
      )
    : refused;
  return settleFirst(deps, client, application, { grantType: 'authorization_code', outcome, proof });
}

async function redeem(
  tx: Tx,
  deps: ApplicationTokenDeps,
  application: AuthenticatedApplication,
  {
    codeHash,
    redirect_uri,
    code_verifier,
    resource: asked,
    proof,
  }: Fields & { codeHash: Buffer; proof: KeyProof | null },
): Promise<Outcome> {
  const resource = asked ?? null;
  const grant = await lockGrantOfCode(tx, codeHash, resource);
  if (!grant || grant.application_id !== application.id) return refused;
  if (grant.is_code_used) {
    const ended = await endGrant(tx, grant.grant_id, 'authorization_code_reuse', { isTold: true });
    return ended ? { reused: grant } : refused;
  }
  if (!grant.is_live || !grant.is_session_live || grant.is_code_late) return refused;
  if (grant.redirect_uri !== redirect_uri)
    return { ...refused, detail: 'The redirect_uri is not that of the authorization request.' };
  if (!isProved(grant.code_challenge, code_verifier))
    return { ...refused, detail: 'The code_verifier does not match the authorization request.' };
  if (grant.dpop_jkt !== null && grant.dpop_jkt !== proof?.jkt) return wrongKey;
  const graph = await deps.graphSource.at(grant.authz_stamp);
  return mayUse(deps, { graph, now: grant.now }, grant)
    ? redeemGrant(tx, deps, application, { grant, graph, resource, proof })
    : refused;
}

const VERIFIER = /^[\w.~-]{43,128}$/; // RFC 7636, 4.1

/** A verifier without a challenge is refused, too: somebody took the challenge out of the request (RFC 9700, 2.1.1). */
function isProved(challenge: string | null, verifier: string | undefined): boolean {
  if (challenge === null || verifier === undefined) return challenge === null && verifier === undefined;
  return VERIFIER.test(verifier) && hash('sha256', verifier, 'base64url') === challenge;
}
