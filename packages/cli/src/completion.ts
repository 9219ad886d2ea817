// What a shell may put in place of the last word of a command line. It must run no command.
import type { Option, Command as Program } from 'commander';
import { readProfiles } from './api/profiles.ts';
import type { Call } from './command.ts';

/** Returns the candidates that begin with the last word; none where only a file or a text of the user fits. */
export async function candidates(
  program: Program,
  words: readonly string[],
  environment: Call['environment'],
): Promise<string[]> {
  const [before, last] = [words.slice(0, -1), words.at(-1) ?? ''];
  const all = await candidatesAt(readWords(program, before), last, environment);
  return all.filter((one) => one.startsWith(last));
}

type State = {
  command: Program;
  /** How many arguments of the command are there already. */
  position: number;
  /** The option whose value comes next. */
  awaiting: Option | undefined;
};

function readWords(program: Program, words: readonly string[]): State {
  let state: State = { command: program, position: 0, awaiting: undefined };
  for (const word of words) {
    const { command, position, awaiting } = state;
    const next = command.commands.find((one) => one.name() === word);
    const option = command.options.find(({ long, short }) => word === long || word === short);
    if (awaiting) state = { ...state, awaiting: undefined };
    else if (option) state = { ...state, awaiting: option.required ? option : undefined };
    else if (next) state = { command: next, position: 0, awaiting: undefined };
    else if (!word.startsWith('-')) state = { ...state, position: position + 1 };
  }
  return state;
}

async function candidatesAt(
  { command, position, awaiting }: State,
  last: string,
  environment: Call['environment'],
): Promise<readonly string[]> {
  const profiles = async () =>
    Object.keys((await readProfiles(environment).catch(() => ({ profiles: {} }))).profiles);
  if (awaiting) return awaiting.long === '--profile' ? profiles() : (awaiting.argChoices ?? []);
  if (last.startsWith('-')) return [...command.options.map(({ long }) => long ?? ''), '--help'];
  if (command.commands.length > 0) return position > 0 ? [] : command.commands.map((one) => one.name());
  const inputs = command.registeredArguments;
  const input = inputs[position] ?? (inputs.at(-1)?.variadic ? inputs.at(-1) : undefined);
  return input?.name() === 'profile' ? profiles() : (input?.argChoices ?? []);
}
