// Enforces the access that each route declares. A route without a declaration does not register.
// It runs before the body is read, so that no response depends on a record before the caller is known. Only operations
// that take credentials in a form read that form first.
import { performance } from 'node:perf_hooks';
import { allPermissions, freshPermissions } from '@castellan/contract/permissions';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../../platform/clock.ts';
import { AppError } from '../../../platform/errors.ts';
import { hook } from '../../../platform/http/hooks.ts';
import { clientCredentials, presentsApplication } from '../../../platform/http/plugins/client-credentials.ts';
import type { App } from '../../../platform/http/server/server.ts';
import { isObject } from '../../../platform/unknown-values.ts';
import type { FreshnessDeps } from '../../factors/service.ts';
import { type Caller, createCaller, isByToken } from '../caller.ts';
import { mayDo } from '../effective.ts';
import { type GraphSource, withGraph } from '../graph/graph.ts';
import { pendingOf, refusalUntil } from '../requirement.ts';
import { type PolicySettings, policyOf } from '../requirements/account.ts';
import { proofRequired, requireFreshCall, unmetByCall } from '../requirements/call.ts';
import { everywhere } from '../scope.ts';
import type { AccessLimit } from './access-limit.ts';
import { requireMayAct } from './acting.ts';
import { type AuthenticationDeps, findPrincipal } from './authentication.ts';
import type { UserLimit } from './user-limit.ts';

const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
const known: ReadonlySet<string> = new Set(['public', 'authenticated', 'user', ...allPermissions]);
const alwaysFresh: ReadonlySet<string> = new Set(freshPermissions);

// How long the authorization of a request that changes nothing counts. A longer wait is one for the body.
const READ_AUTHORIZED_MS = 1_000;

type GuardDeps = AuthenticationDeps &
  FreshnessDeps & {
    settings: PolicySettings;
    clock: Clock;
    graphSource: GraphSource;
    userLimit: UserLimit | null;
    accessLimit: AccessLimit | null;
  };

export function addGuard(app: App, deps: GuardDeps): void {
  const policy = policyOf(deps.settings);
  app.decorateRequest('caller', null);
  app.decorateRequest('authorizedAt', 0);
  app.addHook('onRoute', (route) => {
    const access = route.config?.access;
    if (access === undefined || !known.has(access))
      throw new Error(`${route.method} ${route.url} declares no access: add config.access`);
    // Otherwise who holds the permission could not say what handing it out asks for.
    if (route.config?.fresh && route.config.access !== 'user')
      throw new Error(`${route.method} ${route.url} asks for a fresh proof: add it to freshPermissions`);
    // A change asks for the permission again, inside its transaction.
    if (route.config?.orSelf && [route.method].flat().some((method) => !safeMethods.has(method)))
      throw new Error(`${route.method} ${route.url} changes something: remove config.orSelf`);
  });
  /**
   * Sets `request.caller` of a guarded route. Throws 401 or 403. With `counted`, the reply, it counts the request for the limits of its caller.
   */
  const authorize = async (request: FastifyRequest, counted?: FastifyReply): Promise<void> => {
    const {
      access = 'authenticated',
      accessLimited = false,
      openTo = [],
      fresh = false,
    } = request.routeOptions.config;
    if (counted) deps.userLimit?.refuseKnown(request, counted);
    request.authorizedAt = performance.now();
    const { found, graph } = await withGraph(deps.graphSource, () => findPrincipal(deps, request));
    const { principal } = found;
    if (principal.type === 'user') requireMayAct(request, principal, graph);
    const refused =
      counted && principal.type === 'user' && deps.userLimit?.count(request, counted, principal);
    if (refused) await refused;
    if (isByToken(principal) && isForSessions(request)) throw new AppError('user_session_required');
    if (counted && accessLimited) {
      const { accessLimit } = deps;
      await (accessLimited === 'by answer' ? accessLimit?.requireLeft : accessLimit?.count)?.(
        request.client,
        principal,
      );
    }
    const now = deps.clock.now();
    request.caller = createCaller(request, principal, {
      access,
      graph,
      policy,
      proofMaxAgeSeconds: deps.settings.stepUpMaxAgeMinutes * 60,
      judgedAt: now,
    });
    const pending = pendingOf(principal, { graph, policy, now });
    if (pending && !openTo.includes(pending.first))
      throw await refusalUntil(deps.db, policy, principal, pending);
    if (!isAboutCaller(request, principal)) requireAccess(request.caller);
    const isFresh = fresh || alwaysFresh.has(access);
    if (counted && isFresh && principal.type === 'user') await requireFreshCall(deps.db, deps, principal);
  };
  app.addHook(
    'onRequest',
    hook((request, reply) =>
      isGuarded(request) && !mayBeInForm(request) ? authorize(request, reply) : undefined,
    ),
  );
  app.addHook(
    'preValidation',
    hook((request, reply) => {
      if (!request.routeOptions.config.clientCredentials) return undefined;
      // A second credential in the form is refused, not ignored.
      clientCredentials(request);
      return isGuarded(request) && mayBeInForm(request) ? authorize(request, reply) : undefined;
    }),
  );
  // Waiting for the body or for a turn can take half a minute. The caller's permissions after that wait count.
  app.addHook(
    'preHandler',
    hook((request) =>
      isGuarded(request) && (request.waitedForTurn || !isRecentRead(request))
        ? authorize(request)
        : undefined,
    ),
  );
}

const isGuarded = (request: FastifyRequest): boolean =>
  !request.is404 && request.routeOptions.config.access !== 'public' && !isOfApplication(request);

/** Returns whether the handler itself authenticates the sender. */
const isOfApplication = (request: FastifyRequest): boolean =>
  request.routeOptions.config.orApplication === true && presentsApplication(request);

/** Returns whether the credentials of the request may be in its body, which is read after the headers. */
const mayBeInForm = ({ routeOptions, headers }: FastifyRequest): boolean =>
  routeOptions.config.clientCredentials === true && headers.authorization === undefined;

/** Returns whether the request changes nothing and was authorized a moment ago. */
function isRecentRead({ method, routeOptions, authorizedAt }: FastifyRequest): boolean {
  if (safeMethods.has(method)) return true;
  const { readOnly = false } = routeOptions.config;
  return readOnly && performance.now() - authorizedAt <= READ_AUTHORIZED_MS;
}

/** Returns whether the route lets callers ask about themselves, and its path names this one. */
function isAboutCaller({ routeOptions, params }: FastifyRequest, { type, id }: Caller['principal']): boolean {
  const { orSelf } = routeOptions.config;
  if (orSelf?.type !== type || !isObject(params)) return false;
  const given = params[orSelf.param];
  return typeof given === 'string' && given.toLowerCase() === id;
}

/**
 * Returns whether the operation is for the access token of a session alone: how an account is entered, and what changes one's own
 * account. By the path, so that every operation that is added there is refused to personal access tokens.
 */
function isForSessions({ method, routeOptions: { url = '' } }: FastifyRequest): boolean {
  if (url === '/api/v1/auth' || url.startsWith('/api/v1/auth/')) return true;
  const isOwnAccount = url === '/api/v1/users/me' || url.startsWith('/api/v1/users/me/');
  return isOwnAccount && !safeMethods.has(method);
}

/** Permissions of the group `self` are about the account of a person. */
const isPersonal = (access: Caller['access']): boolean => access === 'user' || access.startsWith('self.');

/**
 * Throws `user_required`, `permission_denied` or `step_up_required` (403) unless the caller has the access that its route
 * requires, and has proved what it asks for.
 */
function requireAccess(caller: Caller): void {
  const { access, principal, graph } = caller;
  if (isPersonal(access) && principal.type !== 'user') throw new AppError('user_required');
  if (access === 'authenticated' || access === 'user' || access === 'public') return;
  if (!mayDo(graph, everywhere(principal.subject), access))
    throw new AppError('permission_denied', { requiredPermission: access });
  const unmet = unmetByCall(caller, access);
  if (unmet) throw proofRequired(principal, unmet);
}
