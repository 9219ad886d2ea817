// `npm run dev`: the service, started again on each change, behind Vite's development server, which shows an edit of the
// console without a reload. Ctrl-C stops both. It is for development only.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { createServer } from 'vite';

const root = fileURLToPath(new URL('../..', import.meta.url));
const CONSOLE_PORT = 5173;

const { HOST: host = '127.0.0.1', PORT: port = '8000' } = process.env;
const serviceUrl = `http://${host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host}:${port}`;
// Vite sets NODE_ENV, which is not meant for the service.
const environment = { ...process.env };
// The proxy of vite.config.ts reads it.
process.env.CASTELLAN_URL = serviceUrl;

const pages = await createServer({
  root: fileURLToPath(new URL('.', import.meta.url)),
  server: { port: CONSOLE_PORT, strictPort: false },
});
await pages.listen();
const [address = `http://localhost:${CONSOLE_PORT}/`] = pages.resolvedUrls?.local ?? [];

const service = spawn(process.execPath, ['--watch', 'packages/server/start.mjs', '--sources'], {
  cwd: root,
  stdio: 'inherit',
  env: {
    ...environment,
    // Only the modules of this process are watched.
    WORKERS: process.env.WORKERS ?? '1',
    // Mails link to the pages as they are edited, and the browser keeps the cookie on http.
    PUBLIC_URL: process.env.PUBLIC_URL ?? address.replace(/\/$/, ''),
    COOKIE_SECURE: process.env.COOKIE_SECURE ?? 'false',
  },
});
process.stdout.write(`The console, with every edit: ${address}\nThe service: ${serviceUrl}\n`);

let isStopping = false;
async function stop(status) {
  if (isStopping) return;
  isStopping = true;
  await pages.close();
  process.exit(status);
}

service.on('exit', (status, signal) => void stop(signal === 'SIGINT' ? 130 : (status ?? 1)));
for (const signal of ['SIGINT', 'SIGTERM'])
  process.on(signal, () => {
    // At a terminal, Ctrl-C reaches the service by itself; a signal sent to this process does not.
    if (service.exitCode === null && service.signalCode === null) service.kill(signal);
  });
