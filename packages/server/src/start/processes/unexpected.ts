// Reports what nobody handles as JSON lines, if standard error is read by a program: warnings of Node.js in the log, and
// the error that ends the process on standard error. It must not keep the process running after such an error.
import { createLog, type Logger } from '../../platform/logging/log.ts';
import { writeLast } from '../../platform/logging/log-output.ts';

/** Replaces the texts of Node.js for the rest of the process. `currentLog` is called for each warning. */
export function reportUnexpected(currentLog: () => Logger): void {
  // None with NODE_NO_WARNINGS=1 or --no-warnings.
  if (process.listenerCount('warning') > 0) {
    process.removeAllListeners('warning');
    process.on('warning', (warning) =>
      currentLog().warn({ warning: warning.name, err: warning }, 'warning of Node.js'),
    );
  }
  // At any LOG_LEVEL, as a start that fails.
  const last = createLog('fatal', { write: (line) => writeLast(2, line) });
  // A rejection that nobody handles arrives here too. Exiting writes the rest of the log, for at most a second.
  process.on('uncaughtException', (error: unknown) => {
    try {
      last.fatal({ err: error }, 'Castellan ended because of an unexpected error. Please report it.');
    } finally {
      process.exit(1);
    }
  });
}
