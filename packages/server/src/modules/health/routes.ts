// Probes for whoever supervises the process, and the public keys for whoever checks tokens.
import { setTimeout as wait } from 'node:timers/promises';
import { JsonWebKeySet, Live, Ready } from '@castellan/contract/health';
import type { Pool } from 'pg';
import type { App } from '../../platform/http/server.ts';
import { KEY_SET_MAX_AGE_SECONDS, type KeyRing } from '../sessions/key-ring.ts';

type HealthDeps = { pool: Pool; keyRing: KeyRing; readiness: { ready: boolean; reason: string } };

export function healthRoutes(app: App, deps: HealthDeps): void {
  app.route({
    method: 'GET',
    url: '/health/live',
    config: { access: 'public' },
    schema: { summary: 'The process runs', response: { 200: Live } },
    handler: async () => ({ status: 'live' as const }),
  });

  app.route({
    method: 'GET',
    url: '/health/ready',
    config: { access: 'public' },
    schema: {
      summary: 'The service can answer: database reached, schema and keys in place',
      response: { 200: Ready, 503: Ready },
    },
    handler: async (_request, reply) => {
      const reason = deps.readiness.ready ? await databaseFault(deps.pool) : deps.readiness.reason;
      if (reason === null) return { status: 'ready' as const };
      reply.code(503).header('retry-after', '2');
      return { status: 'not_ready' as const, reason };
    },
  });

  app.route({
    method: 'GET',
    url: '/.well-known/jwks.json',
    config: { access: 'public' },
    schema: { summary: 'Public keys of the tokens', response: { 200: JsonWebKeySet } },
    handler: async (_request, reply) => {
      reply.header('cache-control', `public, max-age=${KEY_SET_MAX_AGE_SECONDS}`);
      return { keys: [...deps.keyRing.publicJwks()] };
    },
  });
}

// A server that went silent, or a pool whose connections are all held, must not hold a probe longer than supervisors
// wait for one: 2 s.
const PROBE_MS = 2_000;
const probe = { text: 'select 1', query_timeout: PROBE_MS };

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
