// Migrates and seeds the template database that test databases are copied from. scripts/test.ts runs it.
import { createPool } from '@castellan/server/platform/db/pool';
import { createLog } from '@castellan/server/platform/logging/log';
import { prepareDatabase } from '@castellan/server/start/database/prepare-database';
import { ADMIN, TEST_SECRET_KEY } from './harness.ts';
import { createCheapHasher } from './hashing.ts';
import { urlOfDatabase } from './scratch-database.ts';

const template = process.env.TEST_DATABASE_TEMPLATE;
if (template === undefined) throw new Error('TEST_DATABASE_TEMPLATE is not set: run scripts/test.ts');
const connection = urlOfDatabase(template);
const log = createLog('warn');
const pool = createPool({ connection, maxConnections: 3, unbounded: true }, log);
await prepareDatabase(pool, {
  hasher: createCheapHasher(),
  secretKey: Buffer.from(TEST_SECRET_KEY),
  settings: { firstSuperuserEmail: ADMIN.email, firstSuperuserPassword: ADMIN.password },
  log,
  tell: (text) => log.warn(text),
});
await pool.end();
