// What a command is, is given and may throw.
import type { ParseArgsConfig } from 'node:util';

export type Call = {
  /** As parsed by the command's own `options`. */
  values: Readonly<Record<string, string | boolean | undefined>>;
  environment: Readonly<Record<string, string | undefined>>;
  /** One line or more on standard output. */
  print: (text: string) => void;
};

export type Command = {
  summary: string;
  /** After `castellan <name>`. */
  usage: string;
  /** Lines on what the options mean and what the command leaves alone. */
  details: readonly string[];
  options: NonNullable<ParseArgsConfig['options']>;
  /** Rejects with an Error whose message is for the person at the terminal. */
  run: (call: Call) => Promise<void>;
};

/** The command line is wrong: exit code 2. */
export class UsageError extends Error {
  override name = 'UsageError';
}
