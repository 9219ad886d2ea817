// Runs an instance of several workers: starts them, replaces those that end or hang, passes on signals, and writes their log.
// It must not load the application. The kernel distributes connections (SO_REUSEPORT), so they do not pass through here.
import { type ChildProcess, fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { listenForScrapes, metricsHosts } from '../../metrics/listen.ts';
import { createJointExposition } from '../../metrics/workers.ts';
import { type Logger, outputOf } from '../../platform/logging/log.ts';
import type { MetricsServer } from '../../platform/metrics/server.ts';
import type { Settings } from '../../settings.ts';
import type { Announcer } from './announcer.ts';
import { passLines } from './pass-lines.ts';
import { createPulse, MAX_SILENT_TICKS, type Pulse } from './pulse.ts';
import { stopOnSignals } from './stop-signals.ts';
import { type BeatOrder, isBeat, isWorkerReport, type StopOrder, WORKER_VARIABLE } from './worker.ts';

const program = fileURLToPath(new URL('../../../start.mjs', import.meta.url));

/** A worker that lived this long was sound, so its successor starts without a pause. */
const SOUND_MS = 10_000;
/** Pause before the successor of a worker that lived shorter; doubled each time. */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 30_000;
/** How long the end waits for the last lines of a worker's log. Processes that a worker started may hold its output. */
const LAST_LINES_MS = 1_000;

type SupervisorOptions = {
  settings: Settings;
  environment: Readonly<Record<string, string | undefined>>;
  log: Logger;
  announcer: Announcer;
  /** Workers write to a terminal themselves. Otherwise their lines pass through this process, so that none are mixed. */
  isTerminal: boolean;
  /** Time between two beats of a worker, and between two looks at them. */
  beatMs: number;
  fail: (what: string, error: unknown) => never;
};

/**
 * Starts the first worker, which prepares the database and announces the instance, and the others when it is ready. A worker
 * that ends is replaced. The process ends when a worker cannot start and no other one runs.
 */
export function supervise({
  settings,
  environment,
  log,
  announcer,
  isTerminal,
  beatMs,
  fail,
}: SupervisorOptions): void {
  const running = new Map<ChildProcess, Running>();
  const lastLines = new Set<Promise<unknown>>();
  // With PORT=0, the first worker chooses.
  let port: number | undefined;
  let shortLives = 0;
  let metrics: MetricsServer | undefined;
  let isStopping = false;
  let hasFailed = false;

  const start = (kind: 'first' | 'later'): void => {
    if (isStopping) return;
    const worker = fork(program, {
      execArgv: [...new Set([...process.execArgv, '--disable-sigusr1'])],
      env: {
        ...environment,
        [WORKER_VARIABLE]: kind,
        ...(port === undefined ? {} : { PORT: String(port) }),
      },
      stdio: ['inherit', isTerminal ? 'inherit' : 'pipe', 'inherit', 'ipc'],
    });
    running.set(worker, { number: freeNumber(), readyAt: undefined, pulse: createPulse() });
    const { stdout, pid } = worker;
    if (stdout) {
      const read = passLines(stdout, outputOf(log)).finally(() => lastLines.delete(read));
      lastLines.add(read);
    }
    worker.on('error', (error) => {
      log.warn({ err: error, worker: pid }, 'a worker cannot be started or reached');
      // It has no exit.
      if (pid === undefined) ended(worker, 1, null);
    });
    worker.on('message', (message) => {
      const known = running.get(worker);
      if (isBeat(message)) known?.pulse.beat();
      if (!isWorkerReport(message)) return;
      if (known) known.readyAt = performance.now();
      const order: BeatOrder = { beatMs };
      if (worker.connected) worker.send(order);
      port ??= message.port;
      if (kind === 'first') for (let more = 1; more < settings.workers; more += 1) start('later');
      else log.debug({ worker: pid }, 'a worker is ready');
    });
    worker.once('exit', (code, signal) => ended(worker, code, signal));
  };

  /** Returns the lowest number that no running worker has, so that a successor continues the metrics of its number. */
  const freeNumber = (): number => {
    const taken = new Set([...running.values()].map(({ number }) => number));
    let number = 1;
    while (taken.has(number)) number += 1;
    return number;
  };

  const ended = (worker: ChildProcess, code: number | null, signal: string | null): void => {
    const readyAt = running.get(worker)?.readyAt;
    running.delete(worker);
    if (isStopping) {
      // Ctrl-C may end a worker that has not begun to ignore it.
      hasFailed ||= code === null ? readyAt !== undefined : code !== 0;
      return;
    }
    if (readyAt === undefined && running.size === 0) {
      // A worker that exits has written why.
      if (signal === null) process.exit(code ?? 1);
      fail('Castellan cannot start.', new Error(`A worker was ended by ${signal}.`));
    }
    shortLives = readyAt !== undefined && performance.now() - readyAt >= SOUND_MS ? 0 : shortLives + 1;
    const pauseMs = shortLives === 0 ? 0 : Math.min(FIRST_PAUSE_MS * 2 ** (shortLives - 1), LONGEST_PAUSE_MS);
    log.error({ worker: worker.pid, code, signal, pause_ms: pauseMs }, 'a worker ended and is replaced');
    setTimeout(start, pauseMs, 'later');
  };

  /** A worker whose event loop is blocked, or that is stopped, holds its connections without an answer. */
  const endHanging = (): void => {
    if (isStopping) return;
    for (const [worker, { pulse }] of running) {
      if (!pulse.tick()) continue;
      log.error(
        {
          worker: worker.pid,
          state: stateOf(worker),
          silent_ms: MAX_SILENT_TICKS * beatMs,
          advice:
            'Its event loop did not run. In the state R it was computing, in the state T something had stopped it. See "When a worker hangs" in docs/operate/monitor.md.',
        },
        'a worker hangs and is killed',
      );
      worker.kill('SIGKILL');
    }
  };
  setInterval(endHanging, beatMs).unref();

  const stop = async (graceSeconds: number): Promise<void> => {
    const order: StopOrder = { stop: true, graceSeconds };
    const exits = [...running.keys()].map((worker) => {
      const exit = new Promise((resolve) => worker.once('exit', resolve));
      // A worker that has just ended has no channel.
      if (worker.connected) worker.send(order);
      return exit;
    });
    await Promise.all(exits);
    await metrics?.close();
    await Promise.race([Promise.all(lastLines), wait(LAST_LINES_MS)]);
  };

  stopOnSignals(settings.shutdownGraceSeconds, {
    stop(signal, graceSeconds) {
      isStopping = true;
      announcer.stopping(signal, graceSeconds);
      stop(graceSeconds).then(
        () => process.exit(hasFailed ? 1 : 0),
        (error: unknown) => fail('Castellan did not shut down cleanly.', error),
      );
    },
    abandon() {
      for (const worker of running.keys()) worker.kill('SIGKILL');
    },
  });
  if (!settings.metricsAddress) {
    start('first');
    return;
  }
  const expose = createJointExposition(() =>
    [...running].map(([worker, { number }]) => [String(number), worker] as const),
  );
  listenForScrapes(settings.metricsAddress, { expose, log, hosts: metricsHosts(settings) }).then(
    (listening) => {
      metrics = listening;
      start('first');
    },
    (error: unknown) => fail('Castellan cannot start.', error),
  );
}

type Running = { number: number; readyAt: number | undefined; pulse: Pulse };

/** Returns the state of a process as Linux shows it, such as `R (running)`; undefined elsewhere. */
function stateOf({ pid }: ChildProcess): string | undefined {
  try {
    // proc_pid_status(5)
    return /^State:\s+(.*)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  } catch {
    return undefined;
  }
}
