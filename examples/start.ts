// `npm run example`: Castellan, the two orders APIs and the browser app, together. Ctrl-C ends them all.
import { type ChildProcess, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createServer } from 'vite';
import { CLERK, seed } from './seed.ts';

const folder = fileURLToPath(new URL('.', import.meta.url));
const port = (name: string, fallback: number): number => Number(process.env[name] ?? fallback);
const ports = {
  castellan: port('CASTELLAN_PORT', 8000),
  fastify: port('FASTIFY_PORT', 3001),
  express: port('EXPRESS_PORT', 3002),
  app: port('APP_PORT', 5173),
};
const dataDir = process.env.DATA_DIR ?? join(folder, 'data');
const castellanUrl = `http://localhost:${ports.castellan}`;
const appUrl = `http://localhost:${ports.app}`;
const SUPERUSER = 'admin@example.com';

const children: ChildProcess[] = [];
const stopping = new AbortController();

/** Starts a program that ends with this one. If it ends by itself, everything ends. */
function start(name: string, file: string, environment: Record<string, string>): void {
  const child = spawn(process.execPath, [file], {
    cwd: join(folder, '..'),
    env: { ...process.env, ...environment },
    // Castellan writes its log as JSON lines, because its output is no terminal. Only errors are of interest here.
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  child.once('exit', (code) => {
    if (!stopping.signal.aborted) stop(`${name} ended with status ${code}.`);
  });
  children.push(child);
}

function stop(reason?: string): void {
  if (stopping.signal.aborted) return;
  stopping.abort();
  if (reason) {
    process.stderr.write(`${reason}\n`);
    process.exitCode = 1;
  }
  for (const child of children) child.kill('SIGTERM');
  void app.close();
}

/** Waits until the address answers with a success. Throws once the example stops. */
async function ready(url: string): Promise<void> {
  for (;;) {
    const response = await fetch(url).catch(() => undefined);
    await response?.body?.cancel();
    if (response && response.status < 500) return;
    await sleep(200, undefined, { signal: stopping.signal });
  }
}

// Ctrl-C arrives twice: from the terminal, and from npm, which passes it on.
process.on('SIGINT', () => stop());
process.on('SIGTERM', () => stop());

const app = await createServer({
  configFile: join(folder, 'orders-app/vite.config.ts'),
  root: join(folder, 'orders-app'),
  server: {
    port: ports.app,
    strictPort: true,
    proxy: {
      '/api': castellanUrl,
      '/fastify': {
        target: `http://127.0.0.1:${ports.fastify}`,
        rewrite: (path) => path.slice('/fastify'.length),
      },
      '/express': {
        target: `http://127.0.0.1:${ports.express}`,
        rewrite: (path) => path.slice('/express'.length),
      },
    },
  },
});

try {
  process.stdout.write('Castellan starts …\n');
  start('Castellan', 'packages/server/start.mjs', {
    PORT: String(ports.castellan),
    DATA_DIR: dataDir,
    PUBLIC_URL: appUrl,
    VERIFY_URL: `${appUrl}/#verify={token}`,
    APP_URL: appUrl,
    SERVICE_NAME: 'Orders example',
    FIRST_SUPERUSER_EMAIL: SUPERUSER,
    DEFAULT_ROLE: 'Customer',
    SHUTDOWN_GRACE_SECONDS: '0',
  });
  await ready(`${castellanUrl}/health/ready`);
  const password = (await readFile(join(dataDir, 'first-superuser-password'), 'utf8')).trim();
  const key = await seed(castellanUrl, { email: SUPERUSER, password });
  const guard = { CASTELLAN_URL: castellanUrl, CASTELLAN_API_KEY: key };
  start('The orders API on Fastify', 'examples/orders-fastify/server.ts', {
    ...guard,
    PORT: String(ports.fastify),
  });
  start('The orders API on Express', 'examples/orders-express/server.ts', {
    ...guard,
    PORT: String(ports.express),
  });
  await Promise.all([ports.fastify, ports.express].map((one) => ready(`http://127.0.0.1:${one}/orders`)));
  await app.listen();
  process.stdout.write(`Ready.
  app        ${appUrl}
  clerk      ${CLERK.email}   password: ${CLERK.password}
  superuser  ${SUPERUSER}   password in ${join(dataDir, 'first-superuser-password')}
  Castellan  ${castellanUrl}/docs
  mails      files in ${join(dataDir, 'outbox')}
Ctrl-C ends everything. The data is kept.
`);
} catch (error) {
  if (!stopping.signal.aborted) stop(error instanceof Error ? error.message : String(error));
}
