// Limits all requests of one signed-in user (RATE_LIMIT_USER), counted in this process.
// It must not send a statement for a request that it refuses.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../../platform/errors.ts';
import { createLocalLimit } from '../../../platform/limits/local-limit.ts';
import {
  type RateLimitResult,
  type RateLimitRule,
  rateLimitHeaders,
} from '../../../platform/limits/rate-limit.ts';
import { tokenHash } from '../../../platform/security/jwt.ts';
import { recordBounded } from '../../audit/service.ts';
import { bearerToken, type SessionDeps } from '../../sessions/service.ts';
import { actorOf, type PersonPrincipal } from '../caller.ts';

export type UserLimit = {
  /**
   * Throws `rate_limited` for a token whose user is known to be over the limit, unless the route counts for its session. It needs no
   * statement.
   */
  refuseKnown(request: FastifyRequest, reply: FastifyReply): void;
  /**
   * Counts one request of the token's user, or of its session where the route declares `endsAccess`. Throws `rate_limited`;
   * the first refusal of a window is an audit event.
   */
  count(request: FastifyRequest, reply: FastifyReply, principal: PersonPrincipal): Promise<void> | undefined;
};

// Requests of one session that list or end access. Who holds another session or a token of the user, such as a thief, cannot use them up.
const endingRule: RateLimitRule = { limit: 60, windowSeconds: 60 };

// Remembered tokens of users over the limit. The key is a hash, so that neither the length of the token nor the
// spelling of the header matters. A token that is no longer remembered costs one lookup.
const MAX_TOKENS = 10_000;

type KnownToken = { userId: string; isOfSession: boolean };

const keyOf = (authorization: string | undefined): string | undefined => {
  const token = bearerToken(authorization);
  return token === undefined ? undefined : tokenHash(token).toString('base64');
};

/** Returns null if `rule` is null, which turns the limit off. */
export function createUserLimit(deps: SessionDeps, rule: RateLimitRule | null): UserLimit | null {
  if (rule === null) return null;
  const users = createLocalLimit(rule);
  const endings = createLocalLimit(endingRule);
  const overLimit = new Map<string, KnownToken>();

  const refuse = (reply: FastifyReply, result: RateLimitResult): never => {
    reply.headers(rateLimitHeaders(result));
    throw new AppError('rate_limited', { retryAfterSeconds: result.resetSeconds });
  };

  async function refuseOnce(
    { client }: FastifyRequest,
    reply: FastifyReply,
    principal: PersonPrincipal,
    result: RateLimitResult & { firstRefusal: boolean },
    limit: 'session' | 'user',
  ): Promise<void> {
    if (result.firstRefusal)
      await recordBounded(deps, client, {
        action: 'rate_limited',
        ...actorOf(principal),
        resourceId: principal.id,
        details: { email: principal.email, limit },
      });
    refuse(reply, result);
  }

  function remember(authorization: string | undefined, token: KnownToken): void {
    const key = keyOf(authorization);
    if (key !== undefined) overLimit.set(key, token);
    const [oldest] = overLimit.keys();
    if (overLimit.size > MAX_TOKENS && oldest !== undefined) overLimit.delete(oldest);
  }

  return {
    refuseKnown({ headers: { authorization }, routeOptions }, reply) {
      // Usually no user is over the limit; then no token needs to be hashed.
      if (overLimit.size === 0) return;
      const key = keyOf(authorization);
      const token = key === undefined ? undefined : overLimit.get(key);
      if (key === undefined || token === undefined) return;
      if (token.isOfSession && routeOptions.config.endsAccess) return;
      const result = users.refusal(token.userId);
      if (result) refuse(reply, result);
      // The window has ended.
      overLimit.delete(key);
    },
    count(request, reply, principal) {
      const { endsAccess = false } = request.routeOptions.config;
      const { id, session } = principal;
      // A personal access token ends nothing: its requests count for the user alone.
      const isEnding = endsAccess && session !== null;
      const result = isEnding ? endings.hit(session.id) : users.hit(id);
      if (result.allowed) return undefined;
      if (!isEnding) remember(request.headers.authorization, { userId: id, isOfSession: session !== null });
      return refuseOnce(request, reply, principal, result, isEnding ? 'session' : 'user');
    },
  };
}
