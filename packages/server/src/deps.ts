// The composition root: every long-lived part of the service, made once from the settings.
// It opens nothing by itself; startup.ts brings the database up and loads the keys.
import type { Pool } from 'pg';
import type { Database, Db } from './database.ts';
import { createMailComposer, enqueueAccountMail } from './modules/auth/mails.ts';
import type { AuthDeps } from './modules/auth/routes.ts';
import { createGraphSource } from './modules/authz/graph.ts';
import { createStrengthMeter } from './modules/passwords/strength.ts';
import { createKeyRing } from './modules/sessions/key-ring.ts';
import { createTokenLookup } from './modules/sessions/token-lookup.ts';
import { systemClock } from './platform/clock.ts';
import { createKysely } from './platform/db/pool.ts';
import { createRateLimiter } from './platform/limits/rate-limit.ts';
import type { Logger } from './platform/log.ts';
import { createOutboxWorker, type OutboxWorker } from './platform/mail/outbox.ts';
import type { MailTransport } from './platform/mail/transport.ts';
import { createCsrf } from './platform/security/csrf.ts';
import { createPasswordHasher } from './platform/security/password-hasher.ts';
import { deriveKey } from './platform/security/signing-keys.ts';
import type { Settings } from './settings.ts';

export type Deps = AuthDeps & {
  settings: Settings;
  pool: Pool;
  outbox: OutboxWorker;
  transport: MailTransport;
  /** For the keyed hashes of requests that carry an Idempotency-Key. */
  idempotencyKey: Buffer;
  /** Whether database, schema and keys are there; what is missing otherwise. */
  readiness: Readiness;
};

export type Readiness = { ready: boolean; reason: string };

export type Parts = {
  settings: Settings;
  pool: Pool;
  log: Logger;
  secretKey: Buffer;
  transport: MailTransport;
};

export function createDeps({ settings, pool, log, secretKey, transport }: Parts): Deps {
  const clock = systemClock;
  const db: Db = createKysely<Database>(pool);
  const outbox = createOutboxWorker({
    pool,
    transport,
    log,
    compose: createMailComposer({
      db,
      publicUrl: settings.publicUrl,
      lockoutMinutes: settings.lockoutMinutes,
    }),
  });
  return {
    settings,
    pool,
    db,
    log,
    clock,
    outbox,
    transport,
    keyRing: createKeyRing({ db, secretKey }),
    tokenLookup: createTokenLookup(pool),
    graphSource: createGraphSource(db),
    limiter: createRateLimiter({ pool }),
    hasher: createPasswordHasher(),
    strengthMeter: createStrengthMeter(),
    idempotencyKey: deriveKey(secretKey, 'idempotency'),
    csrf: createCsrf({ key: deriveKey(secretKey, 'csrf'), clock }),
    accountMail: { enqueue: enqueueAccountMail, wake: () => outbox.wake() },
    readiness: { ready: false, reason: 'starting' },
  };
}
