// One process that serves requests: the whole instance, or one of its workers.
// It must not handle signals, nor end the process.
import type { Logger } from '../../platform/logging/log.ts';
import { shownEmail } from '../../platform/security/email.ts';
import { type Service, startService } from '../../service.ts';
import type { Settings } from '../../settings.ts';
import { prepareConsole } from '../console.ts';
import { handOverFirstPassword } from '../first-password.ts';
import { type Announcer, unlessSilent } from './announcer.ts';
import { reportReady, type WorkerKind } from './worker.ts';

type ProcessOptions = {
  settings: Settings;
  log: Logger;
  print: (text: string) => void;
  announcer: Announcer;
  isTerminal: boolean;
  /** Undefined for an instance of one process. */
  kind: WorkerKind | undefined;
};

/** Starts the process. `service` resolves when it can be stopped, `ready` when it serves requests. */
export function runProcess(options: ProcessOptions): { service: Promise<Service>; ready: Promise<void> } {
  const service = start(options);
  return { service, ready: service.then((started) => welcome(started, options)) };
}

async function start({
  settings,
  log,
  print,
  announcer,
  isTerminal,
  kind,
}: ProcessOptions): Promise<Service> {
  if (kind !== 'later') await prepareConsole(log);
  return startService({
    settings,
    log,
    print,
    isTerminal,
    onWait: announcer.waiting,
    workers: kind === undefined ? 1 : settings.workers,
    listensWhenReady: kind === 'later',
  });
}

async function welcome(
  service: Service,
  { settings, log, print, announcer, isTerminal, kind }: ProcessOptions,
): Promise<void> {
  if (kind !== 'later') announcer.listening(service.url);
  const { madePassword, madeSuperuser } = await service.prepared.catch(async (error: unknown) => {
    await service.stop();
    throw error;
  });
  announcer.ready({
    // With PORT=0, it contains the chosen port.
    url: service.deps.settings.publicUrl,
    database: service.database,
    mails: service.deps.transport.description,
    ...(kind === undefined ? {} : { workers: settings.workers }),
    ...(madeSuperuser ? { superuser: shownEmail(settings.firstSuperuserEmail) } : {}),
  });
  if (kind !== undefined) reportReady(service.url);
  if (madePassword === null) return;
  const { dataDir } = settings;
  const { line, isLost } = await handOverFirstPassword(madePassword, { dataDir, isTerminal });
  if (isTerminal) print(`  ${line}`);
  else if (isLost) log.error(line);
  else unlessSilent(log).warn(line);
}
