// `castellan doctor`: looks at everything that the service depends on, and says what to do. It changes nothing, apart
// from starting an embedded database that is stopped, which it stops again.
import { styleText } from 'node:util';
import { listSigningKeys } from '@castellan/server/modules/sessions/keys/revocation';
import { createLog } from '@castellan/server/platform/logging/log';
import { canonicalEmail } from '@castellan/server/platform/security/email';
import { loadSettings, type Settings } from '@castellan/server/settings';
import { explainStartFailure } from '@castellan/server/start/failure';
import { type Foundation, openFoundation } from '@castellan/server/start/foundation';
import { jsonText, printable } from '../api/text.ts';
import { type Call, Failure, optionOf, UsageError } from '../command.ts';
import { lookAtPlainAddresses } from './addresses.ts';
import { lookAtCertificate } from './certificate.ts';
import { lookAtClock, lookAtPooler, lookAtSchema, lookAtServer } from './database.ts';
import { lookAtFeed } from './feed.ts';
import { type Finding, type Level, ok, probe, warn } from './finding.ts';
import { lookAtKeys } from './keys.ts';
import { lookAtAddress, lookAtConsole, lookAtDisk } from './machine.ts';
import { lookAtMail } from './mail.ts';
import { lookAtNotices } from './notices.ts';
import { lookAtPasskeys } from './passkeys.ts';
import { lookAtProviders } from './providers.ts';
import { lookAtWebhooks } from './webhooks.ts';

/** Prints what it finds. Rejects with a Failure if something is bad. */
export async function doctor(call: Call): Promise<void> {
  const recipient = recipientOf(call);
  const findings: Finding[] = [];
  const isJson = call.values.json === true;
  const add = (found: readonly Finding[]) => {
    findings.push(...found);
    if (!isJson) for (const finding of found) call.print(lineOf(finding));
  };
  const read: { settings?: Settings } = {};
  add(
    await probe('settings', 'Correct the settings; `castellan check-config` shows them.', async () => {
      read.settings = loadSettings(call.environment);
      return read.settings.warnings.length > 0
        ? read.settings.warnings.map((text) => warn(text, 'See docs/configuration.md.'))
        : [ok('every setting can be used')];
    }),
  );
  if (read.settings) await examine(read.settings, recipient, add);
  const count = (level: Level) => findings.filter((one) => one.level === level).length;
  if (isJson) call.print(jsonText({ ok: count('bad') === 0, findings }, 2));
  else call.print(`${count('ok')} fine, ${count('warn')} to look at, ${count('bad')} bad.`);
  if (count('bad') > 0)
    throw new Failure(1, isJson ? '' : 'something is bad: see above. Nothing was changed.');
}

function recipientOf(call: Call): string | null {
  const text = optionOf(call, 'send-to');
  if (text === undefined) return null;
  const email = canonicalEmail(text);
  if (email === null) throw new UsageError('--send-to is not an email address.');
  return email;
}

async function examine(
  settings: Settings,
  recipient: string | null,
  add: (found: readonly Finding[]) => void,
): Promise<void> {
  add(await probe('disk', 'Check DATA_DIR.', () => lookAtDisk(settings)));
  add(await probe('console', 'Run `npm run build`.', lookAtConsole));
  const keyIds = await withDatabase(settings, add);
  add(
    await probe(
      'mail',
      'Check SMTP_URL and the mail server; its log has more.',
      () => lookAtMail(settings, recipient),
      MAIL_MS,
    ),
  );
  add(
    await probe('certificate', 'Correct TLS_CERT_FILE and TLS_KEY_FILE.', () => lookAtCertificate(settings)),
  );
  add(await probe('address', 'Check PUBLIC_URL and the proxy.', () => lookAtAddress(settings, keyIds)));
}

/** A mail server may take this long to accept a connection, and then a mail. */
const MAIL_MS = 60_000;

/** Returns the ids of the signing keys; null if the database does not tell. */
async function withDatabase(
  settings: Settings,
  add: (found: readonly Finding[]) => void,
): Promise<string[] | null> {
  const opened: { foundation?: Foundation; isReached?: true } = {};
  const advice = 'Check DATABASE_URL, DATA_DIR and SECRET_KEY: docs/operate/install.md.';
  const look = async () => {
    opened.foundation = await open(settings);
    const reports = await lookAtServer(opened.foundation.deps.pool, settings.databasePoolSize);
    opened.isReached = true;
    return reports;
  };
  add(await probe('database', advice, look, DATABASE_MS));
  const { foundation, isReached } = opened;
  try {
    return foundation && isReached ? await examineDatabase(foundation, add) : null;
  } finally {
    await foundation?.close();
  }
}

async function examineDatabase(
  foundation: Foundation,
  add: (found: readonly Finding[]) => void,
): Promise<string[] | null> {
  const { deps } = foundation;
  add(await probe('database', 'Check the load of the database.', () => lookAtClock(deps.pool)));
  add(await probe('database', 'See docs/operate/high-availability.md.', () => lookAtPooler(foundation)));
  add(await probe('database', 'See docs/operate/upgrade.md.', () => lookAtSchema(foundation)));
  add(await probe('keys', 'See docs/operate/secrets.md.', () => lookAtKeys(foundation)));
  add(await probe('applications', 'See docs/operate/openid.md.', () => lookAtNotices(deps.pool)));
  add(await probe('applications', 'See docs/operate/openid.md.', () => lookAtPlainAddresses(deps.pool)));
  add(await probe('providers', 'See docs/administer/sign-in-providers.md.', () => lookAtProviders(deps)));
  add(await probe('webhooks', 'See docs/integrate/webhooks.md.', () => lookAtWebhooks(deps)));
  add(
    await probe('feed', 'See docs/integrate/live-decisions.md.', () => lookAtFeed(deps.pool, deps.settings)),
  );
  add(await probe('passkeys', 'See docs/operate/upgrade.md.', () => lookAtPasskeys(foundation)));
  return listSigningKeys(deps.db).then(
    (keys) => keys.map(({ id }) => id),
    () => null,
  );
}

/** Starting an embedded database after a crash may take this long. */
const DATABASE_MS = 60_000;

const open = async (settings: Settings): Promise<Foundation> => {
  try {
    // What it would log are findings of their own.
    return await openFoundation({
      settings,
      log: createLog('silent', { write: () => undefined }),
      print: () => undefined,
      existing: true,
    });
  } catch (error) {
    throw new Error(explainStartFailure(error, settings.dataDir), { cause: error });
  }
};

const styles = { ok: 'green', warn: 'yellow', bad: 'red' } as const;

function lineOf({ area, level, text, advice }: Finding): string {
  // Colours only at a terminal, and not with NO_COLOR.
  const label = styleText(styles[level], level.padEnd(5), { stream: process.stdout });
  const line = `${label} ${area.padEnd(9)} ${printable(text)}`;
  return advice === null ? line : `${line}\n${' '.repeat(16)}→ ${printable(advice)}`;
}
