// What a stranger does: clones the project into an empty folder, installs without scripts, starts it, stops it with
// Ctrl-C, starts it again and finds everything there. It must use nothing of the checkout but its commits.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

const root = new URL('..', import.meta.url).pathname;
// A first start takes 1 to 2 s on an idle machine, a stop less.
const START_MS = 60_000;
const STOP_MS = 20_000;

type Started = { child: ChildProcess; url: string; printed: () => string };

const say = (text: string): void => {
  process.stdout.write(`smoke: ${text}\n`);
};

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function start(folder: string, port: number): Promise<Started> {
  // A group of its own: Ctrl-C reaches npm and the service alike.
  const child = spawn('npm', ['start'], {
    cwd: folder,
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, PORT: String(port), DATABASE_URL: '', SECRET_KEY: '', DATA_DIR: '' },
  });
  let printed = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
  });
  const url = `http://127.0.0.1:${port}`;
  const end = performance.now() + START_MS;
  while (!(await isReady(url))) {
    if (child.exitCode !== null) throw new Error(`\`npm start\` ended with ${child.exitCode}:\n${printed}`);
    if (performance.now() > end) throw new Error(`not ready after ${START_MS} ms:\n${printed}`);
    await wait(100);
  }
  return { child, url, printed: () => printed };
}

const isReady = (url: string): Promise<boolean> =>
  fetch(`${url}/health/ready`).then(
    (answer) => answer.ok,
    () => false,
  );

async function interrupt({ child, url }: Started): Promise<void> {
  process.kill(-(child.pid as number), 'SIGINT');
  const end = performance.now() + STOP_MS;
  while (child.exitCode === null && child.signalCode === null) {
    if (performance.now() > end) throw new Error(`still there ${STOP_MS} ms after SIGINT`);
    await wait(50);
  }
  if (child.exitCode !== 0) throw new Error(`SIGINT ended it with ${child.exitCode ?? child.signalCode}`);
  if (await isReady(url)) throw new Error('npm is gone, but the service still answers');
}

type Answer = { data: { csrf_token: string; access_token: string; user: { email: string } } };

async function login(url: string, password: string): Promise<string> {
  const first = await fetch(`${url}/api/v1/auth/csrf-token`);
  const cookie = first.headers
    .getSetCookie()
    .map((one) => one.split(';')[0])
    .join('; ');
  const { data } = (await first.json()) as Answer;
  const answer = await fetch(`${url}/api/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-csrf-token': data.csrf_token, cookie },
    body: JSON.stringify({ email: 'admin@example.com', password }),
  });
  if (answer.status !== 200) throw new Error(`login answered ${answer.status}: ${await answer.text()}`);
  return ((await answer.json()) as Answer).data.access_token;
}

const folder = await mkdtemp(join(tmpdir(), 'castellan-smoke-'));
let running: Started | undefined;
try {
  const clone = join(folder, 'castellan');
  execFileSync('git', ['clone', '--quiet', '--no-hardlinks', root, clone], { stdio: 'inherit' });
  execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: clone,
    stdio: 'inherit',
  });
  const port = await freePort();

  running = await start(clone, port);
  const password = /^ +password +(\S+)/m.exec(running.printed())?.[1];
  if (!password) throw new Error(`no password was printed:\n${running.printed()}`);
  const token = await login(running.url, password);
  say('first start: ready, the printed password signs in');
  await interrupt(running);
  say('SIGINT: clean exit');

  running = await start(clone, port);
  const me = await fetch(`${running.url}/api/v1/users/me`, { headers: { authorization: `Bearer ${token}` } });
  if (me.status !== 200) throw new Error(`the session of before answers ${me.status} after a restart`);
  if (/^ +password/m.test(running.printed())) throw new Error('the second start made a superuser again');
  await login(running.url, password);
  say('second start: the session of before and the password are still good');
  await interrupt(running);
  running = undefined;
} finally {
  const { child } = running ?? {};
  if (child?.exitCode === null && child.signalCode === null) process.kill(-(child.pid as number), 'SIGKILL');
  await rm(folder, { recursive: true, force: true });
}
