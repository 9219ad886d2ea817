// `castellan verify-backup`: reads and checks a whole backup and shows what is in it. Uses no database.
import { type BackupContents, verifyBackup } from '@castellan/server/modules/backup/service';
import { requireKnownMigrations } from '@castellan/server/start/database/restore-database';
import { printable } from '../api/text.ts';
import { argumentOf, type Call } from '../command.ts';
import { amount, count, size } from './amounts.ts';
import { decryptorOf } from './encryption.ts';
import { type BackupFile, openBackup } from './input-file.ts';

export async function verifyBackupCommand(call: Call): Promise<void> {
  const file = await openBackup(argumentOf(call, 'file'), decryptorOf(call), process.stdin);
  try {
    const contents = await verifyBackup(file.read());
    call.print(described(file, contents));
    const width = Math.max(...contents.tables.map(({ name }) => printable(name).length)) + 2;
    const rowWidth = Math.max(...contents.tables.map(({ rows }) => count(rows).length));
    for (const { name, rows, bytes } of contents.tables)
      call.print(
        `  ${printable(name).padEnd(width)}${count(rows).padStart(rowWidth)} ${rows === 1 ? 'row ' : 'rows'}  ${size(bytes)}`,
      );
    await requireKnownMigrations(contents.header);
    call.print('The backup is whole, and this version can restore it.');
  } finally {
    await file.close();
  }
}

const encryptions = (file: BackupFile): string =>
  ({
    none: 'not encrypted',
    passphrase: 'encrypted with a passphrase',
    recipients: `encrypted for ${amount(file.recipients, 'age key')}`,
  })[file.encryption];

/** Returns lines that say what the backup is. Anybody may have written it: no terminal obeys what is in it. */
export const described = (file: BackupFile, { header, tables, rows }: BackupContents): string =>
  [
    `Backup of ${header.created_at}, by Castellan ${header.castellan} from PostgreSQL ${header.postgres}, schema ${header.migrations.at(-1)?.name}.`,
    `${amount(tables.length, 'table')}, ${amount(rows, 'row')}, ${size(file.size)}, ${encryptions(file)}, ${header.secret_key === undefined ? 'without' : 'with'} the SECRET_KEY.`,
  ]
    .map(printable)
    .join('\n');
