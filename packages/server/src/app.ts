// Assembles the HTTP service: what applies to every request, then one line per module.
import type { ErrorCode } from '@castellan/contract/errors';
import type { FastifyRequest } from 'fastify';
import type { Deps } from './deps.ts';
import { authzenRoutes, discoveryRoutes } from './modules/access/authzen-routes.ts';
import { explainRoutes } from './modules/access/explain-routes.ts';
import { holderRoutes } from './modules/access/holders-routes.ts';
import { accessChangeRoutes } from './modules/access-changes/routes.ts';
import { apiResourceRoutes } from './modules/api-resources/routes.ts';
import { grantRoutes } from './modules/application-grants/routes.ts';
import { applicationRoutes } from './modules/applications/routes.ts';
import { auditRoutes } from './modules/audit/routes.ts';
import { recordBounded } from './modules/audit/service.ts';
import { emailLinkRoutes, ownEmailRoutes } from './modules/auth/email-change/routes.ts';
import { recordUnreadableLogin } from './modules/auth/login.ts';
import { lifetimeMinutes } from './modules/auth/one-time-tokens.ts';
import { clearRefreshCookie } from './modules/auth/refresh-cookie.ts';
import { authRoutes } from './modules/auth/routes.ts';
import { proveInBrowser } from './modules/auth/second-factors/browser-proof.ts';
import { relatedOriginRoutes } from './modules/auth/second-factors/passkeys/routes.ts';
import { sessionRoutes } from './modules/auth/session-routes.ts';
import { addAccessFields } from './modules/authz/access-fields.ts';
import { callerOf } from './modules/authz/caller.ts';
import { presentsProgramCredential } from './modules/authz/guard/authentication.ts';
import { recordDenied, recordStepUpRequired } from './modules/authz/guard/denials.ts';
import { addGuard } from './modules/authz/guard/guard.ts';
import { createMissingPage } from './modules/console/missing.ts';
import { consoleRoutes } from './modules/console/routes.ts';
import { dashboardRoutes } from './modules/dashboard/routes.ts';
import { eventRoutes } from './modules/events/routes.ts';
import { sealingOf } from './modules/evidence/entry-seals.ts';
import { evidenceToExport } from './modules/evidence/lines.ts';
import { evidenceRoutes } from './modules/evidence/routes.ts';
import { feedRoutes } from './modules/feed/routes.ts';
import { forwardRoutes } from './modules/forward/routes.ts';
import { healthRoutes } from './modules/health/routes.ts';
import { providerRoutes } from './modules/identities/provider-routes.ts';
import { identityRoutes } from './modules/identities/routes.ts';
import { createUpstreamSignOut } from './modules/identities/upstream-sign-out.ts';
import { identityProviderRoutes } from './modules/identity-providers/routes.ts';
import { erasureRoute, leavingRoutes, undoDeletionRoute } from './modules/leaving/routes.ts';
import { oauthMetadataRoutes } from './modules/oauth/metadata-routes.ts';
import { oauthRoutes } from './modules/oauth/routes.ts';
import type { ProveAgain } from './modules/openid/authorize/interactions.ts';
import { authorizeRoutes, formPostRoute } from './modules/openid/authorize/routes.ts';
import { claimsPreviewRoutes } from './modules/openid/claims/preview-routes.ts';
import { createDevicePages } from './modules/openid/device/pages.ts';
import { deviceRoutes } from './modules/openid/device/routes.ts';
import { logoutNoticeRoutes } from './modules/openid/notices/routes.ts';
import { signOutRoutes } from './modules/openid/sign-out/routes.ts';
import { readSignOut } from './modules/openid/sign-out/service.ts';
import { permissionGroupRoutes } from './modules/permission-groups/routes.ts';
import { permissionAuthenticationRoutes } from './modules/permissions/authentication-routes.ts';
import { permissionRoutes } from './modules/permissions/routes.ts';
import { personalTokenRoutes } from './modules/personal-tokens/routes.ts';
import { providerSignInRoutes } from './modules/provider-sign-in/routes.ts';
import { requirementRoutes } from './modules/requirements/routes.ts';
import { roleGroupMemberRoutes } from './modules/role-groups/member-routes.ts';
import { roleGroupRoutes } from './modules/role-groups/routes.ts';
import { roleAuthenticationRoutes } from './modules/roles/authentication-routes.ts';
import { roleRoutes } from './modules/roles/routes.ts';
import { serviceAccountRoutes } from './modules/service-accounts/routes.ts';
import { settingRoutes } from './modules/settings/routes.ts';
import { userAttributeRoutes } from './modules/user-attributes/routes.ts';
import { userRoutes } from './modules/users/routes.ts';
import { userSessionRoutes } from './modules/users/sessions/session-routes.ts';
import { webhookRoutes } from './modules/webhooks/routes.ts';
import { AppError } from './platform/errors.ts';
import { hook } from './platform/http/hooks.ts';
import { addCookies } from './platform/http/plugins/cookies.ts';
import { addCors } from './platform/http/plugins/cors.ts';
import { addCsrfProtection } from './platform/http/plugins/csrf-protection.ts';
import { refuseUnknownDryRun } from './platform/http/plugins/dry-run.ts';
import { refuseEmptyParams } from './platform/http/plugins/empty-params.ts';
import { addIdempotency } from './platform/http/plugins/idempotency.ts';
import { addRateLimits } from './platform/http/plugins/rate-limits.ts';
import { addTurns } from './platform/http/plugins/turns.ts';
import { type App, createServer } from './platform/http/server/server.ts';
import { referenceProse } from './reference/prose.ts';
import { addReference } from './reference/routes.ts';
import { constraintCodes } from './schema/constraints.ts';

// Refusals that are recorded in the audit log: attempts to use permissions that the caller does not have.
const securityRefusals: ReadonlySet<ErrorCode> = new Set([
  'permission_denied',
  'privilege_escalation',
  'superuser_required',
  'system_role',
  'self_delete',
  'admin_required',
]);

const LOGIN_URL = '/api/v1/auth/login';

const routeOf = ({ method, routeOptions }: FastifyRequest) => ({ method, route: routeOptions.url });

/** Returns the service with all routes registered; it does not listen yet. */
export async function buildApp(deps: Deps): Promise<App> {
  const { settings, log } = deps;
  const proveAgain: ProveAgain = (client, about, body) => proveInBrowser(deps, client, about, body);
  const signOutUpstream = createUpstreamSignOut(deps);
  const pageDeps = { ...deps, resetLinkMinutes: lifetimeMinutes.reset_password };
  const app = createServer({
    log,
    publicUrl: settings.publicUrl,
    basePath: settings.basePath,
    trustedProxies: settings.trustedProxies,
    constraintCodes,
    ...(deps.tls ? { tls: deps.tls } : {}),
    isStopping: () => deps.readiness.stopping,
    answerMissing: createMissingPage(pageDeps),
    ...(deps.tracing ? { tracing: deps.tracing } : {}),
    ...(deps.tallies ? { onAnswered: deps.tallies.requests.add } : {}),
    onRefused: async ({ code, extras }, request) => {
      const { caller } = request;
      if (caller && code === 'step_up_required' && !request.routeOptions.config.isDecision)
        await recordStepUpRequired(deps, caller, { ...extras.members?.step_up, ...routeOf(request) });
      if (code === 'invalid_text' && request.routeOptions.url === LOGIN_URL)
        await recordUnreadableLogin(deps, request.client, request.body);
      if (caller && securityRefusals.has(code) && !request.routeOptions.config.isDecision)
        await recordDenied(deps, caller, {
          ...(code === 'permission_denied'
            ? { permission: extras.requiredPermission ?? caller.access }
            : { code }),
          ...routeOf(request),
        });
    },
  });

  addCors(app, { origins: settings.corsOrigins, headers: settings.corsHeaders });
  refuseEmptyParams(app);
  await addCookies(app);
  app.addHook(
    'onRequest',
    hook((request) => {
      // By the route, not the URL, which has many spellings. Includes the key set: caches would keep an empty one.
      if (!deps.readiness.ready && /^\/(api|\.well-known)\//.test(request.routeOptions.url ?? ''))
        throw new AppError('database_unavailable', { retryAfterSeconds: 2 });
    }),
  );
  addCsrfProtection(app, deps.csrf, {
    settings,
    isExempt: presentsProgramCredential,
    onRefused: (request) =>
      recordBounded(deps, request.client, {
        action: 'csrf_refused',
        actorId: null,
        details: { method: request.method, route: request.routeOptions.url },
      }),
  });
  addRateLimits(app, deps.limiter, (request) =>
    recordBounded(deps, request.client, {
      action: 'rate_limited',
      actorId: null,
      details: { limit: request.routeOptions.config.limit?.name },
    }),
  );
  addTurns(app, { ...deps.turns, keyOf: (request) => request.caller?.principal.id ?? null });
  addGuard(app, deps);
  refuseUnknownDryRun(app);
  addIdempotency(app, {
    pool: deps.pool,
    key: deps.idempotencyKey,
    principalIdOf: (request) => callerOf(request).principal.id,
  });
  addAccessFields(app);
  await addReference(app, {
    publicUrl: settings.publicUrl,
    cookiePrefix: settings.cookiePrefix,
    ...referenceProse,
  });

  await app.register(async (scope) => authRoutes(scope, { ...deps, signOutUpstream }), {
    prefix: '/api/v1/auth',
  });
  await app.register(async (scope) => sessionRoutes(scope, deps), { prefix: '/api/v1/auth' });
  await app.register(async (scope) => emailLinkRoutes(scope, deps), { prefix: '/api/v1/auth' });
  await app.register(async (scope) => providerSignInRoutes(scope, deps), { prefix: '/api/v1/auth' });
  await app.register(async (scope) => userRoutes(scope, deps), { prefix: '/api/v1/users' });
  await app.register(async (scope) => userAttributeRoutes(scope, deps), {
    prefix: '/api/v1/user-attributes',
  });
  await app.register(async (scope) => ownEmailRoutes(scope, deps), { prefix: '/api/v1/users' });
  await app.register(async (scope) => identityRoutes(scope, deps), { prefix: '/api/v1/users' });
  await app.register(async (scope) => personalTokenRoutes(scope, deps), { prefix: '/api/v1/users' });
  await app.register(async (scope) => leavingRoutes(scope, deps), { prefix: '/api/v1/users' });
  await app.register(async (scope) => erasureRoute(scope, deps), { prefix: '/api/v1/users' });
  await app.register(async (scope) => undoDeletionRoute(scope, deps), { prefix: '/api/v1/auth' });
  await app.register(async (scope) => providerRoutes(scope, deps), { prefix: '/api/v1/auth/providers' });
  await app.register(async (scope) => serviceAccountRoutes(scope, deps), {
    prefix: '/api/v1/service-accounts',
  });
  await app.register(async (scope) => applicationRoutes(scope, deps), { prefix: '/api/v1/applications' });
  await app.register(async (scope) => grantRoutes(scope, deps), { prefix: '/api/v1' });
  await app.register(async (scope) => apiResourceRoutes(scope, deps), { prefix: '/api/v1/api-resources' });
  await app.register(async (scope) => identityProviderRoutes(scope, deps), {
    prefix: '/api/v1/identity-providers',
  });
  await app.register(async (scope) => claimsPreviewRoutes(scope, deps), { prefix: '/api/v1/applications' });
  await app.register(async (scope) => logoutNoticeRoutes(scope, deps), { prefix: '/api/v1/applications' });
  await app.register(async (scope) => userSessionRoutes(scope, deps), { prefix: '/api/v1/sessions' });
  await app.register(async (scope) => roleRoutes(scope, deps), { prefix: '/api/v1/roles' });
  await app.register(async (scope) => roleAuthenticationRoutes(scope, deps), { prefix: '/api/v1/roles' });
  await app.register(async (scope) => roleGroupRoutes(scope, deps), { prefix: '/api/v1/role-groups' });
  await app.register(async (scope) => roleGroupMemberRoutes(scope, deps), { prefix: '/api/v1/role-groups' });
  await app.register(async (scope) => permissionRoutes(scope, deps), { prefix: '/api/v1/permissions' });
  await app.register(async (scope) => permissionAuthenticationRoutes(scope, deps), {
    prefix: '/api/v1/permissions',
  });
  await app.register(async (scope) => requirementRoutes(scope, deps), {
    prefix: '/api/v1/authentication',
  });
  await app.register(async (scope) => permissionGroupRoutes(scope, deps), {
    prefix: '/api/v1/permission-groups',
  });
  await app.register(async (scope) => holderRoutes(scope, deps), { prefix: '/api/v1' });
  await app.register(async (scope) => explainRoutes(scope, deps), { prefix: '/api/v1' });
  await app.register(async (scope) => authzenRoutes(scope, deps), { prefix: '/api/v1/access/v1' });
  await app.register(async (scope) => discoveryRoutes(scope, settings));
  await app.register(async (scope) => forwardRoutes(scope), { prefix: '/api/v1/access' });
  await app.register(async (scope) => accessChangeRoutes(scope, deps), { prefix: '/api/v1/access' });
  await app.register(async (scope) => feedRoutes(scope, deps), { prefix: '/api/v1/access' });
  await app.register(async (scope) => eventRoutes(scope), { prefix: '/api/v1/webhooks/events' });
  await app.register(async (scope) => dashboardRoutes(scope, deps), { prefix: '/api/v1/dashboard' });
  await app.register(
    async (scope) => {
      auditRoutes(scope, {
        ...deps,
        callerIdOf: (request) => callerOf(request).principal.id,
        sealingOf: (db, ids) => sealingOf(db, ids, deps.settings),
        evidenceToExport: (run) => evidenceToExport(deps.evidence, run),
      });
      evidenceRoutes(scope, deps);
    },
    { prefix: '/api/v1/audit-logs' },
  );
  await app.register(async (scope) => webhookRoutes(scope, deps), { prefix: '/api/v1/webhooks' });
  await app.register(async (scope) => settingRoutes(scope, deps), { prefix: '/api/v1/settings' });
  await app.register(async (scope) => oauthRoutes(scope, deps), { prefix: '/api/v1/oauth' });
  await app.register(
    async (scope) =>
      authorizeRoutes(scope, {
        ...deps,
        proveAgain,
        devicePages: createDevicePages({ ...deps, proveAgain }),
        readSignOut: (client, id) => readSignOut(deps, client, id),
        clearRefreshCookie: (reply) => clearRefreshCookie(reply, settings),
      }),
    { prefix: '/api/v1/oauth' },
  );
  await app.register(async (scope) => deviceRoutes(scope, deps), { prefix: '/api/v1/oauth' });
  await app.register(async (scope) => formPostRoute(scope));
  await app.register(async (scope) => signOutRoutes(scope, { ...deps, signOutUpstream }), {
    prefix: '/api/v1/oauth',
  });
  await app.register(async (scope) => oauthMetadataRoutes(scope, deps));
  await app.register(async (scope) => relatedOriginRoutes(scope, deps));
  await app.register(async (scope) => healthRoutes(scope, { ...deps, pool: deps.reservedPool }));
  await app.register(async (scope) => consoleRoutes(scope, pageDeps));
  return app;
}
