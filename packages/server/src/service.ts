// The life cycle of one instance: start, recover, stop. main.ts, the CLI and the tests start it in the same way.
// It must not read the environment or end the process.
import { type AddressInfo, createServer, type Server } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { buildApp } from './app.ts';
import {
  cleanUp,
  endLostAccessOfAll,
  removeSessionRows,
  renewPositions,
  sessionRowsMinutes,
} from './cleanup.ts';
import type { Deps } from './deps.ts';
import { startMetrics } from './metrics/start.ts';
import { isAssignableRole } from './modules/assignments/unattended.ts';
import { otherPasskeyDomains } from './modules/factors/passkeys/domains.ts';
import { countFactorUsers } from './modules/factors/user-count-store.ts';
import { keepUp } from './modules/feed/store.ts';
import { KEY_RELOAD_SECONDS } from './modules/sessions/keys/ring.ts';
import { countLiveSessions } from './modules/sessions/live-count-store.ts';
import { isDatabaseUnavailable } from './platform/db/failures.ts';
import { repeatRead } from './platform/jobs/repeated-read.ts';
import { createScheduler, type Scheduler } from './platform/jobs/scheduler.ts';
import { errorCode } from './platform/unknown-values.ts';
import type { Prepared } from './start/database/prepare-database.ts';
import { explainWait } from './start/failure.ts';
import { type Foundation, type FoundationOptions, openFoundation, prepare } from './start/foundation.ts';
import { StartLockHeldError } from './start/lock.ts';
import { traceJob } from './traced.ts';

export type Service = {
  deps: Deps;
  /** Runs the periodic jobs until the instance stops. */
  scheduler: Scheduler;
  /** The URL it listens on: `http://127.0.0.1:8000`. Throws while it listens on none. */
  readonly url: string;
  /** Which database, for people, without credentials. */
  database: string;
  /** Resolves when the database is prepared; rejects if a retry cannot help. */
  prepared: Promise<Prepared>;
  /**
   * Stops the instance: /health/ready fails at once, requests are still answered for `graceSeconds` (default 0), then
   * the server stops listening, running requests finish, and everything is released. An instance that is not ready
   * skips the grace period. Further calls return the first call's promise.
   */
  stop(graceSeconds?: number): Promise<void>;
};

export type ServiceOptions = Omit<FoundationOptions, 'existing'> & {
  /** Receives what the operator may have to do while the start waits, as sentences. */
  onWait?: (advice: string) => void;
  /**
   * Listen only when the database is prepared, because other workers answer until then. Default: listen at once, so that
   * probes and clients get an answer.
   */
  listensWhenReady?: boolean;
};

const RETRY_MS = 1_000;
// Another program may take a free port before the service listens on it.
const MAX_PORT_ATTEMPTS = 5;
// A stop waits no longer for a preparation, which may itself wait for another instance.
const PREPARE_GRACE_MS = 2_000;

/** Starts an instance. Resolves when it listens, unless it `listensWhenReady`. Rejects with a message for the operator. */
export async function startService(options: ServiceOptions): Promise<Service> {
  const { settings, workers = 1 } = options;
  // Links and the issuer contain the port, so it is chosen before they are used. Workers share a port that has a number.
  const namesPort = /^https?:\/\/localhost:0$/.test(settings.publicUrl);
  if (settings.port !== 0 || !(namesPort || workers > 1)) return startOn(options);
  for (let attempt = 1; ; attempt += 1) {
    const port = await probePort(settings.host, 0);
    const publicUrl = namesPort ? settings.publicUrl.replace(/0$/, String(port)) : settings.publicUrl;
    try {
      return await startOn({ ...options, settings: { ...settings, port, publicUrl } });
    } catch (error) {
      if (errorCode(error) !== 'EADDRINUSE' || attempt === MAX_PORT_ATTEMPTS) throw error;
    }
  }
}

/** Returns the port if it is free, or a free one for 0. Rejects if it is in use, even by a socket that shares its port. */
async function probePort(host: string, wanted: number): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve, reject) =>
    probe.once('error', reject).listen({ host, port: wanted }, resolve),
  );
  const { port } = addressOf(probe);
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

/** Returns the address and port that a server listens on. Throws when it does not listen on a port. */
function addressOf(server: Server): AddressInfo {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server listens on no port');
  return address;
}

/** A number of many live sessions is shown for a minute. Counting a million takes seconds (decision 20), so this leaves 15 s for it. */
const LIVE_COUNT_MINUTES = 0.75;
/** Half of the minute in which applications learn of a lost permission. */
const LOST_ACCESS_MINUTES = 0.5;
/** A metric that changes slowly. Counting a million reads an index of 40 MB. */
const FACTOR_COUNT_MINUTES = 5;
/** The change feed keeps an hour; a minute more is a sixtieth. */
const FEED_UPKEEP_MINUTES = 1;
/** Ten seconds: for so long, an entry can be changed without a trace. */
const SEAL_MINUTES = 1 / 6;

async function startOn(options: ServiceOptions): Promise<Service> {
  const { settings, log } = options;
  const foundation = await openFoundation(options);
  const { deps } = foundation;
  const scheduler = createScheduler({ pool: deps.pool, log });
  const every = (name: string, minutes: number, run: () => Promise<void>): void =>
    scheduler.every(name, minutes * 60_000, traceJob(name, run, deps.tracing));
  every('clean-up', settings.cleanupIntervalMinutes, () => cleanUp(deps));
  every('session-rows', sessionRowsMinutes(settings), () => removeSessionRows(deps));
  every('lost-access', LOST_ACCESS_MINUTES, () => endLostAccessOfAll(deps));
  every('user-marks', sessionRowsMinutes(settings), () => renewPositions(deps));
  every('factor-users', FACTOR_COUNT_MINUTES, async () => void (await countFactorUsers(deps.db)));
  every('feed', FEED_UPKEEP_MINUTES, () => keepUp(deps.db));
  if (settings.auditSealing) every('audit-seals', SEAL_MINUTES, () => deps.sealer.run());
  every('live-sessions', LIVE_COUNT_MINUTES, async () => void (await countLiveSessions(deps.db)));
  const app = await buildApp(deps).catch(async (error: unknown) => {
    await foundation.close();
    throw error;
  });
  const stopping = new AbortController();
  let reads: ReturnType<typeof repeatRead>[] = [];
  let endMetrics: (() => Promise<void>) | null = null;

  const release = async (): Promise<void> => {
    for (const one of reads) one.stop();
    await endMetrics?.();
    await scheduler.stop();
    await foundation.close();
  };
  const sharesPort = (options.workers ?? 1) > 1;
  const listen = () =>
    app.listen({ host: settings.host, port: settings.port, ...(sharesPort ? { reusePort: true } : {}) });
  try {
    endMetrics = await startMetrics({ deps, scheduler, server: app.server, isWorker: sharesPort });
    if (!options.listensWhenReady) {
      // Otherwise another instance on this port would get a part of the connections.
      if (sharesPort) await probePort(settings.host, settings.port);
      await listen();
    }
  } catch (error) {
    await release();
    throw error;
  }

  const prepared = prepareWithRetries(foundation, options.onWait, stopping.signal).then(async (done) => {
    await warnOfDefaultRole(deps).catch((error: unknown) =>
      log.warn({ err: error }, 'DEFAULT_ROLE was not checked'),
    );
    await warnOfOtherRpIds(deps).catch((error: unknown) =>
      log.warn({ err: error }, 'the domains of the passkeys were not checked'),
    );
    deps.readiness.ready = true;
    if (options.listensWhenReady && !stopping.signal.aborted) await listen();
    if (!stopping.signal.aborted) reads = startReads(deps);
    deps.outbox.start();
    deps.noticeWorker.start();
    deps.webhookWorker.start();
    deps.sinkWorker?.start();
    scheduler.start();
    return done;
  });
  // Callers may await `prepared` later; without this line, an earlier rejection would end the process.
  prepared.catch(() => {});

  let stopped: Promise<void> | undefined;
  const stop = async (graceSeconds: number): Promise<void> => {
    deps.readiness.stopping = true;
    // No load balancer sends requests to an instance that was never ready.
    if (deps.readiness.ready && graceSeconds > 0) await wait(graceSeconds * 1_000);
    stopping.abort();
    // Otherwise the server would wait for its streams.
    deps.feed?.close();
    await Promise.all([
      app.close(),
      scheduler.stop(),
      deps.outbox.stop(),
      deps.noticeWorker.stop(),
      deps.webhookWorker.stop(),
      deps.sinkWorker?.stop(),
    ]);
    await Promise.race([prepared.catch(() => {}), wait(PREPARE_GRACE_MS, undefined, { ref: false })]);
    await release();
  };
  return {
    deps,
    scheduler,
    get url() {
      const { address, port, family } = addressOf(app.server);
      return `${deps.tls ? 'https' : 'http'}://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
    },
    database: foundation.database,
    prepared,
    stop: (graceSeconds = 0) => (stopped ??= stop(graceSeconds)),
  };
}

/** Keeps what this instance knows of the database at most two seconds old. */
const startReads = ({ log, keyRing, requiredProviders }: Deps) => [
  repeatRead(log, {
    seconds: KEY_RELOAD_SECONDS,
    failure: 'signing keys could not be reloaded',
    read: keyRing.load,
  }),
  repeatRead(log, {
    seconds: KEY_RELOAD_SECONDS,
    failure: 'required identity providers could not be reloaded',
    read: requiredProviders.load,
  }),
];

async function warnOfDefaultRole({ db, settings, log }: Deps): Promise<void> {
  const { defaultRole } = settings;
  if (defaultRole === '' || (await isAssignableRole(db, defaultRole))) return;
  log.warn(
    { role: defaultRole },
    'DEFAULT_ROLE names a missing role or a system role, so people who register get no role. Create the role, set DEFAULT_ROLE to an existing role, or leave it empty.',
  );
}

async function warnOfOtherRpIds({ db, passkeySite, log }: Deps): Promise<void> {
  for (const { rp_id: rpId, passkeys, isUsable } of await otherPasskeyDomains(db, passkeySite))
    log.warn(
      { rp_id: rpId, passkeys, usable: isUsable },
      isUsable
        ? 'passkeys belong to a former domain: they work while PASSKEY_FORMER_RP_IDS names it and it serves /.well-known/webauthn'
        : 'passkeys belong to another domain and do not work here. Set PASSKEY_RP_ID to it, or list it in PASSKEY_FORMER_RP_IDS',
    );
}

/** Prepares the database, with retries until it is available. Rejects if only the operator can fix the cause. */
async function prepareWithRetries(
  foundation: Foundation,
  onWait: ServiceOptions['onWait'],
  signal: AbortSignal,
): Promise<Prepared> {
  const { deps } = foundation;
  const tell = (advice: string): void => {
    onWait?.(advice);
    deps.log.warn({ advice }, 'the start is waiting');
  };
  let done: Prepared | undefined;
  for (let attempt = 1; ; attempt += 1) {
    try {
      // Only once, because its result contains the generated password of the first superuser.
      done ??= await prepare(foundation, tell, { signal });
      await deps.keyRing.load();
      await deps.requiredProviders.load();
      return done;
    } catch (error) {
      if (signal.aborted || !isWorthRetrying(error)) throw error;
      deps.readiness.reason = 'database unreachable';
      const advice = explainWait(error);
      if (attempt === 1) onWait?.(advice);
      if (attempt === 1 || attempt % 30 === 0)
        deps.log.error({ err: error, attempt, advice }, 'the database cannot be used yet; retrying');
    }
    await wait(RETRY_MS, undefined, { signal });
  }
}

// Includes a database user or database that the operator may be about to create.
const isWorthRetrying = (error: unknown): boolean =>
  error instanceof StartLockHeldError ||
  isDatabaseUnavailable(error) ||
  ['28P01', '28000', '3D000'].includes(errorCode(error) ?? '');
