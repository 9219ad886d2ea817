// The composition root: creates every long-lived component of the service from the settings.
// It must not open connections: foundation.ts opens the database, and prepare-database.ts prepares it.
import { join } from 'node:path';
import type { Pool } from 'pg';
import type { Tallies } from './metrics/tallies.ts';
import {
  type ApiKeys,
  createApiKeys,
  createPersonalTokens,
  type PersonalTokens,
} from './modules/api-keys/service.ts';
import { type ApplicationClients, createApplicationClients } from './modules/applications/authentication.ts';
import { type AuditLog, createAuditLog } from './modules/audit/service.ts';
import { createSinkWorker, type SinkWorker } from './modules/audit/sink-worker.ts';
import { createSink } from './modules/audit/sinks/create-sink.ts';
import { countMail } from './modules/auth/abuse.ts';
import type { MailTemplates } from './modules/auth/mail-templates.ts';
import {
  type AccountMail,
  createMailComposer,
  enqueueAccountMail,
  enqueueInvitations,
} from './modules/auth/mails.ts';
import { createRecoveryLinks, type RecoveryLinks } from './modules/auth/second-factors/recovery-links.ts';
import { createGraphSource, type GraphSource } from './modules/authz/graph/graph.ts';
import { type AccessLimit, createAccessLimit } from './modules/authz/guard/access-limit.ts';
import { createUserLimit, type UserLimit } from './modules/authz/guard/user-limit.ts';
import { createSubjectSource, type SubjectSource } from './modules/authz/subjects.ts';
import { createKeptLists, type KeptLists } from './modules/authz/unchanged-lists.ts';
import type { Logo } from './modules/console/logo.ts';
import { createHeadsFile } from './modules/evidence/heads/file.ts';
import type { ProofDeps } from './modules/evidence/proofs.ts';
import { createSealer, type Sealer } from './modules/evidence/sealer.ts';
import {
  createFactorChecks,
  createTotpVault,
  type FactorChecks,
  type TotpVault,
} from './modules/factors/service.ts';
import { createFeed, type Feed } from './modules/feed/service.ts';
import type { ProviderAddresses } from './modules/identity-providers/upstream/asking.ts';
import { createUpstreams, type Upstreams } from './modules/identity-providers/upstream/upstreams.ts';
import { createProviderVault, type ProviderVault } from './modules/identity-providers/vault.ts';
import { createAttemptGate } from './modules/lockout/service.ts';
import { clientTokenRule } from './modules/oauth/token.ts';
import { type Authorizations, createAuthorizations } from './modules/openid/authorize/deps.ts';
import { createNoticeWorker } from './modules/openid/notices/worker.ts';
import { type ApplicationTokens, createApplicationTokens } from './modules/openid/tokens/service.ts';
import type { BreachFile } from './modules/passwords/breach-file.ts';
import { createStrengthMeter, type StrengthMeter } from './modules/passwords/strength.ts';
import { createAssertions, createKeySources } from './modules/proofs/service.ts';
import { createProviderCodes } from './modules/provider-sign-in/codes.ts';
import { createProviderSignIns, type ProviderSignIns } from './modules/provider-sign-in/deps.ts';
import { createRequiredProviders, type RequiredProviders } from './modules/required-providers/service.ts';
import { createKeyRing, type KeyRing } from './modules/sessions/keys/ring.ts';
import { refusalOf } from './modules/sessions/service.ts';
import { createTokenLookup, type TokenLookup } from './modules/sessions/token-lookup.ts';
import { queueEvent } from './modules/webhooks/further-events.ts';
import { enqueuePausedMails } from './modules/webhooks/paused-mails.ts';
import { createWebhookVault, type WebhookVault } from './modules/webhooks/vault.ts';
import { createWebhookWorker } from './modules/webhooks/worker.ts';
import { type Clock, systemClock } from './platform/clock.ts';
import { type AgedReads, createAgedReads, readsOnPrimary } from './platform/db/aged-reads.ts';
import { createKysely } from './platform/db/pool.ts';
import type { TargetWorker } from './platform/delivery/targets.ts';
import type { DeliveryWorker } from './platform/delivery/worker.ts';
import type { Exports } from './platform/http/answers/export.ts';
import type { Tls } from './platform/http/server/tls.ts';
import { createFairGate } from './platform/limits/fair-gate.ts';
import { createGate, type Gate } from './platform/limits/gate.ts';
import { createLocalLimit, type LocalLimit } from './platform/limits/local-limit.ts';
import { createRateLimiter, type RateLimiter, type RateLimitResult } from './platform/limits/rate-limit.ts';
import type { Logger } from './platform/logging/log.ts';
import { createOutboxWorker } from './platform/mail/outbox.ts';
import type { MailTransport } from './platform/mail/transport.ts';
import { type Csrf, createCsrf } from './platform/security/csrf.ts';
import {
  createPasskeyChallenges,
  type PasskeyChallenges,
} from './platform/security/factors/passkey-challenge.ts';
import { type PasskeySite, passkeySiteOf } from './platform/security/factors/passkey-site.ts';
import type { PasswordHasher } from './platform/security/password-hasher.ts';
import { deriveKey } from './platform/security/sealing.ts';
import type { Tracing } from './platform/tracing/tracing.ts';
import type { Db } from './schema/database.ts';
import type { Tables } from './schema/tables.ts';
import type { Settings } from './settings.ts';
import { traceHashes, traceMails } from './traced.ts';

/**
 * Every long-lived component of an instance. A module declares the few that it uses as its own type (`UserDeps`,
 * `SessionDeps`, …), and is given this whole object.
 */
export type Deps = {
  settings: Settings;
  log: Logger;
  clock: Clock;
  readiness: Readiness;

  /** Connections for requests and jobs. */
  pool: Pool;
  /** Kysely on `pool`. */
  db: Db;
  /** Reads that may be some seconds old. Never for decisions, sessions and tokens, nor for what a change is based on. */
  agedReads: AgedReads<Db>;
  /** For what every request needs: token lookups, the graph, keys. Work that may wait for a lock must not use it. */
  reservedPool: Pool;
  /** Kysely on `reservedPool`. */
  reservedDb: Db;

  /** Made once, because it counts repeated events and queues entries. */
  auditLog: AuditLog;

  /** The signing keys, as last read. */
  keyRing: KeyRing;
  /** Which provider people must sign in by, as last read. */
  requiredProviders: RequiredProviders;
  tokenLookup: TokenLookup;
  /** Finds service accounts by API key or by access token. */
  apiKeys: ApiKeys;
  /** Finds people by personal access token. */
  personalTokens: PersonalTokens;
  /** Authenticates applications. */
  applicationClients: ApplicationClients;
  /** The limit and the counts of authorization requests. */
  authorizations: Authorizations;
  /** The tokens of applications: lookup, keys, limits and counts. */
  applicationTokens: ApplicationTokens;
  /** The compiled role → permission graph. */
  graphSource: GraphSource;
  /** Loads the subjects of decisions. */
  subjectSource: SubjectSource;
  /** Tells services what has changed. Null if FEED is off. */
  feed: Feed | null;
  /** Lists of roles and permissions under their ETags. */
  keptLists: KeptLists;
  csrf: Csrf;
  /** Key of the hashes of requests with an Idempotency-Key. */
  idempotencyKey: Buffer;
  /** Key of the authentication codes in page tokens of searches. */
  searchTokenKey: Buffer;

  /** Limits that all instances count together. */
  limiter: RateLimiter;
  /** Limits each user's requests, counted in this process. Null when it is off. */
  userLimit: UserLimit | null;
  /** Limits each caller's decisions, searches and introspections, counted in this process. Null when it is off. */
  accessLimit: AccessLimit | null;
  /** Limits the concurrent requests of one user: reads and changes separately. */
  turns: { changes: Gate; reads: Gate };
  /** Limits the exports that run at once: of one user, and in this process. */
  exports: Exports;
  /** The same for exports of one's own data. Anybody who reads theirs slowly must not keep administrators waiting. */
  ownExports: Exports;
  /** Limits the previews whose impact is computed at once, in this process. */
  previewGate: Gate;
  /** Limits concurrent attempts on one email, resets of one user's password, and uses of one link. */
  attemptGate: Gate;
  /** Limits concurrent exchanges of the refresh token of one session, or of one grant of an application. */
  exchangeGate: Gate;
  /** Limits access tokens of one service account: how many a minute, in this process, and how many at once. */
  clientTokens: { limit: LocalLimit; gate: Gate };

  hasher: PasswordHasher;
  strengthMeter: StrengthMeter;
  /** Null if PASSWORD_BREACH_FILE is not set. */
  breachFile: BreachFile | null;

  /** Null: the service speaks HTTP. */
  tls: Tls | null;

  /** Seals and opens the secrets of authenticator apps. */
  totpVault: TotpVault;
  providerVault: ProviderVault;
  /** Sealed state and counts of sign-ins by identity providers. */
  providerSignIns: ProviderSignIns;
  /** What this process knows of the identity providers. */
  upstreams: Upstreams;
  /** Where passkeys work. */
  passkeySite: PasskeySite;
  passkeyChallenges: PasskeyChallenges;

  /** Counts the checks of second factors in this process. */
  factorChecks: FactorChecks;

  /** Issues the links that administrators hand over after a reset of factors. */
  recoveryLinks: RecoveryLinks;

  accountMail: AccountMail & {
    /** Counts one mail to this email. Null if the limit is off. */
    count(email: string, purpose: 'verification' | 'invitation'): Promise<RateLimitResult | null>;
  };
  outbox: DeliveryWorker;
  transport: MailTransport;

  /** Tells applications that sessions have ended. */
  noticeWorker: DeliveryWorker;

  /** Tells webhooks what the audit log records. */
  webhookWorker: TargetWorker;
  /** Seals and opens the secrets that sign events. */
  webhookVault: WebhookVault;

  /** Null unless OTEL_EXPORTER_OTLP_ENDPOINT is set. */
  tracing: Tracing | null;
  /** What is counted for /metrics. Null if METRICS_ADDRESS is not set. */
  tallies: Tallies | null;

  /** Sends audit entries to AUDIT_SINK. Null if it is not set. */
  sinkWorker: SinkWorker | null;

  /** Seals the audit log. */
  sealer: Sealer;
  /** What reads its evidence needs. */
  evidence: ProofDeps;

  /** The operator's logo, checked. Undefined if LOGO_FILE is not set. */
  logo: Logo | undefined;
};

type Readiness = {
  /** Whether database, schema and keys are in place. */
  ready: boolean;
  /** Why `ready` is false. */
  reason: string;
  /** Set when the instance begins to stop: it still answers, while the failing probe moves traffic elsewhere. */
  stopping: boolean;
};

export type Parts = {
  settings: Settings;
  pool: Pool;
  reservedPool: Pool;
  /** Connections to a standby. */
  replicaPool?: Pool;
  log: Logger;
  secretKey: Buffer;
  transport: MailTransport;
  hasher: PasswordHasher;
  /** Default: a new one. */
  strengthMeter?: StrengthMeter;
  providerAddresses?: ProviderAddresses;
  mailTemplates: MailTemplates;
  logo: Logo | undefined;
  breachFile: BreachFile | null;
  tls: Tls | null;
  tallies: Tallies | null;
  tracing: Tracing | null;
};

// Changes of one user wait for each other at row locks, each on a connection. The limit leaves most connections to
// others.
const CHANGES_RUNNING = 4;
const CHANGES_WAITING = 64;
// Reads take no locks. A page that loads everything at once sends some dozens.
const READS_RUNNING = 8;
const READS_WAITING = 256;
// Exchanges of refresh tokens lock the row of their session, so only one runs.
const EXCHANGES_WAITING = 64;

/** Creates the components. Opens no connection. */
// An export reads and writes for as long as its reader takes.
const EXPORTS_OF_USER = 2;
const EXPORTS_OF_ALL = 4;
const EXPORTS_WAITING = 64;
// Readers on slow connections still take a batch of some hundred kilobytes in that time.
const EXPORT_STALL_MS = 30_000;

// With 100,000 holders, one keeps a connection and a core of the database busy for about a second.
const PREVIEWS_RUNNING = 2;
const PREVIEWS_WAITING = 64;

export function createDeps(parts: Parts): Deps {
  const { settings, pool, reservedPool, log, secretKey, transport, mailTemplates, hasher, tracing } = parts;
  const clock = systemClock;
  const db: Db = createKysely<Tables>(pool);
  const reservedDb: Db = createKysely<Tables>(reservedPool);
  const limiter = createRateLimiter({ pool });
  const graphSource = createGraphSource(reservedDb);
  const auditLog = createAuditLog(db, log, limiter);
  const providerSignIns = createProviderSignIns(secretKey);
  const outbox = createOutboxWorker({
    pool,
    transport: tracing ? traceMails(transport, tracing) : transport,
    log,
    compose: createMailComposer({
      db,
      limiter,
      settings,
      mailTemplates,
      providerCodes: createProviderCodes(db, providerSignIns),
    }),
  });
  const sink = settings.auditSink && createSink(settings.auditSink, settings.auditSinkSecret, log);
  const sinkWorker = sink ? createSinkWorker({ db, log, sink }) : null;
  const sessionDeps = {
    settings,
    db,
    log,
    clock,
    keyRing: createKeyRing({ db: reservedDb, secretKey }),
    requiredProviders: createRequiredProviders({ db: reservedDb, settings }),
    tokenLookup: createTokenLookup(reservedPool),
    limiter,
    auditLog,
  };
  const apiKeys = createApiKeys({ reservedPool, pool, log, auditLog });
  // Leaves at least one connection to other users, if there is more than one.
  const share = Math.max(1, pool.options.max - 1);
  const providerVault = createProviderVault(secretKey);
  const webhookVault = createWebhookVault(secretKey);
  return {
    ...sessionDeps,
    pool,
    agedReads:
      parts.replicaPool === undefined
        ? readsOnPrimary(db)
        : createAgedReads({
            primary: { pool, db },
            replica: { pool: parts.replicaPool, db: createKysely<Tables>(parts.replicaPool) },
            maxAgeSeconds: settings.databaseReplicaMaxAgeSeconds,
            log,
          }),
    reservedPool,
    reservedDb,
    tallies: parts.tallies,
    tracing,
    outbox,
    transport,
    noticeWorker: createNoticeWorker(sessionDeps),
    webhookVault,
    webhookWorker: createWebhookWorker({
      db,
      log,
      auditLog,
      settings,
      webhookVault,
      notify: (tx, webhook) => enqueuePausedMails(tx, enqueueAccountMail, webhook),
      wakeMails: () => outbox.wake(),
    }),
    logo: parts.logo,
    evidence: { db, secretKey },
    sealer: createSealer({
      db,
      log,
      auditLog,
      secretKey,
      settings,
      headsFile: createHeadsFile(settings.auditHeadsFile ?? join(settings.dataDir, 'audit-heads.txt')),
      tellSink: (head) => sinkWorker?.tellHead(head),
      tell: (head) =>
        queueEvent(db, {
          type: 'audit_log_sealed',
          resourceType: 'audit_log',
          resourceId: head.origin.slice(head.origin.lastIndexOf('/') + 1),
          details: head,
        }),
    }),
    sinkWorker,
    apiKeys,
    feed: settings.feed
      ? createFeed({
          db,
          auditLog,
          reservedPool,
          log,
          apiKeys,
          graphSource,
          refusalOf: (token) => refusalOf(sessionDeps, token),
          settings,
        })
      : null,
    personalTokens: createPersonalTokens({ reservedPool, pool, log, auditLog, settings }),
    applicationClients: createApplicationClients({
      reservedPool,
      pool,
      log,
      auditLog,
      assertions: createAssertions({ db, settings, keySources: createKeySources({ log, settings }) }),
    }),
    authorizations: createAuthorizations(settings),
    applicationTokens: createApplicationTokens({ reservedPool, secretKey, share, settings }),
    graphSource,
    subjectSource: createSubjectSource({ reservedPool, pool, graphSource }),
    keptLists: createKeptLists(),
    turns: {
      changes: createGate({ running: Math.min(CHANGES_RUNNING, share), waiting: CHANGES_WAITING }),
      reads: createGate({ running: Math.min(READS_RUNNING, share), waiting: READS_WAITING }),
    },
    userLimit: createUserLimit(sessionDeps, settings.rateLimitUser),
    accessLimit: createAccessLimit({ auditLog }, settings.rateLimitAccess),
    exports: {
      gate: createFairGate({
        running: EXPORTS_OF_ALL,
        runningOfKey: EXPORTS_OF_USER,
        waiting: EXPORTS_WAITING,
      }),
      maxStallMs: EXPORT_STALL_MS,
    },
    ownExports: {
      gate: createFairGate({ running: EXPORTS_OF_ALL, runningOfKey: 1, waiting: EXPORTS_WAITING }),
      maxStallMs: EXPORT_STALL_MS,
    },
    previewGate: createGate({ running: PREVIEWS_RUNNING, waiting: PREVIEWS_WAITING }),
    attemptGate: createAttemptGate(settings),
    exchangeGate: createGate({ running: 1, waiting: EXCHANGES_WAITING }),
    clientTokens: {
      limit: createLocalLimit(clientTokenRule),
      gate: createGate({ running: Math.min(CHANGES_RUNNING, share), waiting: clientTokenRule.limit }),
    },
    hasher: tracing ? traceHashes(hasher, tracing) : hasher,
    strengthMeter: parts.strengthMeter ?? createStrengthMeter(),
    breachFile: parts.breachFile,
    tls: parts.tls,
    idempotencyKey: deriveKey(secretKey, 'idempotency'),
    searchTokenKey: deriveKey(secretKey, 'search-token'),
    totpVault: createTotpVault(secretKey),
    providerVault,
    providerSignIns,
    upstreams: createUpstreams({
      settings,
      clock,
      log,
      openSecret: providerVault.openSecret,
      ...(parts.providerAddresses === undefined ? {} : { addresses: parts.providerAddresses }),
    }),
    passkeySite: passkeySiteOf(settings),
    passkeyChallenges: createPasskeyChallenges({ key: deriveKey(secretKey, 'passkey challenge'), clock }),
    factorChecks: createFactorChecks(),
    recoveryLinks: createRecoveryLinks(settings),
    csrf: createCsrf({ key: deriveKey(secretKey, 'csrf'), clock }),
    accountMail: {
      enqueue: enqueueAccountMail,
      enqueueInvitations,
      wake: () => outbox.wake(),
      count: (email, purpose) => countMail({ limiter, settings }, purpose, email),
    },
    readiness: { ready: false, reason: 'starting', stopping: false },
  };
}
