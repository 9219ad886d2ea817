// Runs the command line as an operator does, to its end or until it is killed in the middle.
import { spawn } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('../../packages/cli/castellan.mjs', import.meta.url));

export type Environment = Readonly<Record<string, string>>;

type Ran = { out: string; seconds: number };

const start = (args: readonly string[], environment: Environment) => {
  const child = spawn(process.execPath, [program, ...args], {
    env: { PATH: process.env.PATH, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const { promise: ended, resolve } = Promise.withResolvers<{
    code: number | null;
    out: string;
    err: string;
  }>();
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  child.on('close', (code) => resolve({ code, out, err }));
  return { child, ended };
};

/** Runs a command. Rejects if it fails. */
export async function castellan(args: readonly string[], environment: Environment): Promise<Ran> {
  const began = performance.now();
  const { code, out, err } = await start(args, environment).ended;
  if (code !== 0) throw new Error(`castellan ${args.join(' ')} ended with ${code}: ${err}`);
  return { out, seconds: (performance.now() - began) / 1_000 };
}

/** Kills a command with SIGKILL as soon as `due` returns true. Rejects if it had ended before. */
export async function killed(
  args: readonly string[],
  environment: Environment,
  due: () => boolean | Promise<boolean>,
): Promise<void> {
  const { child, ended } = start(args, environment);
  while (child.exitCode === null && !(await due())) await pause(5);
  const isRunning = child.exitCode === null;
  child.kill('SIGKILL');
  const { err } = await ended;
  if (!isRunning) throw new Error(`castellan ${args.join(' ')} ended before it was killed: ${err}`);
}
