// Hooks that usually need not wait. Fastify waits for the promise of every async hook, and each request passes a dozen.
import type { FastifyReply, FastifyRequest } from 'fastify';

type Run = (request: FastifyRequest, reply: FastifyReply) => unknown;
type Done = (error?: Error) => void;

/** Returns a hook that continues at once unless `run` returns a promise. What `run` throws is the request's error. */
export const hook =
  (run: Run) =>
  (request: FastifyRequest, reply: FastifyReply, done: Done): Promise<unknown> | undefined => {
    const pending = run(request, reply);
    if (pending instanceof Promise) return pending;
    done();
    return undefined;
  };
