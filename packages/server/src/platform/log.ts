// Structured logs on standard output, one JSON object a line.
// It must never be given a secret; the paths below are the net under that rule, not the rule.
import pino, { type Logger } from 'pino';
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
].flatMap((name) => [name, `*.${name}`, `*.*.${name}`]);

// PostgreSQL repeats whole rows there (a broken CHECK, a broken unique key), hashes and addresses included.
const rowsInErrors = ['detail', 'where', 'internalQuery'];

function describeError(error: Error): Record<string, unknown> {
  const described: Record<string, unknown> = { ...pino.stdSerializers.err(error) };
  for (const name of rowsInErrors) delete described[name];
  return described;
}

let standardOutput: LogOutput | undefined;

/** One for the process, whose end it survives by a second at most. */
function outputOfProcess(): LogOutput {
  if (standardOutput) return standardOutput;
  const output = openOutput();
  process.on('exit', output.finish);
  standardOutput = output;
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
  return pino(options, destination ?? outputOfProcess());
}
