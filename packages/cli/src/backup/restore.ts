// `castellan restore`: restores a backup into an empty database. It must not touch a database before the whole backup has
// been checked.
import {
  type BackupContents,
  type RestoreChoices,
  verifyBackup,
} from '@castellan/server/modules/backup/service';
import { isConnectionLost } from '@castellan/server/platform/db/failures';
import { loadSecretKey, planSecretKey } from '@castellan/server/platform/security/secret-key';
import {
  type Restored,
  requireKnownMigrations,
  restoreDatabase,
} from '@castellan/server/start/database/restore-database';
import { printable } from '../api/text.ts';
import { type Call, UsageError } from '../command.ts';
import { amount } from './amounts.ts';
import { decryptorOf } from './encryption.ts';
import { openBackup } from './input-file.ts';
import { progressBar } from './progress.ts';
import { onServer } from './server.ts';
import { described } from './verify-backup.ts';

export async function restore(call: Call): Promise<void> {
  const { from } = call.values;
  if (typeof from !== 'string' || from === '')
    throw new UsageError('--from is missing. See `castellan help restore`.');
  const keepsSessions = call.values['keep-sessions'] === true;
  if (keepsSessions && call.values['end-sessions'] === true)
    throw new UsageError('--end-sessions and --keep-sessions exclude each other: leave out one.');
  const file = await openBackup(from, decryptorOf(call), process.stdin);
  try {
    const contents = await verifyBackup(file.read());
    await requireKnownMigrations(contents.header);
    call.print(described(file, contents));

    await onServer(call, { existing: false }, async ({ settings, log, pool, database, signal }) => {
      const began = performance.now();
      const { sessions, putKey, keyIsIn, takeBackKey } = await planKey(call, settings, contents);
      const bar = progressBar(process.stderr);
      try {
        const restored = await restoreDatabase(pool, file.read(), {
          log,
          sessions,
          revokeApiKeys: call.values['revoke-api-keys'] === true,
          totalBytes: contents.tables.reduce((sum, { bytes }) => sum + bytes, 0),
          onProgress: bar.report,
          signal,
          beforeCommit: putKey,
        }).catch(async (error: unknown) => {
          bar.clear();
          await takeBackKey(error);
          throw error;
        });
        bar.clear();
        keyIsIn();
        const seconds = (performance.now() - began) / 1_000;
        report(call, { database, contents, restored, keepsSessions, seconds });
      } finally {
        bar.clear();
      }
    });
  } finally {
    await file.close();
  }
}

type KeyPlan = {
  /** What becomes of the sessions. */
  sessions: RestoreChoices['sessions'];
  /** Puts the SECRET_KEY of the backup where it is missing. */
  putKey(): Promise<void>;
  /** Tells where the key is. */
  keyIsIn(): void;
  /** After a restore that failed: removes what `putKey` wrote, unless the restore may have been committed all the same. */
  takeBackKey(error: unknown): Promise<void>;
};

async function planKey(
  call: Call,
  { secretKey, dataDir }: { secretKey?: string | undefined; dataDir: string },
  { header }: BackupContents,
): Promise<KeyPlan> {
  const planned =
    header.secret_key !== undefined && secretKey === undefined
      ? await planSecretKey(dataDir, header.secret_key)
      : undefined;
  let isPlannedKey: boolean | undefined;
  const plan = {
    async putKey() {
      isPlannedKey = await planned?.write();
    },
    keyIsIn() {
      if (isPlannedKey === undefined) return;
      call.print(
        isPlannedKey
          ? `The SECRET_KEY of the backup is in ${dataDir}/secret.key.`
          : `${dataDir}/secret.key has another SECRET_KEY than the backup. It stays.`,
      );
    },
    async takeBackKey(error: unknown) {
      if (!isPlannedKey) return;
      if (isConnectionLost(error))
        call.print(
          `The connection ended during the commit: if the database is not empty, it is restored. ${dataDir}/secret.key stays: delete it if the database is empty.`,
        );
      else await planned?.undo();
    },
  };
  if (call.values['keep-sessions'] !== true) return { sessions: 'end', ...plan };
  const { key } = planned ?? (await loadSecretKey({ fromEnv: secretKey, dataDir, existing: true }));
  return { sessions: { secretKey: key }, ...plan };
}

type Report = {
  database: string;
  contents: BackupContents;
  restored: Restored;
  keepsSessions: boolean;
  seconds: number;
};

function report({ print }: Call, { database, contents, restored, keepsSessions, seconds }: Report): void {
  const time = contents.header.created_at;
  print(
    `Restored into ${database}: ${amount(restored.tables, 'table')}, ${amount(restored.rows, 'row')}, in ${seconds.toFixed(1)} s.`,
  );
  if (restored.skipped.length > 0)
    print(
      `Not restored, because they are not tables of Castellan: ${restored.skipped.map(printable).join(', ')}.`,
    );
  if (restored.migrated.length > 0) print(`Migrated: ${restored.migrated.join(', ')}.`);
  print(
    keepsSessions
      ? `Sessions, links and signing keys that ended after ${time} are valid again.`
      : `Ended: ${amount(restored.sessions, 'session')}, ${amount(restored.links, 'mailed link')}, ${amount(restored.mails, 'waiting mail')}. Every signing key is revoked; the next start creates new ones.`,
  );
  if (restored.recoveryCodes > 0)
    print(
      `Recovery codes that were used after ${time} work again. Users can make new ones; reset the second factors of those who lost theirs.`,
    );
  if (restored.plannedDeletions > 0)
    print(
      `Deleted by their owners: ${amount(restored.plannedDeletions, 'account')}, with any that its owner kept after ${time}. They are not active, the links that keep them are gone, and none is removed within 7 days. Activate those that stay.`,
    );
  if (restored.revokedApiKeys > 0) print(`Revoked: ${amount(restored.revokedApiKeys, 'API key')}.`);
  if (restored.revokedSecrets > 0)
    print(`Revoked: ${amount(restored.revokedSecrets, 'secret')} of applications. Create new ones.`);
  if (restored.validApiKeys > 0)
    print(
      `Valid: ${amount(restored.validApiKeys, 'API key')}, with any that was revoked after ${time}. Check them, or restore with --revoke-api-keys.`,
    );
  if (restored.validSecrets > 0)
    print(
      `Valid: ${amount(restored.validSecrets, 'secret')} of applications, with any that was revoked after ${time}. Check them, or restore with --revoke-api-keys.`,
    );
  print(
    `Repeat every security change made after ${time}: deactivated accounts, removed roles, changed passwords. Then start the service.`,
  );
}
