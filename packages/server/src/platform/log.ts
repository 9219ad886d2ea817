// Structured logs on standard output, one JSON object a line.
// It must never be given a secret; the paths below are the net under that rule, not the rule.
import pino, { type Logger } from 'pino';

export type { Logger } from 'pino';

const secretPaths = [
  'password',
  'new_password',
  'current_password',
  'token',
  'access_token',
  'refresh_token',
  'csrf_token',
  'authorization',
  'cookie',
  'password_hash',
].flatMap((name) => [name, `*.${name}`, `*.*.${name}`]);

// PostgreSQL repeats whole rows there (a broken CHECK, a broken unique key), hashes and addresses included.
const rowsInErrors = ['detail', 'where', 'internalQuery'];

function describeError(error: Error): Record<string, unknown> {
  const described: Record<string, unknown> = { ...pino.stdSerializers.err(error) };
  for (const name of rowsInErrors) delete described[name];
  return described;
}

/** What waits for an output that takes nothing, such as a full disk, at most; what comes on top is lost. */
const MAX_UNWRITTEN_BYTES = 16 * 1_048_576;

/** Without the listener a full disk would end the process; and its end would wait for the disk, for ever. */
function openOutput(): pino.DestinationStream {
  const output = pino.destination({ dest: 1, sync: false, maxLength: MAX_UNWRITTEN_BYTES });
  const { flushSync } = output;
  output.on('error', () => {
    output.flushSync = () => {};
  });
  output.on('write', () => {
    output.flushSync = flushSync;
  });
  return output;
}

export function createLog(level: string, destination?: pino.DestinationStream): Logger {
  const options: pino.LoggerOptions = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    serializers: { err: describeError },
    redact: { paths: secretPaths, censor: '[redacted]' },
  };
  return pino(options, destination ?? openOutput());
}
