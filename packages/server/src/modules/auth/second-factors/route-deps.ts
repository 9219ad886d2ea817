// What the HTTP of second factors needs besides the rules.
import type { FastifyReply } from 'fastify';
import type { CookieSettings } from '../../../platform/http/plugins/cookies.ts';
import type { RateLimitRule } from '../../../platform/limits/rate-limit.ts';
import type { Csrf } from '../../../platform/security/csrf.ts';
import type { AbuseDeps } from '../abuse.ts';
import type { IssuedTokens } from '../devices/begin-session.ts';
import type { SecondFactorDeps } from './deps.ts';

export type SecondFactorRouteDeps = SecondFactorDeps &
  AbuseDeps & {
    csrf: Csrf;
    settings: CookieSettings & {
      rateLimitSecondFactor: RateLimitRule | null;
      rateLimitPasskeyOptions: RateLimitRule | null;
      rateLimitPasswordReset: RateLimitRule | null;
    };
  };

/** Sets the refresh cookie, and the device cookie after it, and returns the tokens for the body. */
export type Issue = (
  reply: FastifyReply,
  tokens: IssuedTokens,
) => { access_token: string; token_type: 'bearer'; refresh_token: string };
