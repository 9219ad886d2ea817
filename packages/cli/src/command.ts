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

type Command = {
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

export const yes = { flags: '--yes', help: 'Do not ask for confirmation.' } as const satisfies Option;
