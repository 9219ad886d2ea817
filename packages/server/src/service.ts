// The life of one instance: bring up, answer, recover, stop. main.ts, the command line and the tests start it the same.
// It reads no environment and never ends the process.
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { buildApp } from './app.ts';
import { cleanUp } from './cleanup.ts';
import type { Prepared } from './database-start.ts';
import type { Deps } from './deps.ts';
import { type Foundation, openFoundation, prepare } from './foundation.ts';
import { KEY_RELOAD_SECONDS } from './modules/sessions/key-ring.ts';
import { isDatabaseUnavailable } from './platform/db/failures.ts';
import { createScheduler } from './platform/jobs/scheduler.ts';
import type { Logger } from './platform/log.ts';
import type { Settings } from './settings.ts';
import { explainWait } from './start-failure.ts';

export type Service = {
  deps: Deps;
  /** Where it listens: `http://127.0.0.1:8000`. */
  url: string;
  /** For people: which database. */
  database: string;
  /** Resolves when the database is prepared; rejects when that is beyond repair. */
  prepared: Promise<Prepared>;
  /** Finishes what was accepted, then lets go of everything. May be called again. */
  stop(): Promise<void>;
};

export type ServiceOptions = { settings: Settings; log: Logger; print: (text: string) => void };

const RETRY_MS = 1_000;
// A stop does not wait longer for a preparation that waits for another instance's.
const PREPARE_GRACE_MS = 2_000;

export async function startService({ settings, log, print }: ServiceOptions): Promise<Service> {
  const foundation = await openFoundation({ settings, log, print });
  const { deps } = foundation;
  const scheduler = createScheduler({ pool: deps.pool, log });
  scheduler.every('clean-up', settings.cleanupIntervalMinutes * 60_000, () => cleanUp(deps));
  const app = await buildApp(deps);
  const stopping = new AbortController();
  const keyReload = setInterval(() => {
    deps.keyRing.load().catch((error: unknown) => log.warn({ err: error }, 'signing keys not read again'));
  }, KEY_RELOAD_SECONDS * 1_000).unref();

  const release = async (): Promise<void> => {
    clearInterval(keyReload);
    await scheduler.stop();
    await foundation.close();
  };
  try {
    await app.listen({ host: settings.host, port: settings.port });
  } catch (error) {
    await release();
    throw error;
  }

  const prepared = prepareWithPatience(foundation, print, stopping.signal).then((done) => {
    deps.readiness.ready = true;
    deps.outbox.start();
    scheduler.start();
    return done;
  });
  // Whoever cares awaits `prepared`; without this line a failure before that would end the process.
  prepared.catch(() => {});

  let stopped: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    stopping.abort();
    // A request that was accepted before is answered; probes see the instance leave.
    await Promise.all([app.close(), scheduler.stop(), deps.outbox.stop()]);
    await Promise.race([prepared.catch(() => {}), wait(PREPARE_GRACE_MS, undefined, { ref: false })]);
    await release();
  };
  const { address, port, family } = app.server.address() as AddressInfo;
  return {
    deps,
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`,
    database: foundation.database,
    prepared,
    stop: () => (stopped ??= stop()),
  };
}

/** Tries until the database is there; throws what only a person can mend. */
async function prepareWithPatience(
  foundation: Foundation,
  print: (text: string) => void,
  signal: AbortSignal,
): Promise<Prepared> {
  const { deps } = foundation;
  let done: Prepared | undefined;
  for (let attempt = 1; ; attempt += 1) {
    try {
      // Once only: it tells the password of a superuser that it made.
      done ??= await prepare(foundation);
      await deps.keyRing.load();
      return done;
    } catch (error) {
      if (signal.aborted || !mayPass(error)) throw error;
      deps.readiness.reason = 'database unreachable';
      if (attempt === 1) print(`The database cannot be used yet; trying until it can. ${explainWait(error)}`);
      if (attempt === 1 || attempt % 30 === 0)
        deps.log.error({ err: error, attempt }, 'the database cannot be used yet; trying until it can');
    }
    await wait(RETRY_MS, undefined, { signal });
  }
}

// Besides "not reachable": an account or database that an operator is just about to create.
const mayPass = (error: unknown): boolean =>
  isDatabaseUnavailable(error) ||
  ['28P01', '28000', '3D000'].includes((error as { code?: string }).code ?? '');
