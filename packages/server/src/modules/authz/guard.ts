// Enforces what each route declares: who may call it. A route that declares nothing does not register.
// Runs before the body is read, so that no answer depends on a record before the caller is known.
import { type Access, allPermissions } from '@castellan/contract/permissions';
import type { FastifyRequest } from 'fastify';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/server.ts';
import { authenticate, type SessionDeps } from '../sessions/service.ts';
import type { LiveToken } from '../sessions/token-lookup.ts';
import { mayDo } from './effective.ts';
import type { Graph, GraphSource } from './graph.ts';

/** The authenticated caller, with what his route demands and the graph that his request is decided by. */
export type Actor = LiveToken & { access: Access; graph: Graph };

declare module 'fastify' {
  interface FastifyRequest {
    /** Null on public routes. */
    actor: Actor | null;
  }
}

const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
const known: ReadonlySet<string> = new Set(['public', 'authenticated', ...allPermissions]);

export function addGuard(app: App, deps: SessionDeps & { graphSource: GraphSource }): void {
  app.decorateRequest('actor', null);
  app.addHook('onRoute', (route) => {
    const access = route.config?.access;
    if (access === undefined || !known.has(access))
      throw new Error(`${route.method} ${route.url} declares no access: add config.access`);
  });
  const judge = async (request: FastifyRequest): Promise<void> => {
    if (request.is404) return;
    const access = request.routeOptions.config.access;
    if (access === undefined || access === 'public') return;
    const live = await authenticate(deps, request.headers.authorization);
    const found = deps.graphSource.at(live.authz_version);
    const graph = found instanceof Promise ? await found : found;
    request.actor = Object.assign(live, { access, graph });
    if (access !== 'authenticated' && !mayDo(graph, live, access)) throw new AppError('permission_denied');
  };
  app.addHook('onRequest', judge);
  // A body may take half a minute to arrive: a change is judged by the rights that its sender has when it is all here.
  app.addHook('preHandler', async (request) => {
    if (!SAFE_METHODS.has(request.method)) await judge(request);
  });
}

/** The caller of a route that is not public. */
export function actorOf(request: FastifyRequest): Actor {
  if (!request.actor) throw new Error('this route is public: it has no actor');
  return request.actor;
}
