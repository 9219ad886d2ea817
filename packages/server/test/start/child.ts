// The service as operators run it: a process of its own that is started, signalled and killed.
// It must leave no process behind, and it looks at nothing but the terminal's text, the exit code and HTTP.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import type { TestContext } from 'node:test';
import { atEnd, until } from '../embedded/fixture.ts';
import { watch, watchSettings } from '../secret-watch.ts';

const program = new URL('../../start.mjs', import.meta.url).pathname;

export type Child = {
  readonly pid: number;
  /** What the terminal shows: standard output and standard error. */
  out(): string;
  err(): string;
  /** Where it listens, once it says so. */
  listening(): Promise<string>;
  /** The same, once /health/ready answers 200. */
  ready(): Promise<string>;
  /** Resolves when it has ended and all its text was read. */
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  kill(signal: NodeJS.Signals): void;
  /** Nobody reads what it writes any more, as when a terminal or a log reader goes. */
  closeOutput(): void;
};

/** No limit gets in the way of a test; all else is as an operator has it who sets nothing. */
const environment = {
  PORT: '0',
  RATE_LIMIT_LOGIN: 'off',
  RATE_LIMIT_REGISTER: 'off',
  RATE_LIMIT_PASSWORD_RESET: 'off',
  RATE_LIMIT_NEW_ACCESS_TOKEN: 'off',
  RATE_LIMIT_RESEND_VERIFICATION: 'off',
  REGISTRATION_ABUSE_LIMIT: 'off',
  ACCOUNT_EMAIL_LIMIT: 'off',
};

/** Leads a process group of its own, as a program does that a shell started. `uid`: run by this user. */
export function startChild(t: TestContext, more: Record<string, string>, uid?: number): Child {
  watchSettings(more);
  const child = spawn(process.execPath, [program], {
    cwd: '/',
    env: { PATH: process.env.PATH, ...environment, ...more },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(uid === undefined ? {} : { uid, gid: uid }),
  });
  const text = { out: collect(child.stdout), err: collect(child.stderr) };
  const ended = endOf(child);
  atEnd(t, async () => {
    child.kill('SIGKILL');
    await ended;
    // Lines of the log; what else the terminal shows is for the operator: the first password, mails without SMTP.
    for (const line of told().split('\n')) if (line.startsWith('{')) watch.assertClean('the log', line);
  });
  const told = (): string => `${text.out()}\n${text.err()}`;
  const listening = async (): Promise<string> => {
    const find = (): string | undefined => /^Castellan listens on (\S+)$/m.exec(text.out())?.[1];
    await until('it listens', () => find() !== undefined || child.exitCode !== null);
    return find() ?? assert.fail(`ended with ${child.exitCode} before it listened: ${told()}`);
  };
  return {
    pid: child.pid ?? assert.fail('not started'),
    out: text.out,
    err: text.err,
    listening,
    async ready() {
      const url = await listening();
      await until('it is ready', async () => {
        assert.equal(child.exitCode, null, told());
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

// A service that listens and never answers is as good as none.
const ANSWER_MS = 10_000;

/** Null while nothing answers. */
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
