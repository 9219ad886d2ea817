// Defines a command, its input and its errors.
import type { ParseArgsConfig } from 'node:util';

export type Call = {
  /** Parsed by the command's `options`. */
  values: Readonly<Record<string, string | boolean | undefined>>;
  environment: Readonly<Record<string, string | undefined>>;
  /** Prints one or more lines on standard output. */
  print: (text: string) => void;
};

export type Command = {
  summary: string;
  /** The text after `castellan <name>`. */
  usage: string;
  /** Lines that explain the options and what the command does not change. */
  details: readonly string[];
  options: NonNullable<ParseArgsConfig['options']>;
  /** The key in `values` of an argument that is given without an option. Default: there is none. */
  operand?: string;
  /** Runs the command. Rejects with an Error whose message is shown to the user. */
  run: (call: Call) => Promise<void>;
};

/** The command line is wrong. The exit code is 2. */
export class UsageError extends Error {
  override name = 'UsageError';
}
