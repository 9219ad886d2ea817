// What signing in by an identity provider needs besides its rules: sealed state, and counts of this process.
import type { RateLimitRule } from '../../platform/limits/rate-limit.ts';
import type { Csrf } from '../../platform/security/csrf.ts';
import type { AbuseDeps } from '../auth/abuse.ts';
import type { LoginDeps } from '../auth/login.ts';
import type { ExchangeDeps } from '../identity-providers/upstream/exchange.ts';
import type { SendingDeps } from '../identity-providers/upstream/sending.ts';
import type { BrowserCookieSettings } from '../sessions/browser/cookie.ts';
import type { TokenSettings } from '../sessions/tokens.ts';
import { createVault, type SignInVault } from './vault.ts';

/**
 * `connected`: an identity was added to the account that somebody is signed in to. `pending`: the person has something to do first.
 * `expired`: unknown, used, too late or another browser's. `refused`: no account for it, or one that may not sign in.
 */
const results = [
  'signed_in',
  'second_factor',
  'connected',
  'pending',
  'refused',
  'denied',
  'expired',
  'unavailable',
  'unacceptable',
  'limited',
] as const;
export type SignInResult = (typeof results)[number];

/** Of one process. */
export type ProviderSignIns = SignInVault & {
  count(result: SignInResult): void;
  /** Every result, from 0 on. */
  counts(): { result: SignInResult; signIns: number }[];
};

export function createProviderSignIns(secretKey: Buffer): ProviderSignIns {
  const counts = results.map((result) => ({ result, signIns: 0 }));
  return {
    ...createVault(secretKey),
    count(result) {
      const counted = counts.find((one) => one.result === result);
      if (counted) counted.signIns += 1;
    },
    counts: () => counts,
  };
}

export type ProviderSignInDeps = LoginDeps &
  AbuseDeps &
  ExchangeDeps &
  SendingDeps & {
    csrf: Csrf;
    providerSignIns: ProviderSignIns;
    settings: BrowserCookieSettings &
      TokenSettings & {
        publicUrl: string;
        defaultRole: string;
        knownDeviceDays: number;
        rateLimitProviderStart: RateLimitRule | null;
      };
  };
