// The command line: runs the command, and prints errors with an exit code.
// Only this file reads process.env. It must not load the server.
import { readFileSync } from 'node:fs';
import { Failure, UsageError } from './command.ts';
import { run } from './program.ts';

const print = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

/**
 * Runs the command and sets the exit code: 0 for success, 1 for a failure, 2 for a wrong command line. Never rejects.
 */
export async function main(): Promise<void> {
  // The reader of the output may close it early (`| head`). That must not stop the command.
  process.stdout.on('error', () => undefined);
  try {
    await run({ environment: process.env, print }, process.argv.slice(2), version());
  } catch (error) {
    process.exitCode = exitCodeOf(error);
    const { printableLines } = await import('./api/text.ts');
    // A command that has printed its answer fails without a message.
    if (!(error instanceof Failure && error.message === ''))
      process.stderr.write(`castellan: ${printableLines(describe(error))}\n`);
    if (process.env.LOG_LEVEL === 'debug' && error instanceof Error) process.stderr.write(`${error.stack}\n`);
  }
}

function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError) return 2;
  return error instanceof Failure ? error.exitCode : 1;
}

const version = (): string =>
  JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version;

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Returns the message of an error, and for a rejected password also its list of reasons. */
const describe = (error: unknown): string =>
  [messageOf(error) || String(error), ...reasonsOf(error).map((reason) => `  - ${reason}`)].join('\n');

/**
 * Returns the reasons in `extras.detail.errors` of an AppError. It cannot use the class, which belongs to the server.
 */
function reasonsOf(error: unknown): unknown[] {
  const reasons = propertyOf(propertyOf(propertyOf(error, 'extras'), 'detail'), 'errors');
  return Array.isArray(reasons) ? reasons : [];
}

const propertyOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
