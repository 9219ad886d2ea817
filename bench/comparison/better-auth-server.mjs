// The smallest server of better-auth with email and password, for the comparison that bench/comparison/better-auth.ts starts.
// It is copied into the folder that better-auth is installed in, and must not import anything of this repository.
import { createServer } from 'node:http';
import { betterAuth } from 'better-auth';
import { getMigrations } from 'better-auth/db/migration';
import { toNodeHandler } from 'better-auth/node';
import pg from 'pg';

const auth = betterAuth({
  baseURL: 'http://127.0.0.1',
  secret: 'a secret key for benchmarks, 32 bytes or more',
  database: new pg.Pool(JSON.parse(process.env.CONNECTION)),
  emailAndPassword: { enabled: true },
  rateLimit: { enabled: false },
  telemetry: { enabled: false },
  logger: { level: 'error' },
});
const { runMigrations } = await getMigrations(auth.options);
await runMigrations();
const server = createServer(toNodeHandler(auth));
server.listen(0, '127.0.0.1', () => process.stdout.write(`http://127.0.0.1:${server.address().port}\n`));
