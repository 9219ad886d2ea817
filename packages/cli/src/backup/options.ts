// The options that name the key of a backup.
import type { Option } from '../command.ts';

export const passphraseOption: Option = {
  flags: '--passphrase-file <path>',
  help: 'A file with the passphrase. Default: the file named by CASTELLAN_BACKUP_PASSPHRASE_FILE.',
};

export const identityOption: Option = {
  flags: '--identity <path>',
  help: 'A file with the age key that decrypts the backup.',
};
