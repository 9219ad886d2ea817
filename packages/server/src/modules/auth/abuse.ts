// Counters against abuse of the public forms, beside their route limits: per e-mail address and per network.
// An address stands for all its spellings, a network for all its addresses.

import type { Client } from '../../platform/http/client.ts';
import type { RateLimiter, RateLimitRule } from '../../platform/limits/rate-limit.ts';
import { networkOf } from '../../platform/security/client-address.ts';

export type AbuseDeps = {
  limiter: RateLimiter;
  settings: { registrationAbuseLimit: RateLimitRule | null; accountEmailLimit: RateLimitRule | null };
};

/** Counts one account mail (verification, resend, reset, registration) to this address. False when it is one too many. */
export async function mayMail(deps: AbuseDeps, email: string): Promise<boolean> {
  const rule = deps.settings.accountEmailLimit;
  return rule === null || (await deps.limiter.hit(`account-mail|${email}`, rule)).allowed;
}

/** Counts one registration from this client's network. False when it is one too many. */
export async function mayRegister(deps: AbuseDeps, client: Client): Promise<boolean> {
  const rule = deps.settings.registrationAbuseLimit;
  return rule === null || (await deps.limiter.hit(`register|net:${networkOf(client.address)}`, rule)).allowed;
}
