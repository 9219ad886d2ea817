// Idempotency-Key on creating requests: a retry gets the first answer instead of a second record.
// It must not store what was sent: only a keyed hash of it, because bodies may hold passwords.
import { createHmac, createSecretKey } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { Pool } from 'pg';
import { AppError } from '../errors.ts';
import type { App } from './server.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A creating request that honours Idempotency-Key. */
    idempotent?: boolean;
  }
  interface FastifyRequest {
    idempotency: { userId: string; key: string } | null;
  }
}

type IdempotencyDeps = {
  pool: Pool;
  /** For the hash of requests. */
  key: Buffer;
  /** Keys are a caller's own. */
  userIdOf: (request: FastifyRequest) => string;
};

// What a request may take at most, with room: a key whose process died is free again after it.
const LEASE_SECONDS = 120;
/** How long an answer is kept for replays. */
export const IDEMPOTENCY_KEEP_HOURS = 24;

const take = {
  name: 'idempotency-take',
  text: `insert into idempotency_keys as k (user_id, key, request_hash) values ($1, $2, $3)
    on conflict (user_id, key) do update set request_hash = $3, created_at = now(), status = null, etag = null, body = null
      where (k.status is null and k.created_at < now() - make_interval(secs => ${LEASE_SECONDS}))
         or k.created_at < now() - make_interval(hours => ${IDEMPOTENCY_KEEP_HOURS})`,
};
const find = {
  name: 'idempotency-find',
  text: 'select request_hash, status, etag, body from idempotency_keys where user_id = $1 and key = $2',
};
const settle = {
  name: 'idempotency-settle',
  text: `update idempotency_keys set status = $3, etag = $4, body = $5
    where user_id = $1 and key = $2 and status is null`,
};
const release = {
  name: 'idempotency-release',
  text: 'delete from idempotency_keys where user_id = $1 and key = $2 and status is null',
};

type Kept = { request_hash: Buffer; status: number | null; etag: string | null; body: string | null };

export function addIdempotency(app: App, deps: IdempotencyDeps): void {
  const hashKey = createSecretKey(deps.key);
  const hashOf = (request: FastifyRequest): Buffer =>
    createHmac('sha256', hashKey)
      .update(JSON.stringify([request.method, request.routeOptions.url, request.params, request.body]))
      .digest();

  app.decorateRequest('idempotency', null);

  app.addHook('preHandler', async (request, reply) => {
    if (request.routeOptions.config.idempotent !== true) return;
    const key = request.headers['idempotency-key'];
    if (key === undefined) return;
    if (typeof key !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(key))
      throw new AppError('malformed_request', {
        detail: 'Idempotency-Key must be 1 to 255 visible ASCII characters.',
      });
    const userId = deps.userIdOf(request);
    const hash = hashOf(request);
    const taken = await deps.pool.query({ ...take, values: [userId, key, hash] });
    if (taken.rowCount === 1) {
      request.idempotency = { userId, key };
      return;
    }
    const kept = (await deps.pool.query<Kept>({ ...find, values: [userId, key] })).rows[0];
    if (kept && !kept.request_hash.equals(hash)) throw new AppError('idempotency_key_reused');
    if (!kept || kept.status === null)
      throw new AppError('idempotency_in_progress', { retryAfterSeconds: 1 });
    if (kept.etag !== null) reply.header('etag', kept.etag);
    reply.header('idempotency-replayed', 'true').code(kept.status).type('application/json; charset=utf-8');
    return reply.serializer((text) => text as string).send(kept.body ?? '');
  });

  app.addHook('onSend', async (request, reply, payload) => {
    if (!request.idempotency) return;
    const { userId, key } = request.idempotency;
    try {
      // A refusal made nothing: the retry may succeed, and its request id is its own.
      if (reply.statusCode >= 400) await deps.pool.query({ ...release, values: [userId, key] });
      else
        await deps.pool.query({
          ...settle,
          values: [
            userId,
            key,
            reply.statusCode,
            reply.getHeader('etag') ?? null,
            typeof payload === 'string' ? payload : null,
          ],
        });
    } catch (error) {
      request.log.error({ err: error }, 'the answer to an Idempotency-Key could not be kept');
    }
  });
}

/** Kept answers past their time, in one statement of `batch` rows after another. Answers how many went. */
export async function deleteOldIdempotencyKeys(pool: Pool, batch = 1_000): Promise<number> {
  let total = 0;
  for (let deleted = batch; deleted === batch; total += deleted) {
    const result = await pool.query({
      name: 'idempotency-delete-old',
      text: `delete from idempotency_keys where (user_id, key) in (
        select user_id, key from idempotency_keys
        where created_at < now() - make_interval(hours => ${IDEMPOTENCY_KEEP_HOURS}) limit $1 for update skip locked)`,
      values: [batch],
    });
    deleted = result.rowCount ?? 0;
  }
  return total;
}
