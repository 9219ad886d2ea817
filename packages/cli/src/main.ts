// The command line: finds the command, parses its options, turns errors into one sentence and an exit code.
// The only reader of process.env here. It must not load the server by itself.
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { type Command, UsageError } from './command.ts';
import { commands } from './commands.ts';

const print = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

/** Sets the exit code: 0 done, 1 failed, 2 the command line is wrong. Never rejects. */
export async function main(): Promise<void> {
  // Whoever reads the output may have seen enough (`| head`); what the command does is not undone by that.
  process.stdout.on('error', () => undefined);
  try {
    await runCommand(process.argv.slice(2));
  } catch (error) {
    process.exitCode = error instanceof UsageError ? 2 : 1;
    process.stderr.write(`castellan: ${sentenceOf(error)}\n`);
    if (process.env.LOG_LEVEL === 'debug') process.stderr.write(`${(error as Error).stack}\n`);
  }
}

async function runCommand([name, ...rest]: string[]): Promise<void> {
  if (name === '--version') return print(`castellan ${version()}`);
  if (name === 'help' || name === '--help' || name === '-h') return print(helpOn(rest[0]));
  if (name === undefined) throw new UsageError(`no command given.\n${overview()}`);
  const command = find(name);
  const { help, ...values } = parse(name, command, rest);
  if (help) return print(helpOn(name));
  await command.run({ values, environment: process.env, print });
}

function find(name: string): Command {
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!command) throw new UsageError(`there is no command "${name}". \`castellan help\` lists them.`);
  return command;
}

function parse(name: string, command: Command, args: string[]): Record<string, string | boolean> {
  try {
    const options = { ...command.options, help: { type: 'boolean', short: 'h' } } as const;
    return { ...(parseArgs({ args, options, allowPositionals: false }).values as object) };
  } catch (error) {
    // Node adds advice about `--` after the first sentence.
    const [sentence] = (error as Error).message.split('. ');
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
  const summaries = {
    help: 'This, or with the name of a command more about it.',
    '--version': 'The version.',
  };
  return [
    'Usage: castellan <command> [options]',
    '',
    ...names.map((name) => {
      const summary = commands[name]?.summary ?? summaries[name as keyof typeof summaries];
      return `  ${name.padEnd(width)}${summary}`;
    }),
    '',
    'Settings are environment variables: docs/configuration.md.',
  ].join('\n');
};

const version = (): string =>
  JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version;

/** A refused password brings its reasons as a list. */
function sentenceOf(error: unknown): string {
  const { message, extras } = error as Error & { extras?: { detail?: string | { errors: string[] } } };
  const detail = extras?.detail;
  if (typeof detail === 'object') return [message, ...detail.errors.map((one) => `  - ${one}`)].join('\n');
  return message || String(error);
}
