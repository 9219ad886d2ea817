// A live guard of the stand-in, which knows of a change as soon as it was made: tests change something and look, in one turn.
// It must decide nothing itself.
import type { Middleware } from '../guard/middleware.ts';
import type { Guard } from '../guard.ts';
import type { Feed } from './feed.ts';

/** Returns the guard, which takes what the feed has told before it answers. */
export function toldFirst(guard: Guard, feed: Feed): Guard {
  const after =
    <Args extends unknown[], Answer>(run: (...args: Args) => Promise<Answer>) =>
    async (...args: Args): Promise<Answer> => {
      await feed.settle();
      return run(...args);
    };
  const middleware = ({ fastify, express, hono, fetch }: Middleware): Middleware => ({
    fastify: after(fastify),
    express: after(express),
    hono: after(hono),
    fetch: (handler) => after(fetch(handler)),
  });
  return {
    ...guard,
    authenticate: after(guard.authenticate),
    can: after(guard.can),
    canAll: after(guard.canAll),
    require: (permission, requirement) => middleware(guard.require(permission, requirement)),
    authenticated: Object.assign(
      (requirement: Parameters<Guard['authenticated']>[0]) => middleware(guard.authenticated(requirement)),
      middleware(guard.authenticated),
    ),
    check(request, permission, requirement) {
      const answer = guard.check(request, permission, requirement);
      return feed.isTaken ? answer : undefined;
    },
  };
}
