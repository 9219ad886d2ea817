// The command line: finds the command, parses its options, and prints errors with an exit code.
// Only this file reads process.env. It must not load the server.
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { type Command, UsageError } from './command.ts';
import { commands } from './commands.ts';

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
    await runCommand(process.argv.slice(2));
  } catch (error) {
    process.exitCode = error instanceof UsageError ? 2 : 1;
    process.stderr.write(`castellan: ${describe(error)}\n`);
    if (process.env.LOG_LEVEL === 'debug' && error instanceof Error) process.stderr.write(`${error.stack}\n`);
  }
}

async function runCommand(args: string[]): Promise<void> {
  const [name, ...rest] = joined(args);
  if (name === '--version') return print(`castellan ${version()}`);
  if (name === 'help' || name === '--help' || name === '-h') return print(helpOn(joined(rest)[0]));
  if (name === undefined) throw new UsageError(`no command given.\n${overview()}`);
  const command = find(name);
  const { help, ...values } = parse(name, command, rest);
  if (help) return print(helpOn(name));
  await command.run({ values, environment: process.env, print });
}

/** Joins the two words of a command such as `import users`. */
function joined([first, second, ...rest]: string[]): string[] {
  const both = `${first} ${second}`;
  if (second !== undefined && Object.hasOwn(commands, both)) return [both, ...rest];
  return [first, second, ...rest].filter((argument) => argument !== undefined);
}

function find(name: string): Command {
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!command) throw new UsageError(`there is no command "${name}". \`castellan help\` lists them.`);
  return command;
}

function parse(name: string, command: Command, args: string[]): Record<string, string | boolean> {
  try {
    const options = { ...command.options, help: { type: 'boolean', short: 'h' } } as const;
    const { values } = parseArgs({ args, options, allowPositionals: false });
    const parsed: Record<string, string | boolean> = {};
    for (const [name, value] of Object.entries(values))
      if (typeof value === 'string' || typeof value === 'boolean') parsed[name] = value;
    return parsed;
  } catch (error) {
    // After the first sentence, Node adds advice about `--`.
    const [sentence] = messageOf(error).split('. ');
    throw new UsageError(`${sentence?.replace(/\.$/, '')}. See \`castellan help ${name}\`.`);
  }
}

function helpOn(name: string | undefined): string {
  if (name === undefined) return overview();
  const { summary, usage, details } = find(name);
  return [`Usage: castellan ${name} ${usage}`.trimEnd(), '', summary, ...details].join('\n');
}

const overview = (): string => {
  const names = [...Object.keys(commands), 'help', '--version'];
  const width = Math.max(...names.map((name) => name.length)) + 2;
  const summaries: Readonly<Record<string, string>> = {
    help: 'Show this text, or help on the named command.',
    '--version': 'Show the version.',
  };
  return [
    'Usage: castellan <command> [options]',
    '',
    ...names.map((name) => {
      const summary = commands[name]?.summary ?? summaries[name];
      return `  ${name.padEnd(width)}${summary}`;
    }),
    '',
    'Settings are environment variables: docs/configuration.md.',
  ].join('\n');
};

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
