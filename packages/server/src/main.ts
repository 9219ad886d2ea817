// Runs the service as a process (`npm start`): reads the environment, starts, announces, and stops on a signal.
// No other file of the server may read process.env.
import { isatty } from 'node:tty';
import { setFlagsFromString } from 'node:v8';
import { jsonLine } from './platform/logging/json-line.ts';
import { createLog } from './platform/logging/log.ts';
import { writeLast } from './platform/logging/log-output.ts';
import { loadSettings } from './settings.ts';
import { explainStartFailure } from './start/failure.ts';
import { announceInLog, announceNothing, announceToPeople } from './start/processes/announcer.ts';
import { BEAT_MS } from './start/processes/pulse.ts';
import { stopOnSignals } from './start/processes/stop-signals.ts';
import { supervise } from './start/processes/supervisor.ts';
import { reportUnexpected } from './start/processes/unexpected.ts';
import { stopOnOrder, workerKind } from './start/processes/worker.ts';

/** Buffer for a blocked terminal or pipe. Further texts are dropped; printed mails are also files in the outbox. */
const MAX_UNREAD_BYTES = 1_048_576;

/**
 * How much the old generation of the heap may grow between two collections. By itself, V8 lets it grow to several times what
 * is in use (bench/README.md). Set once the service is ready: a start would take a fifth more processor time.
 */
export const HEAP_GROWTH = '--heap-growing-percent=30';

/**
 * Keeps V8 from making objects in the old generation where earlier ones of the same code lived long. Only a full collection would
 * end them and what they refer to: whole requests. After 150 sign-ins, each request cost two thirds more processor time
 * (bench/README.md).
 */
export const YOUNG_OBJECTS = '--no-allocation-site-pretenuring';

const print = (text: string): void => {
  if (process.stdout.writableLength < MAX_UNREAD_BYTES) process.stdout.write(`${text}\n`);
};

/**
 * Resolves when the service is ready, or when its first worker is started; the process then runs until a signal. Exits with
 * status 1 if it cannot start. `beatMs`: how often each of several workers shows that it is alive.
 */
export async function serve(
  environment: Readonly<Record<string, string | undefined>> = process.env,
  { beatMs = BEAT_MS }: { beatMs?: number } = {},
): Promise<void> {
  setFlagsFromString(YOUNG_OBJECTS);
  // A closed pipe or a full disk must not end the service: it continues without output.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  // Until LOG_LEVEL is known, warnings are logged.
  let log = createLog('warn');
  if (!isatty(2)) reportUnexpected(() => log);
  try {
    const settings = loadSettings(environment);
    const isTerminal = isatty(1);
    log = createLog(settings.logLevel);
    const kind = workerKind(environment);
    const announcing = isTerminal ? announceToPeople(print) : announceInLog(log);
    const announcer = kind === 'later' ? announceNothing : announcing;
    if (kind === undefined && settings.workers > 1)
      return supervise({ settings, environment, log, announcer, isTerminal, beatMs, fail });
    // Loaded only here: the supervisor of several workers needs no application.
    const { runProcess } = await import('./start/processes/process.ts');
    const { service, ready } = runProcess({ settings, log, print, announcer, isTerminal, kind });
    // Before the start has finished: it may have started a PostgreSQL, which must be stopped too.
    let isStopping = false;
    const stop = (graceSeconds: number): void => {
      isStopping = true;
      service
        .then((started) => started.stop(graceSeconds))
        .then(
          () => process.exit(0),
          (error: unknown) => fail('Castellan did not shut down cleanly.', error),
        );
    };
    if (kind === undefined)
      stopOnSignals(settings.shutdownGraceSeconds, {
        stop(signal, graceSeconds) {
          announcer.stopping(signal, graceSeconds);
          stop(graceSeconds);
        },
      });
    else stopOnOrder(stop);
    await ready.catch((error: unknown) => {
      // A stop interrupts the preparation of the database.
      if (!isStopping) throw error;
    });
    setFlagsFromString(HEAP_GROWTH);
  } catch (error) {
    fail('Castellan cannot start.', error);
  }
}

/** Exits with status 1 and prints the reason: text at a terminal, otherwise a line of the log, at any LOG_LEVEL. */
function fail(what: string, error: unknown): never {
  const msg = `${what} ${explainStartFailure(error, process.env.DATA_DIR?.trim() || './data')}`;
  const line = isatty(2) ? msg : jsonLine({ level: 'fatal', time: new Date().toISOString(), msg });
  writeLast(2, `${line}\n`);
  process.exit(1);
}
