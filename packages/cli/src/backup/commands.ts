// The commands that back up, check and restore the database.
import type { Command } from '../command.ts';

const keyLines = [
  '--passphrase-file <path>   A file with the passphrase. Default: the file named by CASTELLAN_BACKUP_PASSPHRASE_FILE.',
];

export const backupCommands: Readonly<Record<string, Command>> = {
  backup: {
    summary: 'Back up the database to a file, while the service runs or not.',
    usage: '--to <file> [--passphrase-file <path> | --recipient <age1…>] [--with-secret-key] [--overwrite]',
    details: [
      'The file has every table as of one moment. It appears under its name only when it is whole.',
      'It does not have the settings, the SECRET_KEY, and the mails in DATA_DIR/outbox.',
      '--to -                     Write to standard output.',
      ...keyLines,
      '--recipient <age1…>        Encrypt for an age key, or for several, separated by commas.',
      '--with-secret-key          Include the SECRET_KEY. Needs encryption.',
      '--overwrite                Replace an existing file.',
    ],
    options: {
      to: { type: 'string' },
      'passphrase-file': { type: 'string' },
      recipient: { type: 'string' },
      'with-secret-key': { type: 'boolean', default: false },
      overwrite: { type: 'boolean', default: false },
    },
    run: async (call) => (await import('./backup.ts')).backup(call),
  },
  restore: {
    summary: 'Restore a backup into an empty database. Ends every session, unless told otherwise.',
    usage:
      '--from <file> [--passphrase-file <path> | --identity <path>] [--keep-sessions] [--revoke-api-keys]',
    details: [
      'Stop every instance first. The whole backup is checked before the database is touched; then everything is',
      'restored, or nothing. A backup of an earlier version is migrated.',
      '--from -                   Read from standard input, by way of a temporary file.',
      ...keyLines,
      '--identity <path>          A file with the age key that decrypts the backup.',
      '--end-sessions             End sessions, mailed links, waiting mails and signing keys. This is the default.',
      '--keep-sessions            Keep them: for moving a service that was stopped before the backup. Needs its SECRET_KEY.',
      '--revoke-api-keys          Revoke every API key. Otherwise keys that were revoked after the backup are valid again.',
    ],
    options: {
      from: { type: 'string' },
      'passphrase-file': { type: 'string' },
      identity: { type: 'string' },
      'end-sessions': { type: 'boolean', default: false },
      'keep-sessions': { type: 'boolean', default: false },
      'revoke-api-keys': { type: 'boolean', default: false },
    },
    run: async (call) => (await import('./restore.ts')).restore(call),
  },
  'verify-backup': {
    summary: 'Read a whole backup, check it, and show what is in it.',
    usage: '<file> [--passphrase-file <path> | --identity <path>]',
    details: [
      'Uses no database. The file - is standard input.',
      ...keyLines,
      '--identity <path>          A file with the age key that decrypts the backup.',
    ],
    options: { 'passphrase-file': { type: 'string' }, identity: { type: 'string' } },
    operand: 'file',
    run: async (call) => (await import('./verify-backup.ts')).verifyBackupCommand(call),
  },
};
