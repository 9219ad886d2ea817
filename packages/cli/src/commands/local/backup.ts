import { passphraseOption } from '../../backup/options.ts';
import type { Declaration } from '../../command.ts';

export const declaration: Declaration = {
  usage: '--to <file> [--passphrase-file <path> | --recipient <age1…>] [--with-secret-key] [--overwrite]',
  options: [
    { flags: '--to <file>', help: 'The file to write; - is standard output.' },
    passphraseOption,
    { flags: '--recipient <age1…>', help: 'Encrypt for an age key, or for several, separated by commas.' },
    { flags: '--with-secret-key', help: 'Include the SECRET_KEY. Needs encryption.' },
    { flags: '--overwrite', help: 'Replace an existing file.' },
  ],
  details: [
    'The file has every table as of one moment. It appears under its name only when it is whole.',
    'It does not have the settings, the SECRET_KEY, and the mails in DATA_DIR/outbox.',
  ],
  run: async (call) => (await import('../../backup/backup.ts')).backup(call),
};
