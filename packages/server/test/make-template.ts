// Migrates and seeds the template that test databases are copied from. Run by scripts/test.ts.
import { prepareDatabase } from '../src/database-start.ts';
import { createPool } from '../src/platform/db/pool.ts';
import { createLog } from '../src/platform/log.ts';
import { createPasswordHasher } from '../src/platform/security/password-hasher.ts';
import { ADMIN, TEST_SECRET_KEY } from './harness.ts';
import { urlOfDatabase } from './scratch-database.ts';

const connection = urlOfDatabase(process.env.TEST_DATABASE_TEMPLATE as string);
const pool = createPool({ connection, maxConnections: 3, unbounded: true }, createLog('warn'));
await prepareDatabase(pool, createPasswordHasher(), Buffer.from(TEST_SECRET_KEY), {
  firstSuperuserEmail: ADMIN.email,
  firstSuperuserPassword: ADMIN.password,
});
await pool.end();
