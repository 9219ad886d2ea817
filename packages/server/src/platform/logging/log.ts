// Structured logs on standard output, one JSON object a line.
// It must never be given a secret. The redaction below is only a safety net.
import pino, { type Logger } from 'pino';
import { currentTrace } from './current-trace.ts';
import { safeLine } from './json-line.ts';
import { type LogOutput, openOutput } from './log-output.ts';

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
  'key',
  'client_secret',
  'api_key',
  'secret_hash',
  'secret_key',
].flatMap((name) => [name, `*.${name}`, `*.*.${name}`]);

// PostgreSQL puts whole rows into these fields when a CHECK or unique key fails, including hashes and emails.
const rowsInErrors = ['detail', 'where', 'internalQuery'];

function describeError(error: Error): Record<string, unknown> {
  const described: Record<string, unknown> = { ...pino.stdSerializers.err(error) };
  for (const name of rowsInErrors) delete described[name];
  return described;
}

let standardOutput: LogOutput | undefined;

/** Returns the one output of the process. At exit it writes its buffer, for at most a second. */
function outputOfProcess(): LogOutput {
  if (standardOutput) return standardOutput;
  const output = openOutput();
  process.on('exit', output.finish);
  standardOutput = output;
  return output;
}

function traceOfLine(): object {
  const traceId = currentTrace()?.traceId;
  return traceId === undefined ? {} : { trace_id: traceId };
}

type Destination = pino.DestinationStream & { unwritten?: () => number };

const outputs = new WeakMap<Logger, Destination>();

/** Returns where a log that `createLog` created writes its lines. */
export function outputOf(log: Logger): Destination {
  const output = outputs.get(log);
  if (!output) throw new TypeError('not a log of createLog');
  return output;
}

/** Creates a log. Default destination: standard output. */
export function createLog(level: string, destination?: Destination): Logger {
  const options: pino.LoggerOptions = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    serializers: { err: describeError },
    mixin: traceOfLine,
    redact: { paths: secretPaths, censor: '[redacted]' },
  };
  const output = destination ?? outputOfProcess();
  const log = pino(options, { write: (line) => output.write(safeLine(line)) });
  outputs.set(log, output);
  return log;
}
