/**
 * Runs PostgreSQL's programs as a suitable user: initdb and postgres refuse root, and initdb needs a passwd entry.
 * It must not pass them the environment of the service, which contains secrets.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { userInfo } from 'node:os';

export type RunAs = {
  /** For people, such as `user postgres`. */
  readonly label: string;
  /** The user id of the files that it creates. */
  readonly fileOwner: number;
  readonly drop: { readonly uid: number; readonly gid: number } | undefined;
  /** Words before every program; `initWords` before initdb. */
  readonly words: readonly string[];
  readonly initWords: readonly string[];
};

export type Finished = { readonly ok: boolean; readonly code: string | undefined; readonly output: string };

// A fixed search path: only sh, unshare and the programs of initdb are looked up. LC_ALL=C makes messages English.
const minimalEnv = {
  PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin',
  LC_ALL: 'C',
  TZ: 'UTC',
  HOME: '/',
};

// In a user namespace without a mapping, PostgreSQL runs as the overflow user (65534, "nobody").
const inNamespace = ['unshare', '--user', '--'] as const;

/** initdb on a slow disk takes seconds; a minute or two means that it hangs. */
const PROGRAM_TIMEOUT_MS = 120_000;

export function isRoot(): boolean {
  return process.geteuid?.() === 0;
}

/** Returns the ways to run PostgreSQL, best first. With `owner`, only those for a cluster of that user. */
export function waysToRun(owner?: number): RunAs[] {
  const me = process.geteuid?.() ?? -1;
  if (me !== 0) {
    if (owner !== undefined && owner !== me) return [];
    const initWords = hasPasswdEntry() ? [] : inNamespace;
    return [{ label: `user ${nameOf(me)}`, fileOwner: me, drop: undefined, words: [], initWords }];
  }
  const namespace = {
    label: nameOfOwner(0),
    fileOwner: 0,
    drop: undefined,
    words: inNamespace,
    initWords: inNamespace,
  };
  if (owner === 0) return [namespace];
  const entries = passwd();
  if (owner !== undefined) {
    const gid = entries.find((entry) => entry.uid === owner)?.gid ?? owner;
    return [dropTo(owner, gid)];
  }
  const known = ['postgres', 'nobody'].flatMap((name) =>
    entries.filter((entry) => entry.name === name).slice(0, 1),
  );
  return [...known.map((entry) => dropTo(entry.uid, entry.gid)), namespace];
}

/** Returns the name of a cluster's owner for the operator. */
export function nameOfOwner(uid: number): string {
  return uid === 0 ? 'root in a user namespace' : `user ${nameOf(uid)}`;
}

/** Runs a program to its end. Never rejects. `output` has both of its streams. */
export function run(
  as: RunAs,
  program: string,
  args: readonly string[],
  words = as.words,
): Promise<Finished> {
  const [command = program, ...rest] = [...words, program, ...args];
  return new Promise((resolve) => {
    const child = spawn(command, rest, { ...spawnOptions(as), stdio: ['ignore', 'pipe', 'pipe'] });
    // Not spawn's own timeout: after a failed spawn, its timer would keep the process alive.
    const timer = setTimeout(() => child.kill('SIGKILL'), PROGRAM_TIMEOUT_MS);
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    }
    const finish = (finished: Finished): void => {
      clearTimeout(timer);
      resolve(finished);
    };
    child.once('error', (error: NodeJS.ErrnoException) => {
      finish({ ok: false, code: error.code, output: error.message });
    });
    child.once('close', (code, signal) => {
      finish({ ok: code === 0, code: undefined, output: signal ? `${output}\nended by ${signal}` : output });
    });
  });
}

/** Runs a line of sh with `$1` = argument. Returns whether it exits with status 0. */
export async function succeeds(as: RunAs, script: string, argument = ''): Promise<boolean> {
  return (await run(as, '/bin/sh', ['-c', script, 'sh', argument])).ok;
}

/**
 * Returns the options for spawn. Node itself clears the supplementary groups when it changes the user (libuv:
 * setgroups(0)).
 */
export function spawnOptions(as: RunAs): {
  cwd: string;
  env: Record<string, string>;
  uid?: number;
  gid?: number;
} {
  return { cwd: '/', env: { ...minimalEnv }, ...as.drop };
}

function dropTo(uid: number, gid: number): RunAs {
  return { label: nameOfOwner(uid), fileOwner: uid, drop: { uid, gid }, words: [], initWords: [] };
}

function nameOf(uid: number): string {
  return passwd().find((entry) => entry.uid === uid)?.name ?? String(uid);
}

function hasPasswdEntry(): boolean {
  try {
    return userInfo().uid >= 0;
  } catch {
    return false;
  }
}

function passwd(): { name: string; uid: number; gid: number }[] {
  let text: string;
  try {
    text = readFileSync('/etc/passwd', 'utf8');
  } catch {
    return [];
  }
  const lines = text.split('\n').map((line) => line.split(':'));
  return lines.flatMap(([name = '', , uid, gid]) =>
    uid && gid ? [{ name, uid: Number(uid), gid: Number(gid) }] : [],
  );
}
