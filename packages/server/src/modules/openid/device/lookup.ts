// Finds the request of a device by the code that a person typed. Wrong codes are counted, so that none can be guessed.
import { randomBytes } from 'node:crypto';
import { AppError } from '../../../platform/errors.ts';
import type { Client } from '../../../platform/http/client.ts';
import { overLimit } from '../../../platform/http/plugins/rate-limits.ts';
import type { RateLimiter, RateLimitRule } from '../../../platform/limits/rate-limit.ts';
import { networkOf } from '../../../platform/security/client-address.ts';
import { tokenHash } from '../../../platform/security/jwt.ts';
import { recordBounded } from '../../audit/service.ts';
import type { BrowserSession } from '../../sessions/browser/presentation.ts';
import { findBrowserSession } from '../../sessions/browser/session.ts';
import { type AuthorizeDeps, countAuthorization } from '../authorize/deps.ts';
import { takeDeviceRequest } from './store.ts';
import { userCodeIn } from './user-codes.ts';

export type LookupDeps = AuthorizeDeps & { limiter: RateLimiter };

/** Wrong codes of one browser session, and of one network. */
const ofSession: RateLimitRule = { limit: 5, windowSeconds: 600 };
const ofNetwork: RateLimitRule = { limit: 30, windowSeconds: 3_600 };

const ID_BYTES = 32;

/**
 * Returns the id of the interaction in which the person answers the device. Throws `browser_session_required` (401),
 * `user_code_unknown` (404), and `rate_limited` (429) after too many wrong codes, for right ones too.
 */
export async function findDevice(deps: LookupDeps, client: Client, text: string): Promise<string> {
  const { session } = await findBrowserSession(deps, client);
  if (!session) throw new AppError('browser_session_required');
  await countAuthorization(deps, client, session);
  const keys = await countCode(deps, client, session);
  const id = randomBytes(ID_BYTES).toString('base64url');
  const userCode = userCodeIn(text);
  const isFound =
    userCode !== undefined &&
    (await takeDeviceRequest(deps.db, userCode, {
      interaction_hash: tokenHash(id),
      user_id: session.user_id,
    }));
  if (!isFound) throw new AppError('user_code_unknown');
  for (const key of keys) await deps.limiter.giveBack(key);
  return id;
}

/** Counts a code as a wrong one, before it is looked at: parallel ones are counted exactly. Returns the keys to give it back. */
async function countCode(deps: LookupDeps, client: Client, session: BrowserSession): Promise<string[]> {
  const counted: string[] = [];
  for (const [key, rule] of [
    [`user-code|session:${session.session_id}`, ofSession],
    [`user-code|net:${networkOf(client.address)}`, ofNetwork],
  ] as const) {
    const result = await deps.limiter.hit(key, rule);
    if (!result.allowed) {
      for (const other of counted) await deps.limiter.giveBack(other);
      await recordBounded(deps, client, {
        action: 'rate_limited',
        actorId: session.user_id,
        details: { limit: 'user_code' },
      });
      throw overLimit(result);
    }
    counted.push(key);
  }
  return counted;
}
