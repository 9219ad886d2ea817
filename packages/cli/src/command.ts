// Defines a command, its input and its errors.

export type Call = {
  /** Values of options, by the long name: text, `true` for a flag, a list for an option with `list`. */
  values: Readonly<Record<string, string | boolean | readonly string[] | undefined>>;
  /** Values of arguments, by name: text, or a list if the last argument repeats. */
  arguments: Readonly<Record<string, string | readonly string[] | undefined>>;
  environment: Readonly<Record<string, string | undefined>>;
  /** Prints one or more lines on standard output. */
  print: (text: string) => void;
};

export type Option = {
  /** As help shows it: `--yes`, `--email <address>`. */
  flags: string;
  help: string;
  /** Only these values are accepted, and completed. */
  choices?: readonly string[];
  /** May be given several times. */
  list?: boolean;
};

type Argument = {
  /** `<user>` is required, `[user]` optional, `<roles...>` repeats. */
  name: string;
  help: string;
  choices?: readonly string[];
};

export type Command = {
  /** One line for the list of commands. */
  summary: string;
  /** Replaces the generated text after the name of the command in its usage. */
  usage?: string;
  arguments?: readonly Argument[];
  options?: readonly Option[];
  /** Paragraphs after the options: what the command does not change, and examples. */
  details?: readonly string[];
  /** Runs the command. Rejects with an Error whose message is shown to the user. */
  run: (call: Call) => Promise<void>;
};

/** Commands below one name, by the words after it: `list`, `roles add`. */
export type CommandGroup = { commands: Readonly<Record<string, Command>> };

/** A top-level command. Its summary is in commands.ts, so that the overview need not load it. */
export type Declaration = Omit<Command, 'summary'>;

/** The command line is wrong. The exit code is 2. */
export class UsageError extends Error {
  override name = 'UsageError';
}

/** A failure with its own exit code; other errors exit with 1. */
export class Failure extends Error {
  override name = 'Failure';
  readonly exitCode: number;

  constructor(exitCode: number, message: string) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** The name by which the scripts of `castellan completion` ask for candidates. */
export const COMPLETE = '__complete';

export const yes = { flags: '--yes', help: 'Do not ask for confirmation.' } as const satisfies Option;

/** Returns the value of an option that takes a text. */
export function optionOf({ values }: Pick<Call, 'values'>, name: string): string | undefined {
  const value = values[name];
  return typeof value === 'string' ? value : undefined;
}

/** Returns a required argument. The parser has checked that it is there. */
export const argumentOf = (call: Pick<Call, 'arguments'>, name: string): string =>
  String(call.arguments[name]);

/** Returns an argument or an option that may be given several times. */
export function listOf(call: Pick<Call, 'arguments' | 'values'>, name: string): string[] {
  const value = call.arguments[name] ?? call.values[name] ?? [];
  return Array.isArray(value) ? [...value] : [String(value)];
}

type Given<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** Returns the entries that are not undefined. */
export const given = <T extends object>(entries: T): Given<T> =>
  Object.fromEntries(Object.entries(entries).filter(([, value]) => value !== undefined)) as never;
