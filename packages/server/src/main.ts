// Runs the service as a process (`npm start`): reads the environment, starts, announces, and stops on a signal.
// No other file of the server may read process.env.
import { isatty } from 'node:tty';
import { createLog } from './platform/log.ts';
import { writeLast } from './platform/log-output.ts';
import { type Service, startService } from './service.ts';
import { loadSettings } from './settings.ts';
import { type Announcer, announceInLog, announceToPeople, unlessSilent } from './start/announcer.ts';
import { prepareConsole } from './start/console.ts';
import { explainStartFailure } from './start/failure.ts';
import { handOverFirstPassword } from './start/first-password.ts';
import { reportUnexpected } from './start/unexpected.ts';

/** Buffer for a blocked terminal or pipe. Further texts are dropped; printed mails are also files in the outbox. */
const MAX_UNREAD_BYTES = 1_048_576;

const print = (text: string): void => {
  if (process.stdout.writableLength < MAX_UNREAD_BYTES) process.stdout.write(`${text}\n`);
};

/** Resolves when the service is ready; the process then runs until a signal. Exits with status 1 if it cannot start. */
export async function serve(): Promise<void> {
  // A closed pipe or a full disk must not end the service: it continues without output.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  // Until LOG_LEVEL is known, warnings are logged.
  let log = createLog('warn');
  if (!isatty(2)) reportUnexpected(() => log);
  try {
    const settings = loadSettings(process.env);
    const isTerminal = isatty(1);
    log = createLog(settings.logLevel);
    await prepareConsole(log);
    const announcer = isTerminal ? announceToPeople(print) : announceInLog(log);
    const starting = startService({ settings, log, print, isTerminal, onWait: announcer.waiting });
    // Before the start has finished: it may have started a PostgreSQL, which must be stopped too.
    stopOnSignals(starting, announcer, settings.shutdownGraceSeconds);
    const service = await starting;
    announcer.listening(service.url);
    const { madePassword, madeSuperuser } = await service.prepared.catch(async (error: unknown) => {
      await service.stop();
      throw error;
    });
    announcer.ready({
      // With PORT=0, it contains the chosen port.
      url: service.deps.settings.publicUrl,
      database: service.database,
      mails: service.deps.transport.description,
      ...(madeSuperuser ? { superuser: settings.firstSuperuserEmail } : {}),
    });
    if (madePassword !== null) {
      const { dataDir } = settings;
      const { line, isLost } = await handOverFirstPassword(madePassword, { dataDir, isTerminal });
      if (isTerminal) print(`  ${line}`);
      else if (isLost) log.error(line);
      else unlessSilent(log).warn(line);
    }
  } catch (error) {
    fail('Castellan cannot start.', error);
  }
}

// npm forwards the Ctrl-C that the terminal also sends to this process, so signals within this time count as one.
const ONE_SIGNAL_MS = 500;

/** Two failed checks of a load balancer at the usual interval of 2 s, and a margin. */
const UNATTENDED_GRACE_SECONDS = 5;

/** 128 plus the number of the signal, as in shells. */
const exitCodes: Partial<Record<NodeJS.Signals, number>> = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 };

function stopOnSignals(
  starting: Promise<Service>,
  announcer: Announcer,
  configuredGraceSeconds: number | undefined,
): void {
  // Standard input, output or error. Checked now, because a closed terminal is no longer recognized.
  const inTerminal = [0, 1, 2].some((fd) => isatty(fd));
  let firstAt: number | undefined;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (firstAt !== undefined) {
      if (performance.now() - firstAt > ONE_SIGNAL_MS) process.exit(exitCodes[signal]);
      return;
    }
    firstAt = performance.now();
    // Ctrl-C, or a terminal that closes: a person waits for the end.
    const isAwaited = inTerminal && signal !== 'SIGTERM';
    const defaultGraceSeconds = inTerminal ? 0 : UNATTENDED_GRACE_SECONDS;
    const graceSeconds = isAwaited ? 0 : (configuredGraceSeconds ?? defaultGraceSeconds);
    announcer.stopping(signal, graceSeconds);
    starting
      .then((service) => service.stop(graceSeconds))
      .then(
        () => process.exit(0),
        (error: unknown) => fail('Castellan did not shut down cleanly.', error),
      );
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  // A closing terminal ends its programs. Without a terminal, SIGHUP means "reload the settings", which is not
  // supported.
  process.on('SIGHUP', (signal) => {
    if (inTerminal) onSignal(signal);
  });
}

/** Exits with status 1 and prints the reason: text at a terminal, otherwise a line of the log, at any LOG_LEVEL. */
function fail(what: string, error: unknown): never {
  const msg = `${what} ${explainStartFailure(error, process.env.DATA_DIR?.trim() || './data')}`;
  const line = isatty(2) ? msg : JSON.stringify({ level: 'fatal', time: new Date().toISOString(), msg });
  writeLast(2, `${line}\n`);
  process.exit(1);
}
