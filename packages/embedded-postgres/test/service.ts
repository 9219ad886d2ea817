/**
 * A service process for the tests: starts the embedded PostgreSQL with the options in argv (JSON), reports events as
 * lines of JSON, and executes the commands on its input. Like a service that drains, it must not stop on SIGINT. It
 * never calls process.exit(), so that tests notice what keeps it alive.
 */
import { createInterface } from 'node:readline';
import pg from 'pg';
import { startEmbeddedPostgres } from '../src/index.ts';

const tell = (event: string, more: object = {}): void => {
  process.stdout.write(`${JSON.stringify({ event, ...more })}\n`);
};

process.on('SIGINT', () => tell('interrupted'));

try {
  const options = JSON.parse(process.argv[2] ?? '{}');
  const server = await startEmbeddedPostgres({
    ...options,
    log: (line) => tell('log', { line }),
    onRestart: () => tell('restarted'),
  });
  const { stop, ...described } = server;
  tell('ready', described);
  for await (const order of createInterface({ input: process.stdin })) {
    if (order === 'stop') break;
    if (order === 'write') void writeForEver();
  }
  await stop();
  tell('stopped');
  // The pipe from the test; nothing else may keep this process alive.
  process.stdin.destroy();

  async function writeForEver(): Promise<void> {
    const client = new pg.Client(server.connection);
    client.on('error', () => undefined);
    await client.connect();
    await client.query('create table if not exists written (number bigint primary key)');
    for (let number = 1; ; number += 1) {
      await client.query('insert into written values ($1)', [number]);
      tell('acknowledged', { number });
    }
  }
} catch (error) {
  tell(
    'failed',
    error instanceof Error ? { name: error.name, message: error.message } : { message: String(error) },
  );
  process.exitCode = 1;
}
