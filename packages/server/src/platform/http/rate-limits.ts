// Counts requests of limited routes per client address, before their body is read, and refuses those over the limit.
import type { FastifyRequest } from 'fastify';
import { AppError } from '../errors.ts';
import { type RateLimiter, type RateLimitResult, rateLimitHeaders } from '../limits/rate-limit.ts';
import { rateLimitAddress } from '../security/client-address.ts';
import type { App } from './server.ts';

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
  app.addHook('onRequest', async (request, reply) => {
    const limit = request.routeOptions.config.limit;
    if (!limit?.rule || request.is404) return;
    const result = await limiter.hit(
      `${limit.name}|ip:${rateLimitAddress(request.client.address)}`,
      limit.rule,
    );
    reply.headers(rateLimitHeaders(result));
    if (result.allowed) return;
    await onRefused(request);
    throw new AppError('rate_limited', { retryAfterSeconds: result.resetSeconds });
  });
}
