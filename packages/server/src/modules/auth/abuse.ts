// Limits on the public forms, in addition to their route limits: per canonical email and per network.

import type { Client } from '../../platform/http/client.ts';
import type { RateLimiter, RateLimitResult, RateLimitRule } from '../../platform/limits/rate-limit.ts';
import { networkOf } from '../../platform/security/client-address.ts';

export type MailLimitDeps = {
  limiter: Pick<RateLimiter, 'hit'>;
  settings: { accountEmailLimit: RateLimitRule | null };
};
export type AbuseDeps = MailLimitDeps & {
  limiter: RateLimiter;
  settings: { registrationAbuseLimit: RateLimitRule | null };
};

/** The purpose of an account mail. Each is counted separately, so that resends cannot use up a user's resets. */
export type MailPurpose =
  | 'verification'
  | 'reset'
  | 'recovery'
  | 'provider'
  | 'invitation'
  | 'email-change'
  | 'new-email';

/** Counts one mail to this email and returns the result; null if ACCOUNT_EMAIL_LIMIT is off. */
export async function countMail(
  deps: MailLimitDeps,
  purpose: MailPurpose,
  email: string,
): Promise<RateLimitResult | null> {
  const rule = deps.settings.accountEmailLimit;
  return rule && deps.limiter.hit(`${purpose}-mail|${email}`, rule);
}

/** Counts one mail to this email. Returns false if it exceeds the limit. */
export const mayMail = async (deps: MailLimitDeps, purpose: MailPurpose, email: string): Promise<boolean> =>
  (await countMail(deps, purpose, email))?.allowed ?? true;

/** Counts one registration attempt from the client's network. Returns false if it exceeds the limit. */
export async function mayRegisterFrom(deps: AbuseDeps, client: Client): Promise<boolean> {
  const rule = deps.settings.registrationAbuseLimit;
  return rule === null || (await deps.limiter.hit(`register|net:${networkOf(client.address)}`, rule)).allowed;
}

/**
 * Counts one account that is about to be created with this email. Returns false if it exceeds the limit. Do not call it
 * for attempts that create no account: with those, a stranger could use up the limit of another person's email.
 */
export async function mayCreateAccount(deps: AbuseDeps, email: string): Promise<boolean> {
  const rule = deps.settings.accountEmailLimit;
  return rule === null || (await deps.limiter.hit(`register|email:${email}`, rule)).allowed;
}
