// Writes docs/openapi.json from the routes. With --check it only reports a stale file (exit status 1).
// It opens no database and no port. The settings are the defaults, so that every machine writes the same bytes.
import { readFile, writeFile } from 'node:fs/promises';
import pg from 'pg';
import { buildApp } from '../../packages/server/src/app.ts';
import { createDeps } from '../../packages/server/src/deps.ts';
import { loadMailTemplates } from '../../packages/server/src/modules/auth/mail-templates.ts';
import { createLog } from '../../packages/server/src/platform/logging/log.ts';
import { createMailTransport } from '../../packages/server/src/platform/mail/transport.ts';
import { createPasswordHasher } from '../../packages/server/src/platform/security/password-hasher.ts';
import { loadSettings } from '../../packages/server/src/settings.ts';

const file = new URL('../../docs/openapi.json', import.meta.url);

/** Returns the document under default settings, as the text of the file. */
export async function generateOpenApi(): Promise<string> {
  const settings = loadSettings({ LOG_LEVEL: 'silent' });
  const pool = new pg.Pool();
  const transport = createMailTransport({
    from: settings.mailFrom,
    senderName: settings.serviceName,
    outboxDir: '',
  });
  const secretKey = Buffer.alloc(32);
  const deps = createDeps({
    settings,
    pool,
    reservedPool: pool,
    log: createLog('silent'),
    secretKey,
    hasher: createPasswordHasher(),
    transport,
    mailTemplates: loadMailTemplates(undefined, settings.language),
    logo: undefined,
    breachFile: null,
    tls: null,
    tallies: null,
    tracing: null,
  });
  const app = await buildApp(deps);
  try {
    await app.ready();
    return `${JSON.stringify(app.swagger(), null, 2)}\n`;
  } finally {
    await app.close();
    await deps.strengthMeter.close();
    transport.close();
    await pool.end();
  }
}

if (import.meta.main) {
  const fresh = await generateOpenApi();
  if (process.argv.includes('--check')) {
    const stored = await readFile(file, 'utf8').catch(() => '');
    if (stored !== fresh) {
      process.stderr.write('docs/openapi.json is stale. Run: node scripts/gen/openapi.ts\n');
      process.exitCode = 1;
    }
  } else {
    await writeFile(file, fresh);
  }
}
