// Idempotency-Key: a retry of a creating request gets the first response instead of a second record. The response is
// stored in the transaction that creates the record, so that a crash cannot separate the two.
// It must not store the request, only a keyed hash of it: bodies may contain passwords.
import { createHmac, createSecretKey } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type QueryExecutorProvider, sql } from 'kysely';
import type { Pool } from 'pg';
import { AppError } from '../../errors.ts';
import { hook } from '../hooks.ts';
import { etagOf, sendEtag } from '../record-version.ts';
import type { App } from '../server/server.ts';
import { isDryRun } from './dry-run.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route creates a record and honours Idempotency-Key. */
    idempotent?: boolean;
  }
  interface FastifyRequest {
    /** The key that this request holds. `takenAt` distinguishes it from a later request that takes over the key. */
    idempotency: { principalId: string; key: string; takenAt: string } | null;
  }
}

type IdempotencyDeps = {
  pool: Pool;
  /** Key of the hash of requests. */
  key: Buffer;
  /** Returns the id of the caller. Each caller has their own keys; the column `user_id` holds ids of service accounts too. */
  principalIdOf: (request: FastifyRequest) => string;
};

// Longer than any request takes. The key of a process that died is free again after it.
const LEASE_SECONDS = 120;
/** How long a response is kept for replays. */
const IDEMPOTENCY_KEEP_HOURS = 24;

const take = {
  name: 'idempotency-take',
  text: `insert into idempotency_keys as k (user_id, key, request_hash) values ($1, $2, $3)
    on conflict (user_id, key) do update set request_hash = $3, created_at = now(), status = null, etag = null, body = null
      where (k.status is null and k.created_at < now() - make_interval(secs => ${LEASE_SECONDS}))
         or k.created_at < now() - make_interval(hours => ${IDEMPOTENCY_KEEP_HOURS})
    returning created_at::text as taken_at`,
};
const find = {
  name: 'idempotency-find',
  text: 'select request_hash, status, etag, body from idempotency_keys where user_id = $1 and key = $2',
};
const release = {
  name: 'idempotency-release',
  text: `delete from idempotency_keys
    where user_id = $1 and key = $2 and created_at = $3::timestamptz and status is null`,
};

type Kept = { request_hash: Buffer; status: number | null; etag: string | null; body: string | null };

/** Adds the hooks that take, replay and release keys. */
export function addIdempotency(app: App, deps: IdempotencyDeps): void {
  const hashKey = createSecretKey(deps.key);
  const hashOf = (request: FastifyRequest): Buffer =>
    createHmac('sha256', hashKey)
      .update(JSON.stringify([request.method, request.routeOptions.url, request.params, request.body]))
      .digest();

  app.decorateRequest('idempotency', null);

  const takeOrReplay = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const key = request.headers['idempotency-key'];
    if (typeof key !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(key))
      throw new AppError('malformed_request', {
        detail: 'Idempotency-Key must be 1 to 255 visible ASCII characters.',
      });
    const principalId = deps.principalIdOf(request);
    const hash = hashOf(request);
    const { rows } = await deps.pool.query<{ taken_at: string }>({
      ...take,
      values: [principalId, key, hash],
    });
    if (rows[0]) {
      request.idempotency = { principalId, key, takenAt: rows[0].taken_at };
      return undefined;
    }
    const kept = (await deps.pool.query<Kept>({ ...find, values: [principalId, key] })).rows[0];
    if (kept && !kept.request_hash.equals(hash)) throw new AppError('idempotency_key_reused');
    if (!kept || kept.status === null)
      throw new AppError('idempotency_in_progress', { retryAfterSeconds: 1 });
    if (kept.etag !== null) reply.header('etag', kept.etag);
    reply.header('idempotency-replayed', 'true').code(kept.status).type('application/json; charset=utf-8');
    return reply.serializer(String).send(kept.body ?? '');
  };
  app.addHook(
    'preHandler',
    hook((request, reply) => {
      const isCreation = request.routeOptions.config.idempotent === true;
      // A preview creates nothing.
      if (!isCreation || request.headers['idempotency-key'] === undefined || isDryRun(request))
        return undefined;
      return takeOrReplay(request, reply);
    }),
  );

  // A refused request created nothing, so the key is released: a retry may succeed. A stored response stays, even if
  // something failed after the commit.
  const releaseKey = async (request: FastifyRequest): Promise<void> => {
    if (!request.idempotency) return;
    const { principalId, key, takenAt } = request.idempotency;
    try {
      await deps.pool.query({ ...release, values: [principalId, key, takenAt] });
    } catch (error) {
      request.log.error({ err: error }, 'an Idempotency-Key could not be released');
    }
  };
  app.addHook('onSend', (request, reply, payload, done) => {
    // Fastify waits for a promise, or for `done`.
    if (request.idempotency && reply.statusCode >= 400) return releaseKey(request).then(() => payload);
    done(null, payload);
    return undefined;
  });
}

/** Stores the response for the result, as the last statement of the transaction. Returns the result. */
export type Settle<R> = (tx: QueryExecutorProvider, result: R) => Promise<R>;

/**
 * Returns the two steps of a creating request. Pass `settle` to the service that creates the record, and send what
 * `answer` makes of its result (201). Every route with `idempotent` needs both: if the response is not stored, another
 * request can take over the key after the lease.
 */
export function creation<R, B extends Record<string, unknown>>(
  request: FastifyRequest,
  reply: FastifyReply,
  bodyOf: (result: R) => B,
  versionOf: (result: R) => number | null,
): { settle: Settle<R>; answer: (result: R) => B } {
  return {
    async settle(tx, result) {
      if (!request.idempotency) return result;
      const { principalId, key, takenAt } = request.idempotency;
      const body = bodyOf(result);
      const version = versionOf(result);
      // Exactly what will be sent: the serializer of the route omits undeclared fields.
      const text = reply.getSerializationFunction('201')?.(body) ?? JSON.stringify(body);
      const settled = await sql`
        update idempotency_keys
        set status = 201, etag = ${version === null ? null : etagOf(version)}, body = ${text}
        where user_id = ${principalId} and key = ${key} and created_at = ${takenAt}::timestamptz and status is null`.execute(
        tx,
      );
      // This request outlasted its lease and another one took over the key: that one creates the record.
      if (settled.numAffectedRows !== 1n)
        throw new AppError('idempotency_in_progress', { retryAfterSeconds: 1 });
      return result;
    },
    answer(result) {
      const version = versionOf(result);
      if (version !== null) sendEtag(reply, version);
      reply.code(201);
      return bodyOf(result);
    },
  };
}

/**
 * As `creation`, for a record whose secret is shown once: `bare` returns the result without it, which is what is stored, so
 * that a replay cannot show it.
 */
export function creationOfSecret<R, B extends Record<string, unknown>>(
  request: FastifyRequest,
  reply: FastifyReply,
  {
    bodyOf,
    versionOf = () => null,
    bare,
  }: { bodyOf: (result: R) => B; versionOf?: (result: R) => number | null; bare: (result: R) => R },
): { settle: Settle<R>; answer: (result: R) => B } {
  const { settle, answer } = creation(request, reply, bodyOf, versionOf);
  return {
    async settle(tx, result) {
      await settle(tx, bare(result));
      return result;
    },
    answer,
  };
}

/** Deletes responses that are kept no longer, `batch` rows per statement. Returns how many. */
export async function deleteOldIdempotencyKeys(pool: Pool, batch = 1_000): Promise<number> {
  let total = 0;
  for (let deleted = batch; deleted === batch; total += deleted) {
    const result = await pool.query({
      name: 'idempotency-delete-old',
      text: `delete from idempotency_keys where ctid = any(array(
        select ctid from idempotency_keys
        where created_at < now() - make_interval(hours => ${IDEMPOTENCY_KEEP_HOURS})
        order by created_at limit $1 for update skip locked))`,
      values: [batch],
    });
    deleted = result.rowCount ?? 0;
  }
  return total;
}
