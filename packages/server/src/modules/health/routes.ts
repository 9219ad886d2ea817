// HTTP of the health probes, and of the public keys for services that verify tokens.
import { setTimeout as wait } from 'node:timers/promises';
import { JsonWebKeySet, Live, Ready } from '@castellan/contract/health';
import type { Pool } from 'pg';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/server/server.ts';
import {
  APPLICATION_KEY_SET_MAX_AGE_SECONDS,
  KEY_SET_MAX_AGE_SECONDS,
  type KeyRing,
} from '../sessions/keys/ring.ts';

type HealthDeps = {
  pool: Pool;
  keyRing: KeyRing;
  readiness: { ready: boolean; reason: string; stopping: boolean };
};

export function healthRoutes(app: App, deps: HealthDeps): void {
  const askDatabase = sharedProbe(deps.pool);

  app.route({
    method: 'GET',
    url: '/health/live',
    config: { access: 'public' },
    schema: { summary: 'Check that the process runs', response: { 200: Live } },
    handler: async () => ({ status: 'live' as const }),
  });

  app.route({
    method: 'GET',
    url: '/health/ready',
    config: { access: 'public' },
    schema: {
      summary:
        'Check that the service is ready: database reachable, schema and keys in place, not shutting down',
      response: { 200: Ready, 503: Ready },
    },
    handler: async (_request, reply) => {
      const reason = await unreadiness(deps, askDatabase);
      if (reason === null) return { status: 'ready' as const };
      reply.code(503).header('retry-after', '2');
      return { status: 'not_ready' as const, reason };
    },
  });

  // HAProxy's `option httpchk` without arguments sends `OPTIONS / HTTP/1.0`, without Host.
  app.route({
    method: 'OPTIONS',
    url: '/',
    config: { access: 'public' },
    schema: { hide: true },
    handler: async (request, reply) => {
      // The router reads the asterisk, which names the server, as this path.
      if (request.url === '*') throw new AppError('route_not_found');
      return reply.code(204).header('allow', 'GET, HEAD, OPTIONS').send();
    },
  });

  app.route({
    method: 'GET',
    url: '/.well-known/jwks.json',
    config: { access: 'public' },
    schema: { summary: 'Read the public signing keys', response: { 200: JsonWebKeySet } },
    handler: async (_request, reply) => {
      reply.header('cache-control', `public, max-age=${KEY_SET_MAX_AGE_SECONDS}`);
      return { keys: [...deps.keyRing.publicJwks()] };
    },
  });

  app.route({
    method: 'GET',
    url: '/api/v1/oauth/jwks.json',
    config: { access: 'public' },
    schema: {
      tags: ['OAuth'],
      summary: 'Read the public keys for applications',
      description:
        'RSA and P-256 keys only, for client libraries that know no others. Empty until the first application is created.',
      response: { 200: JsonWebKeySet },
    },
    handler: async (_request, reply) => {
      const keys = [...deps.keyRing.publicJwks('application')];
      // An empty set is not cached: the first application may be created in a moment.
      if (keys.length > 0)
        reply.header('cache-control', `public, max-age=${APPLICATION_KEY_SET_MAX_AGE_SECONDS}`);
      return { keys };
    },
  });
}

// No key can be decrypted if the keys were reset under another SECRET_KEY than this instance has.
const keyFault = (keyRing: KeyRing): string | null =>
  keyRing.publicKeys().size > 0 ? null : 'no signing key can be opened';

// A server that does not answer, or a pool without a free connection, must not delay a probe for longer than
// supervisors wait: 2 s.
const PROBE_MS = 2_000;
const probe = { text: 'select 1', query_timeout: PROBE_MS };

async function unreadiness(
  { readiness, keyRing }: HealthDeps,
  askDatabase: () => Promise<string | null>,
): Promise<string | null> {
  if (readiness.stopping) return 'stopping';
  if (!readiness.ready) return readiness.reason;
  return (await askDatabase()) ?? keyFault(keyRing);
}

/** Returns a probe that parallel callers share: at most one statement runs at a time. */
function sharedProbe(pool: Pool): () => Promise<string | null> {
  let underWay: Promise<string | null> | undefined;
  return () => {
    underWay ??= databaseFault(pool).finally(() => {
      underWay = undefined;
    });
    return underWay;
  };
}

async function databaseFault(pool: Pool): Promise<string | null> {
  const bound = new AbortController();
  const late = wait(PROBE_MS, 'database unreachable', { signal: bound.signal }).catch(() => null);
  const asked = pool.query(probe).then(
    () => null,
    () => 'database unreachable',
  );
  const fault = await Promise.race([asked, late]);
  bound.abort();
  return fault;
}
