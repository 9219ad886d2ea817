// Runs the command line in a separate process, whose environment contains only what the test sets.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';

export const program = fileURLToPath(new URL('../castellan.mjs', import.meta.url));

export type Outcome = { code: number | null; out: string; err: string };
export type Running = {
  child: ChildProcessByStdio<Writable, Readable, Readable>;
  out: () => string;
  ended: Promise<Outcome>;
};

export function launch(args: string[], environment: Record<string, string> = {}, cwd?: string): Running {
  const child = spawn(process.execPath, [program, ...args], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, ...environment },
    ...(cwd === undefined ? {} : { cwd }),
  });
  const texts = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    texts.out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    texts.err += text;
  });
  const { promise: ended, resolve } = Promise.withResolvers<Outcome>();
  child.on('close', (code) => resolve({ code, ...texts }));
  return { child, out: () => texts.out, ended };
}

/** Runs a command and returns its exit code and output. `input` is its complete standard input. */
export function castellan(
  args: string[],
  environment: Record<string, string> = {},
  input = '',
): Promise<Outcome> {
  const { child, ended } = launch(args, environment);
  // A command that does not read its input may exit before it is written.
  child.stdin.on('error', () => undefined).end(input);
  return ended;
}
