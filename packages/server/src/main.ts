// `npm start`: reads the environment, starts the service, tells where it is, stops it on a signal.
// The only reader of process.env in the server.
import { isatty } from 'node:tty';
import { createLog } from './platform/log.ts';
import { type Service, startService } from './service.ts';
import { loadSettings, type Settings } from './settings.ts';
import { explainStartFailure } from './start-failure.ts';

/** What a terminal or pipe that takes nothing leaves waiting, at most; of what comes on top, mails are in the outbox. */
const MAX_UNREAD_BYTES = 1_048_576;

const print = (text: string): void => {
  if (process.stdout.writableLength < MAX_UNREAD_BYTES) process.stdout.write(`${text}\n`);
};

/** Answers when the service is up; the process then lives until a signal. Ends it with 1 when it cannot start. */
export async function serve(): Promise<void> {
  // Whoever reads the output may go, and the disk that it is kept on be full: the service goes on without it.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  try {
    const settings = loadSettings(process.env);
    const starting = startService({ settings, log: createLog(settings.logLevel), print });
    // Before the start has ended: it may have started a PostgreSQL, which must not stay behind.
    stopOnSignals(starting);
    const service = await starting;
    print(`Castellan listens on ${service.url}`);
    const { madePassword, madeSuperuser } = await service.prepared.catch(async (error: unknown) => {
      await service.stop();
      throw error;
    });
    print(welcome(settings, service, madeSuperuser, madePassword));
  } catch (error) {
    fail(error);
  }
}

function welcome(
  settings: Settings,
  service: Service,
  madeSuperuser: boolean,
  madePassword: string | null,
): string {
  const lines = [
    `  address    ${settings.publicUrl}   reference: ${settings.publicUrl}/docs`,
    `  database   ${service.database}`,
    `  mails      ${service.deps.transport.description}`,
  ];
  if (madeSuperuser) lines.push(`  superuser  ${settings.firstSuperuserEmail}, made now`);
  if (madePassword !== null) lines.push(`  password   ${madePassword}   (shown this once: keep it)`);
  return `Ready.\n${lines.join('\n')}`;
}

// npm hands on the Ctrl-C that the terminal has sent to this process as well: what comes together is one signal.
const ONE_SIGNAL_MS = 500;

/** 128 and the signal's number, as shells have it. */
const exitCodes: Partial<Record<NodeJS.Signals, number>> = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 };

function stopOnSignals(starting: Promise<Service>): void {
  // Standard input, output or error; asked now, because a terminal that has closed is none any more.
  const inTerminal = [0, 1, 2].some((fd) => isatty(fd));
  let firstAt: number | undefined;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (firstAt !== undefined) {
      if (performance.now() - firstAt > ONE_SIGNAL_MS) process.exit(exitCodes[signal]);
      return;
    }
    firstAt = performance.now();
    print('Stopping. Once more to stop at once.');
    starting
      .then((service) => service.stop())
      .then(
        () => process.exit(0),
        (error: unknown) => fail(error),
      );
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  // A terminal that closes ends what runs in it. Without one it means "read your settings again": there is nothing to.
  process.on('SIGHUP', (signal) => {
    if (inTerminal) onSignal(signal);
  });
}

function fail(error: unknown): never {
  const why = explainStartFailure(error, process.env.DATA_DIR ?? './data');
  process.stderr.write(`Castellan cannot start. ${why}\n`);
  process.exit(1);
}
