// Looks at SECRET_KEY and at the signing keys that are encrypted with it.
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { opensOne } from '@castellan/server/modules/factors/unreadable';
import { listSigningKeys } from '@castellan/server/modules/sessions/keys/revocation';
import type { Foundation } from '@castellan/server/start/foundation';
import { bad, ok, type Report, warn } from './finding.ts';

const DAY_MS = 86_400_000;
/** Signing keys do not wear out, but a rotation that nobody has tried for a year is one that may fail when it matters. */
const OLD_DAYS = 365;

/** Rejects with what to do if SECRET_KEY does not decrypt the keys. */
export async function lookAtKeys({ deps }: Foundation): Promise<Report[]> {
  const { rows } = await deps.pool.query<{ there: boolean }>(
    `select to_regclass('signing_keys') is not null as there`,
  );
  if (!rows[0]?.there) return [ok('there are no signing keys yet; the first start makes one')];
  await deps.keyRing.load();
  deps.keyRing.current();
  const keys = await listSigningKeys(deps.db);
  const signing = keys.find(({ family, state }) => family.purpose === 'session' && state === 'signing');
  const days = Math.max(0, Math.floor((Date.now() - (signing?.signsFrom.getTime() ?? 0)) / DAY_MS));
  const text = `SECRET_KEY decrypts the signing keys; key ${signing?.id} signs for ${days} days`;
  return [
    days < OLD_DAYS ? ok(text) : warn(text, 'Rotate it: `castellan rotate-keys`.'),
    ...(await lookAtFile(deps.settings)),
    ...(await lookAtApps(deps)),
  ];
}

/** Opens one sealed secret. */
async function lookAtApps(deps: Foundation['deps']): Promise<Report[]> {
  const { rows } = await deps.pool.query<{ there: boolean }>(
    `select to_regclass('totp_factors') is not null as there`,
  );
  const opens = rows[0]?.there ? await opensOne(deps) : null;
  if (opens === null) return [];
  return [
    opens
      ? ok('SECRET_KEY opens the secrets of authenticator apps')
      : bad(
          'SECRET_KEY does not open the secrets of authenticator apps, so their codes are refused',
          'Start with the former SECRET_KEY, or suspend these apps: `castellan reset-keys`.',
        ),
  ];
}

async function lookAtFile({ secretKey, dataDir }: Foundation['deps']['settings']): Promise<Report[]> {
  if (secretKey !== undefined) return [ok('SECRET_KEY is a setting')];
  const path = join(dataDir, 'secret.key');
  const { mode } = await stat(path);
  return [
    (mode & 0o077) === 0
      ? ok(`${path} can be read by its owner only. Back it up: without it, every session ends`)
      : bad(
          `${path} can be read by others`,
          `Run \`chmod 600 ${path}\`. If others may have read it, replace it: docs/operate/secrets.md.`,
        ),
  ];
}
