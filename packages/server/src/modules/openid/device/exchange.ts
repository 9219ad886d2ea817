// Exchanges a device code for the tokens of an application (RFC 8628, 3.4), once a person has allowed the device.
// A refusal that notes something commits before its error is thrown.
import type { TokenRequest, TokenResponse } from '@castellan/contract/oauth';
import { AppError } from '../../../platform/errors.ts';
import type { Client } from '../../../platform/http/client.ts';
import { secretTextHash } from '../../../platform/security/secret-text.ts';
import type { Tx } from '../../../schema/database.ts';
import type { AuthenticatedApplication } from '../../applications/authentication.ts';
import type { KeyProof } from '../../proofs/service.ts';
import {
  inTurn,
  type Outcome,
  redeemGrant,
  refused,
  requireUsable,
  settleFirst,
} from '../tokens/exchange.ts';
import type { ApplicationTokenDeps } from '../tokens/service.ts';
import { mayUse } from '../tokens/standing.ts';
import { lockGrantWithId } from '../tokens/store.ts';
import { lockDeviceRequest, notePoll } from './store.ts';

export const DEVICE_MARK = 'cas_dc_';

/** Nobody has answered yet. */
type Pending = { pending: 'authorization_pending' | 'slow_down' };

/** By how much the interval of a device grows that asks too soon (RFC 8628, 3.5). */
const SLOWER_SECONDS = 5;

/**
 * Returns the tokens of a device. Throws `authorization_pending` and `slow_down` while nobody has answered, `access_denied`,
 * `expired_token`, `invalid_grant` for a code that is unknown or used, and otherwise as `exchangeCode`.
 */
export async function exchangeDeviceCode(
  deps: ApplicationTokenDeps,
  client: Client,
  application: AuthenticatedApplication,
  fields: Pick<TokenRequest, 'device_code' | 'resource'>,
  proof: KeyProof | null,
): Promise<TokenResponse> {
  requireUsable(deps, application, 'device_code', proof);
  const { device_code, resource = null } = fields;
  if (device_code === undefined) throw new AppError('invalid_request', { detail: 'Send device_code.' });
  const codeHash = secretTextHash(DEVICE_MARK, device_code);
  const outcome = codeHash
    ? await inTurn<Outcome | Pending>(deps, client, { application, key: codeHash.toString('hex') }, (tx) =>
        redeem(tx, deps, application, { codeHash, resource, proof }),
      )
    : refused;
  if ('pending' in outcome) throw new AppError(outcome.pending);
  return settleFirst(deps, client, application, { grantType: 'device_code', outcome, proof });
}

async function redeem(
  tx: Tx,
  deps: ApplicationTokenDeps,
  application: AuthenticatedApplication,
  { codeHash, resource, proof }: { codeHash: Buffer; resource: string | null; proof: KeyProof | null },
): Promise<Outcome | Pending> {
  const asked = await lockDeviceRequest(tx, codeHash);
  if (!asked || asked.application_id !== application.id) return refused;
  if (asked.is_denied) return { refused: 'access_denied' };
  if (asked.grant_id === null) {
    if (asked.is_expired) return { refused: 'expired_token' };
    await notePoll(tx, codeHash, asked.is_early ? SLOWER_SECONDS : 0);
    return { pending: asked.is_early ? 'slow_down' : 'authorization_pending' };
  }
  const grant = await lockGrantWithId(tx, asked.grant_id, { reuseSeconds: 0, resource });
  // A second use ends nothing: unlike a code, a device code passes through no browser, and devices ask again by themselves.
  if (!grant || grant.is_code_used || !grant.is_live) return refused;
  if (!grant.offline && !grant.is_session_live) return refused;
  if (grant.is_code_late) return { refused: 'expired_token' };
  const graph = await deps.graphSource.at(grant.authz_stamp);
  // Minutes may have passed since the person allowed the device.
  if (!mayUse(deps, { graph, now: grant.now }, grant)) return refused;
  return redeemGrant(tx, deps, application, { grant, graph, resource, proof });
}
