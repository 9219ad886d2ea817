// Handles the signals that stop the process. It must not know what has to be stopped.
import { isatty } from 'node:tty';

// npm forwards the Ctrl-C that the terminal also sends to this process, so signals within this time count as one.
const ONE_SIGNAL_MS = 500;

/** Two failed checks of a load balancer at the usual interval of 2 s, and a margin. */
const UNATTENDED_GRACE_SECONDS = 5;

/** 128 plus the number of the signal, as in shells. */
const exitCodes: Partial<Record<NodeJS.Signals, number>> = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 };

type StopActions = {
  /** Begins to stop. Called once, at the first signal. */
  stop(signal: NodeJS.Signals, graceSeconds: number): void;
  /** Called at a second signal, before the process ends at once. */
  abandon?(): void;
};

/** Stops at SIGINT and SIGTERM, and at SIGHUP in a terminal. `configured`: SHUTDOWN_GRACE_SECONDS. */
export function stopOnSignals(configured: number | undefined, { stop, abandon }: StopActions): void {
  // Standard input, output or error. Checked now, because a closed terminal is no longer recognized.
  const inTerminal = [0, 1, 2].some((fd) => isatty(fd));
  let firstAt: number | undefined;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (firstAt !== undefined) {
      if (performance.now() - firstAt <= ONE_SIGNAL_MS) return;
      abandon?.();
      process.exit(exitCodes[signal]);
    }
    firstAt = performance.now();
    // Ctrl-C, or a terminal that closes: a person waits for the end.
    const isAwaited = inTerminal && signal !== 'SIGTERM';
    const defaultGraceSeconds = inTerminal ? 0 : UNATTENDED_GRACE_SECONDS;
    stop(signal, isAwaited ? 0 : (configured ?? defaultGraceSeconds));
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  // A closing terminal ends its programs. Without a terminal, SIGHUP means "reload the settings", which is not
  // supported.
  process.on('SIGHUP', (signal) => {
    if (inTerminal) onSignal(signal);
  });
}
