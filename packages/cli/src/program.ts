// Builds the parser from the declarations. Messages of the parser become those of a UsageError.
// Only the commands below the name on the command line are loaded and declared.
import { Argument, Command as CommanderCommand, CommanderError, Option } from 'commander';
import { type Call, COMPLETE, type CommandGroup, type Declaration, UsageError } from './command.ts';
import { commands, type Entry } from './commands.ts';

type Program = CommanderCommand;
type Host = Pick<Call, 'environment' | 'print'>;

/** Returns the program. `names` are the top-level commands to declare with arguments and options. */
async function createProgram(host: Host, names: readonly string[]): Promise<Program> {
  const program = quiet(new CommanderCommand('castellan'), host)
    .usage('[<command> [options]]')
    .enablePositionalOptions()
    .option('--version', 'Show the version.')
    .addHelpText('after', `\n${overview}`);
  for (const [name, entry] of Object.entries(commands)) {
    const one = child(program, name, host).summary(entry.summary).helpGroup(entry.heading);
    if (names.includes(name)) await declareEntry(one, entry, host);
  }
  return program;
}

const overview = [
  'Without a command, castellan runs the service.',
  '`castellan help <command>` explains a command.',
  'Settings of the service are environment variables: docs/configuration.md. More: docs/operate/command-line.md.',
].join('\n');

async function declareEntry(target: Program, { summary, load }: Entry, host: Host): Promise<void> {
  const { declaration } = await load();
  target.description(summary);
  if (isGroup(declaration)) declareGroup(target, declaration, host);
  else declare(target, declaration, host);
}

const isGroup = (one: Declaration | CommandGroup): one is CommandGroup => 'commands' in one;

function declareGroup(target: Program, { commands }: CommandGroup, host: Host): void {
  target.usage('<command> [options]');
  for (const [words, command] of Object.entries(commands)) {
    let parent = target;
    for (const word of words.split(' '))
      parent = parent.commands.find((one) => one.name() === word) ?? child(parent, word, host);
    declare(parent.summary(command.summary).description(command.summary), command, host);
  }
}

const child = (parent: Program, name: string, host: Host): Program => quiet(parent.command(name), host);

/** Nothing exits or writes by itself, and `help` is not a command of each group. */
const quiet = (command: Program, { print }: Host): Program =>
  command
    .helpOption('-h, --help', 'Explain the command.')
    .helpCommand(false)
    .showSuggestionAfterError()
    .exitOverride()
    .configureOutput({ writeOut: (text) => print(text.trimEnd()), writeErr: () => undefined })
    .configureHelp({ helpWidth: 120 });

function declare(target: Program, command: Declaration, host: Host): void {
  const { usage, details = [], arguments: inputs = [], options = [] } = command;
  if (usage !== undefined) target.usage(usage);
  for (const { name, help, choices } of inputs) {
    const argument = new Argument(name, help);
    target.addArgument(choices ? argument.choices(choices) : argument);
  }
  for (const { flags, help, choices, list } of options) {
    const option = new Option(flags, help);
    if (choices) option.choices(choices);
    if (list) option.argParser((value: string, earlier: string[] = []) => [...earlier, value]);
    target.addOption(option);
  }
  if (details.length > 0) target.addHelpText('after', `\n${details.join('\n')}`);
  target.action(() => command.run({ ...inputOf(target), ...host }));
}

/** The parser gives text, flags and, as declared, lists. */
function inputOf(target: Program): Pick<Call, 'values' | 'arguments'> {
  const { options, registeredArguments, processedArgs } = target;
  return {
    values: Object.fromEntries(
      options.map((option) => [option.name(), target.getOptionValue(option.attributeName())]),
    ),
    arguments: Object.fromEntries(
      registeredArguments.map((argument, index) => [argument.name(), processedArgs[index]]),
    ),
  };
}

/** `npx castellan` in an empty folder is all that it takes to run the service. */
const byDefault = ['serve'];

/** Runs the command on the command line, `serve` if there is none. Rejects with a UsageError if it is wrong. */
export async function run(host: Host, given: readonly string[], version: string): Promise<void> {
  const words = given.length === 0 ? byDefault : given;
  if (words[0] === COMPLETE) return complete(host, words.slice(1));
  const isHelp = words[0] === 'help';
  const names = isHelp ? words.slice(1) : words;
  if (names[0] === '--version') return host.print(`castellan ${version}`);
  const program = await createProgram(host, names.slice(0, 1));
  const { command, path, isUnknown } = locate(program, names);
  try {
    await program.parseAsync(isHelp && !isUnknown ? [...path, '--help'] : [...names], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode !== 0) throw usageError(error, command, path);
  }
}

async function complete(host: Host, words: readonly string[]): Promise<void> {
  const names = words[0] === 'help' ? words.slice(1) : words;
  const { candidates } = await import('./completion.ts');
  const program = await createProgram(host, names.slice(0, 1));
  const found = await candidates(program, names, host.environment);
  if (found.length > 0) host.print(found.join('\n'));
}

/** Finds the command that is named. `isUnknown`: a word follows that is none of its commands. */
function locate(program: Program, words: readonly string[]) {
  let command = program;
  const path: string[] = [];
  for (const word of words) {
    const next = command.commands.find((one) => one.name() === word);
    if (!next) return { command, path, isUnknown: command.commands.length > 0 && !word.startsWith('-') };
    command = next;
    path.push(word);
  }
  return { command, path, isUnknown: false };
}

const nothingGiven = (command: Program): UsageError =>
  new UsageError(`no command given.\n${command.helpInformation().trimEnd()}`);

function usageError(
  { code, message }: CommanderError,
  command: Program,
  path: readonly string[],
): UsageError {
  const help = ['castellan help', ...path].join(' ');
  // The parser adds a suggestion in a second line.
  const [problem = '', suggestion] = message.replace(/^error: /, '').split('\n');
  const hint = suggestion === undefined ? '' : ` ${suggestion.slice(1, -1)}`;
  switch (code) {
    case 'commander.help':
      return nothingGiven(command);
    case 'commander.unknownCommand':
      return new UsageError(
        `there is no command "${[...path, command.args[0]].join(' ')}".${hint} \`${help}\` lists them.`,
      );
    case 'commander.excessArguments':
      return new UsageError(
        `Unexpected argument '${command.args[command.registeredArguments.length]}'. See \`${help}\`.`,
      );
    default:
      return new UsageError(`${sentence(problem)}${hint} See \`${help}\`.`);
  }
}

const sentence = (text: string): string =>
  `${text.charAt(0).toUpperCase()}${text.slice(1).replace(/\.$/, '')}.`;
