// Counters against abuse of the public forms, beside their route limits: per e-mail address and per network.
// An address stands for all its spellings, a network for all its addresses.

import type { Client } from '../../platform/http/client.ts';
import type { RateLimiter, RateLimitRule } from '../../platform/limits/rate-limit.ts';
import { networkOf } from '../../platform/security/client-address.ts';

export type AbuseDeps = {
  limiter: RateLimiter;
  settings: { registrationAbuseLimit: RateLimitRule | null; accountEmailLimit: RateLimitRule | null };
};

/** What an account mail is about. Each has a count of its own: nobody can use up another's reset with resends. */
export type MailPurpose = 'verification' | 'reset';

/** Counts one account mail to this address. False when it is one too many. */
export async function mayMail(deps: AbuseDeps, purpose: MailPurpose, email: string): Promise<boolean> {
  const rule = deps.settings.accountEmailLimit;
  return rule === null || (await deps.limiter.hit(`${purpose}-mail|${email}`, rule)).allowed;
}

/** Counts one registration from this client's network and with this address. False when it is one too many. */
export async function mayRegister(deps: AbuseDeps, client: Client, email: string): Promise<boolean> {
  const { registrationAbuseLimit, accountEmailLimit } = deps.settings;
  const ofNetwork =
    registrationAbuseLimit === null ||
    (await deps.limiter.hit(`register|net:${networkOf(client.address)}`, registrationAbuseLimit)).allowed;
  const ofAddress =
    accountEmailLimit === null ||
    (await deps.limiter.hit(`register|email:${email}`, accountEmailLimit)).allowed;
  return ofNetwork && ofAddress;
}
