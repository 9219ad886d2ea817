// Starts the service as `npm start` does, in a separate process. Its log is discarded, at the default level.
import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** As `npm start` passes it. Node's default of 16 MiB let the service grow to twice the memory, and made nothing faster. */
const nodeOptions = ['--max-semi-space-size=8'];
const ownProgram = fileURLToPath(new URL('../../packages/server/start.mjs', import.meta.url));
/** Fine enough for starts that take half a second. */
const pollMs = 5;
const patienceMs = 60_000;

export type Service = {
  pid: number;
  url: string;
  /** Milliseconds from the start of the process until /health/ready answered 200. */
  startMs: number;
  stop(): Promise<void>;
};

const environment = {
  WORKERS: '1',
  SECRET_KEY: 'a secret key for benchmarks, 32 bytes or more',
  FIRST_SUPERUSER_PASSWORD: 'Vexing#Quartz82Lime',
  RATE_LIMIT_LOGIN: 'off',
  SHUTDOWN_GRACE_SECONDS: '0',
};

/** Starts a service and waits until it is ready. `program`: the start.mjs, possibly of another checkout. */
export async function startService(more: Record<string, string>, program = ownProgram): Promise<Service> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const begin = performance.now();
  const child = spawn(process.execPath, [...nodeOptions, program], {
    env: { PATH: process.env.PATH, ...environment, PORT: String(port), ...more },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const { pid } = child;
  if (pid === undefined) throw new Error('the service could not be started');
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const killed = () => child.kill('SIGKILL');
  process.once('exit', killed);
  while (!(await isReady(url))) {
    if (child.exitCode !== null) throw new Error(`the service ended with ${child.exitCode}`);
    if (performance.now() - begin > patienceMs) {
      killed();
      throw new Error(`the service was not ready within ${patienceMs} ms`);
    }
    await pause(pollMs);
  }
  return {
    pid,
    url,
    startMs: performance.now() - begin,
    async stop() {
      child.kill('SIGTERM');
      const code = await ended;
      process.off('exit', killed);
      if (code !== 0) throw new Error(`the service ended with ${code}`);
    },
  };
}

/** Returns the CSRF cookie and the header with its token, as every state-changing request needs them. */
export async function fetchCsrf(url: string): Promise<{ cookie: string; 'x-csrf-token': string }> {
  const response = await fetch(`${url}/api/v1/auth/csrf-token`);
  const { data }: { data: { csrf_token: string } } = JSON.parse(await response.text());
  const cookie = response.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  return { cookie, 'x-csrf-token': data.csrf_token };
}

async function isReady(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/health/ready`);
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}
