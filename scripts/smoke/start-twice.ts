// Starts the service as a new user does, signs in, stops it with Ctrl-C, starts it again and finds its data.
// It must not know where the program comes from.
import { type ChildProcess, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { removeSystemHome } from '@castellan/embedded-postgres/testing';
import { freePort } from '@castellan/testing/ports';

// A first start takes 1 to 2 s on an idle machine, a stop takes less.
const START_MS = 60_000;
const STOP_MS = 20_000;

/** A program and its arguments, which start the service in the foreground. */
export type Command = [program: string, ...args: string[]];

type Started = { child: ChildProcess; pid: number; url: string; printed: () => string };

export const say = (text: string): void => {
  process.stdout.write(`smoke: ${text}\n`);
};

async function start(folder: string, [program, ...args]: Command, port: number): Promise<Started> {
  // In a separate process group, so that the signal reaches npm and the service, as Ctrl-C does.
  const child = spawn(program, args, {
    cwd: folder,
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...process.env,
      PORT: String(port),
      DATABASE_URL: '',
      SECRET_KEY: '',
      DATA_DIR: '',
      SHUTDOWN_GRACE_SECONDS: '0',
    },
  });
  const { pid } = child;
  if (pid === undefined) throw new Error(`${program} could not be run`);
  let printed = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
  });
  const url = `http://127.0.0.1:${port}`;
  const end = performance.now() + START_MS;
  while (!(await isReady(url))) {
    if (child.exitCode !== null) throw new Error(`${program} ended with ${child.exitCode}:\n${printed}`);
    if (performance.now() > end) throw new Error(`not ready after ${START_MS} ms:\n${printed}`);
    await wait(100);
  }
  return { child, pid, url, printed: () => printed };
}

const isReady = (url: string): Promise<boolean> =>
  fetch(`${url}/health/ready`).then(
    (answer) => answer.ok,
    () => false,
  );

async function interrupt({ child, pid, url }: Started): Promise<void> {
  process.kill(-pid, 'SIGINT');
  const end = performance.now() + STOP_MS;
  while (child.exitCode === null && child.signalCode === null) {
    if (performance.now() > end) throw new Error(`still running ${STOP_MS} ms after SIGINT`);
    await wait(50);
  }
  if (child.exitCode !== 0) throw new Error(`SIGINT ended it with ${child.exitCode ?? child.signalCode}`);
  if (await isReady(url)) throw new Error('the command has ended, but the service still answers');
}

type Answer = { data: { csrf_token: string; access_token: string; user: { email: string } } };

async function login(url: string, password: string): Promise<string> {
  const first = await fetch(`${url}/api/v1/auth/csrf-token`);
  const cookie = first.headers
    .getSetCookie()
    .map((one) => one.split(';')[0])
    .join('; ');
  const { data }: Answer = JSON.parse(await first.text());
  const answer = await fetch(`${url}/api/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-csrf-token': data.csrf_token, cookie },
    body: JSON.stringify({ email: 'admin@example.com', password }),
  });
  if (answer.status !== 200) throw new Error(`login answered ${answer.status}: ${await answer.text()}`);
  const signedIn: Answer = JSON.parse(await answer.text());
  return signedIn.data.access_token;
}

async function requirePages(url: string, paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    const answer = await fetch(`${url}${path}`, { headers: { accept: 'text/html, application/json' } });
    await answer.arrayBuffer();
    if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}`);
  }
}

/** The reference is made of files beside the code. */
export const referencePages = ['/docs', '/docs/openapi.json'];

/**
 * Runs `command` twice in `folder`, on a separate database there. `pages`: paths that must be answered 200. Rejects with
 * what went wrong.
 */
export async function startTwice(folder: string, command: Command, pages: readonly string[]): Promise<void> {
  const dataDir = join(folder, 'data');
  const port = await freePort();
  let running: Started | undefined;
  try {
    running = await start(folder, command, port);
    const kept = join(dataDir, 'first-superuser-password');
    // The service is ready a moment before the file exists.
    for (let waits = 0; waits < 100 && !running.printed().includes(kept); waits += 1) await wait(100);
    const password = (await readFile(kept, 'utf8')).trimEnd();
    if (running.printed().includes(password)) throw new Error('the password was printed');
    const token = await login(running.url, password);
    await requirePages(running.url, pages);
    say('first start: ready, the kept password signs in');
    await interrupt(running);
    say('SIGINT: clean exit');

    running = await start(folder, command, port);
    const authorization = `Bearer ${token}`;
    const me = await fetch(`${running.url}/api/v1/users/me`, { headers: { authorization } });
    if (me.status !== 200) throw new Error(`an earlier session gets status ${me.status} after a restart`);
    if (running.printed().includes(kept)) throw new Error('the second start created a superuser again');
    await login(running.url, password);
    say('second start: the earlier session and the password still work');
    await interrupt(running);
    running = undefined;
  } finally {
    if (running?.child.exitCode === null && running.child.signalCode === null)
      process.kill(-running.pid, 'SIGKILL');
    // Started by root, the service keeps its database outside DATA_DIR.
    await removeSystemHome(dataDir);
  }
}
