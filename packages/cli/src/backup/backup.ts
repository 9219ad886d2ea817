// `castellan backup`: writes the whole database to one file, while the service runs or not.
import { readFileSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { type BackupResult, backupFrames, packed } from '@castellan/server/modules/backup/service';
import { loadSecretKey } from '@castellan/server/platform/security/secret-key';
import { type Call, UsageError } from '../command.ts';
import { amount, size } from './amounts.ts';
import { type Encryptor, encryptorOf } from './encryption.ts';
import { requireFree, writeAll, writeWhole } from './output-file.ts';
import { progressBar } from './progress.ts';
import { onServer } from './server.ts';

export async function backup(call: Call): Promise<void> {
  const { to, overwrite } = call.values;
  if (typeof to !== 'string' || to === '')
    throw new UsageError('--to is missing. See `castellan help backup`.');
  const toStdout = to === '-';
  if (toStdout && process.stdout.isTTY)
    throw new UsageError('a backup is not text: redirect standard output to a file or a program.');
  const encryptor = encryptorOf(call);
  const withSecretKey = call.values['with-secret-key'] === true;
  if (withSecretKey && encryptor.encryption === 'none')
    throw new UsageError('--with-secret-key needs --passphrase-file or --recipient.');
  if (!toStdout) requireFree(to, overwrite === true);

  await onServer(call, { existing: true }, async ({ settings, pool, database, signal }) => {
    const began = performance.now();
    const secretKey = withSecretKey
      ? (
          await loadSecretKey({ fromEnv: settings.secretKey, dataDir: settings.dataDir, existing: true })
        ).key.toString()
      : undefined;
    const bar = progressBar(process.stderr);
    const client = await pool.connect();
    try {
      let result: BackupResult | undefined;
      const frames = async function* (): AsyncGenerator<Buffer> {
        result = yield* backupFrames(client, {
          version: version(),
          onProgress: bar.report,
          ...(secretKey === undefined ? {} : { secretKey }),
        });
      };
      const file = (): Promise<Readable> => encryptor.encrypt(packed(frames()));
      const bytes = toStdout
        ? await writeAll(process.stdout, file, { signal })
        : await writeWhole(to, file, { overwrite: overwrite === true, signal });
      if (!result) throw new Error('the backup ended early');
      bar.clear();
      report(toStdout ? printOnStderr : call.print, {
        to,
        database,
        result,
        bytes,
        encryptor,
        withSecretKey,
        began,
      });
    } finally {
      bar.clear();
      // Also ends the statement of a backup that was interrupted.
      client.release(true);
    }
  });
}

const version = (): string =>
  JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version;

const printOnStderr = (text: string): void => void process.stderr.write(`${text}\n`);

type Report = {
  to: string;
  database: string;
  result: BackupResult;
  bytes: number;
  encryptor: Encryptor;
  withSecretKey: boolean;
  began: number;
};

function report(print: (text: string) => void, made: Report): void {
  const { header, tables, rows } = made.result;
  const seconds = ((performance.now() - made.began) / 1_000).toFixed(1);
  const target = made.to === '-' ? 'standard output' : made.to;
  print(
    `Backed up ${made.database} as of ${header.created_at}: ${amount(tables, 'table')}, ${amount(rows, 'row')}, in ${seconds} s.`,
  );
  print(`${target}: ${size(made.bytes)}, ${protections[made.encryptor.encryption]}`);
  print(
    `It does not have ${made.withSecretKey ? '' : 'the SECRET_KEY (DATA_DIR/secret.key), '}the settings, the mails in DATA_DIR/outbox, and the rows of: ${header.left_out.join(', ') || 'no table'}.`,
  );
}

const protections = {
  none: 'not encrypted. It has the password hashes and personal data of all users: keep it where nobody else reads it.',
  passphrase: 'encrypted with the passphrase. Without the passphrase, nobody can restore it.',
  recipients: 'encrypted for the given age keys. Without such a key, nobody can restore it.',
};
