// Counts requests of limited routes per client address, before their body is read, and refuses those over the limit.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../errors.ts';
import {
  type RateLimiter,
  type RateLimitResult,
  type RateLimitRule,
  rateLimitHeaders,
} from '../../limits/rate-limit.ts';
import { rateLimitAddress } from '../../security/client-address.ts';
import { hook } from '../hooks.ts';
import type { App } from '../server/server.ts';

/** Returns the refusal for a limit that is not counted per route. */
export const overLimit = (result: RateLimitResult): AppError =>
  new AppError('rate_limited', {
    retryAfterSeconds: result.resetSeconds,
    headers: rateLimitHeaders(result),
  });

/** Adds the limits of routes. `onRefused` runs before the refusal is sent. */
export function addRateLimits(
  app: App,
  limiter: RateLimiter,
  onRefused: (request: FastifyRequest) => Promise<void>,
): void {
  const count = async (
    request: FastifyRequest,
    reply: FastifyReply,
    name: string,
    rule: RateLimitRule,
  ): Promise<void> => {
    const result = await limiter.hit(`${name}|ip:${rateLimitAddress(request.client.address)}`, rule);
    reply.headers(rateLimitHeaders(result));
    if (result.allowed) return;
    await onRefused(request);
    throw new AppError('rate_limited', { retryAfterSeconds: result.resetSeconds });
  };
  app.addHook(
    'onRequest',
    hook((request, reply) => {
      const { limit } = request.routeOptions.config;
      if (limit?.rule && !request.is404) return count(request, reply, limit.name, limit.rule);
      return undefined;
    }),
  );
}
