import { identityOption, passphraseOption } from '../../backup/options.ts';
import type { Declaration } from '../../command.ts';

export const declaration: Declaration = {
  arguments: [{ name: '<file>', help: 'The backup; - is standard input.' }],
  options: [passphraseOption, identityOption],
  details: ['Uses no database.'],
  run: async (call) => (await import('../../backup/verify-backup.ts')).verifyBackupCommand(call),
};
