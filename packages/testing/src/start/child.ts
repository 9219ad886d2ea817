// Runs the service as operators do: in a separate process that is started, signalled and killed.
// It must leave no process behind. It reads only the process's output, its exit code and HTTP.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { atEnd, temporaryFolder, until } from '@castellan/embedded-postgres/testing';
import { watch, watchSettings } from '../secret-watch.ts';

const startProgram = fileURLToPath(import.meta.resolve('@castellan/server/start'));

export type Child = {
  readonly pid: number;
  /** Returns what was written to standard output so far; `err` returns standard error. */
  out(): string;
  err(): string;
  /** Returns the log line with this message (`listening`, `ready`, `stopping`), once it is written. */
  announced(message: string): Record<string, unknown> | undefined;
  /** Waits until the service listens and returns its URL. */
  listening(): Promise<string>;
  /** Waits until /health/ready answers 200 and returns the service's URL. */
  ready(): Promise<string>;
  /** Resolves when the process has ended and all its output was read. */
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  kill(signal: NodeJS.Signals): void;
  /** Stops reading the output, as when a terminal or a log reader disappears. */
  closeOutput(): void;
};

/** Turns off limits, grace periods and further workers; everything else keeps the default. */
const environment = {
  PORT: '0',
  WORKERS: '1',
  SHUTDOWN_GRACE_SECONDS: '0',
  RATE_LIMIT_LOGIN: 'off',
  RATE_LIMIT_REGISTER: 'off',
  RATE_LIMIT_PASSWORD_RESET: 'off',
  RATE_LIMIT_NEW_ACCESS_TOKEN: 'off',
  RATE_LIMIT_REFRESH: 'off',
  RATE_LIMIT_RESEND_VERIFICATION: 'off',
  RATE_LIMIT_USER: 'off',
  RATE_LIMIT_LINK_CHECK: 'off',
  RATE_LIMIT_PROVIDER_START: 'off',
  RATE_LIMIT_REVOKE: 'off',
  REGISTRATION_ABUSE_LIMIT: 'off',
  ACCOUNT_EMAIL_LIMIT: 'off',
};

/** Compiled modules that test processes share: a start takes half the time. */
const { NODE_COMPILE_CACHE } = process.env;
const compileCache = NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE };

type ChildOptions = {
  /** The user to run as. */
  uid?: number | undefined;
  /** Options of Node and V8 that NODE_OPTIONS does not take. */
  flags?: readonly string[];
  /** Path of a program that starts the service otherwise than `npm start`. */
  program?: string;
};

/** Starts the service as the leader of its own process group, as a shell would. */
export function startChild(
  t: TestContext,
  more: Record<string, string>,
  { uid, flags = [], program = startProgram }: ChildOptions = {},
): Child {
  watchSettings(more);
  const child = spawn(process.execPath, [...flags, program], {
    cwd: '/',
    env: {
      PATH: process.env.PATH,
      DATA_DIR: more.DATA_DIR ?? temporaryFolder(t),
      ...compileCache,
      ...environment,
      ...more,
    },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(uid === undefined ? {} : { uid, gid: uid }),
  });
  const text = { out: collect(child.stdout), err: collect(child.stderr) };
  const ended = endOf(child);
  atEnd(t, async () => {
    child.kill('SIGKILL');
    await ended;
    for (const line of output().split('\n')) watch.assertClean('the output', line);
  });
  const output = (): string => `${text.out()}\n${text.err()}`;
  const listening = async (): Promise<string> => {
    const find = (): string | undefined => announcement(text.out(), 'listening')?.url;
    await until('it listens', () => find() !== undefined || child.exitCode !== null);
    return find() ?? assert.fail(`ended with ${child.exitCode} before it listened: ${output()}`);
  };
  return {
    pid: child.pid ?? assert.fail('not started'),
    out: text.out,
    err: text.err,
    announced: (message) => announcement(text.out(), message),
    listening,
    async ready() {
      const url = await listening();
      await until('it is ready', async () => {
        assert.equal(child.exitCode, null, output());
        return (await statusOf(`${url}/health/ready`)) === 200;
      });
      return url;
    },
    ended,
    kill: (signal) => void child.kill(signal),
    closeOutput() {
      child.stdout.destroy();
      child.stderr.destroy();
    },
  };
}

/** Returns the first complete log line with this message. */
function announcement(
  out: string,
  message: string,
): ({ url?: string } & Record<string, unknown>) | undefined {
  const line = out
    .split('\n')
    .slice(0, -1)
    .find((one) => one.endsWith(`"msg":"${message}"}`));
  return line === undefined ? undefined : JSON.parse(line);
}

/** Returns the last message on standard error: the `msg` of a JSON line, or the text itself. */
export function exitMessage(err: string): string {
  const line = err.trimEnd().split('\n').at(-1) ?? '';
  return line.startsWith('{') ? JSON.parse(line).msg : err.trimEnd();
}

// A service that listens but never answers counts as absent.
const ANSWER_MS = 60_000;

/** Returns the status of a GET request, or null if nothing answers. */
export async function statusOf(url: string): Promise<number | null> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS) });
    await response.arrayBuffer();
    return response.status;
  } catch {
    return null;
  }
}

function collect(stream: NodeJS.ReadableStream): () => string {
  let text = '';
  stream.setEncoding('utf8');
  stream.on('data', (chunk: string) => {
    text += chunk;
  });
  return () => text;
}

function endOf(child: ChildProcess): Child['ended'] {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
}
