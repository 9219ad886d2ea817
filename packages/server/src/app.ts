// The HTTP service, put together: what every request passes, then one line per module.
import type { ErrorCode } from '@castellan/contract/errors';
import { constraintCodes } from './constraints.ts';
import type { Deps } from './deps.ts';
import { auditRoutes } from './modules/audit/routes.ts';
import { recordBounded, recordDenied } from './modules/audit/service.ts';
import { recordUnreadableLogin } from './modules/auth/login.ts';
import { REFRESH_COOKIE } from './modules/auth/refresh-cookie.ts';
import { authRoutes } from './modules/auth/routes.ts';
import { actorOf, addGuard } from './modules/authz/guard.ts';
import { dashboardRoutes } from './modules/dashboard/routes.ts';
import { healthRoutes } from './modules/health/routes.ts';
import { pageRoutes } from './modules/pages/routes.ts';
import { permissionGroupRoutes } from './modules/permission-groups/routes.ts';
import { permissionRoutes } from './modules/permissions/routes.ts';
import { roleGroupMemberRoutes } from './modules/role-groups/member-routes.ts';
import { roleGroupRoutes } from './modules/role-groups/routes.ts';
import { roleRoutes } from './modules/roles/routes.ts';
import { sessionRoutes } from './modules/sessions/routes.ts';
import { userRoutes } from './modules/users/routes.ts';
import { AppError } from './platform/errors.ts';
import { addCookies } from './platform/http/cookies.ts';
import { addCors } from './platform/http/cors.ts';
import { addCsrfProtection, CSRF_HEADER } from './platform/http/csrf-protection.ts';
import { addIdempotency } from './platform/http/idempotency.ts';
import { addRateLimits } from './platform/http/rate-limits.ts';
import { addReference } from './platform/http/reference.ts';
import { type App, createServer } from './platform/http/server.ts';
import { referenceProse } from './reference-prose.ts';

// Attempts on rights that the caller does not have, or no longer.
const securityRefusals: ReadonlySet<ErrorCode> = new Set([
  'permission_denied',
  'privilege_escalation',
  'superuser_required',
  'system_role',
  'self_delete',
  'admin_required',
]);

const LOGIN_URL = '/api/v1/auth/login';

export async function buildApp(deps: Deps): Promise<App> {
  const { settings, log } = deps;
  const app = createServer({
    log,
    publicUrl: settings.publicUrl,
    trustedProxies: settings.trustedProxies,
    constraintCodes,
    onRefused: async (code, request) => {
      const { actor } = request;
      if (code === 'invalid_text' && request.routeOptions.url === LOGIN_URL)
        await recordUnreadableLogin(deps, request.client, request.body);
      if (actor && securityRefusals.has(code))
        await recordDenied(deps, request.client, actor, {
          ...(code === 'permission_denied' ? { permission: actor.access } : { code }),
          method: request.method,
          route: request.routeOptions.url,
        });
    },
  });

  addCors(app, {
    origins: settings.corsOrigins,
    requestHeaders: [
      'authorization',
      'content-type',
      CSRF_HEADER,
      'if-match',
      'idempotency-key',
      'x-request-id',
    ],
  });
  await addCookies(app, [REFRESH_COOKIE]);
  app.addHook('onRequest', async (request) => {
    // By the route, not the address, which has many spellings. The key set as well: caches would keep an empty one.
    if (!deps.readiness.ready && /^\/(api|\.well-known)\//.test(request.routeOptions.url ?? ''))
      throw new AppError('database_unavailable', { retryAfterSeconds: 2 });
  });
  addCsrfProtection(app, deps.csrf, (request) =>
    recordBounded(deps, request.client, {
      action: 'csrf_refused',
      actorId: null,
      details: { method: request.method, route: request.routeOptions.url },
    }),
  );
  addRateLimits(app, deps.limiter, (request) =>
    recordBounded(deps, request.client, {
      action: 'rate_limited',
      actorId: null,
      details: { limit: request.routeOptions.config.limit?.name },
    }),
  );
  addGuard(app, deps);
  addIdempotency(app, {
    pool: deps.pool,
    key: deps.idempotencyKey,
    userIdOf: (request) => actorOf(request).user_id,
  });
  await addReference(app, { publicUrl: settings.publicUrl, ...referenceProse });

  await app.register(async (scope) => authRoutes(scope, deps), { prefix: '/api/v1/auth' });
  await app.register(async (scope) => sessionRoutes(scope, deps), { prefix: '/api/v1/auth' });
  await app.register(async (scope) => userRoutes(scope, deps), { prefix: '/api/v1/users' });
  await app.register(async (scope) => roleRoutes(scope, deps), { prefix: '/api/v1/roles' });
  await app.register(async (scope) => roleGroupRoutes(scope, deps), { prefix: '/api/v1/role-groups' });
  await app.register(async (scope) => roleGroupMemberRoutes(scope, deps), { prefix: '/api/v1/role-groups' });
  await app.register(async (scope) => permissionRoutes(scope, deps), { prefix: '/api/v1/permissions' });
  await app.register(async (scope) => permissionGroupRoutes(scope, deps), {
    prefix: '/api/v1/permission-groups',
  });
  await app.register(async (scope) => dashboardRoutes(scope, deps), { prefix: '/api/v1/dashboard' });
  await app.register(async (scope) => auditRoutes(scope, deps), { prefix: '/api/v1/audit-logs' });
  await app.register(async (scope) => healthRoutes(scope, deps));
  await app.register(async (scope) => pageRoutes(scope, deps));
  return app;
}
