import { identityOption, passphraseOption } from '../../backup/options.ts';
import type { Declaration } from '../../command.ts';

export const declaration: Declaration = {
  usage: '--from <file> [--passphrase-file <path> | --identity <path>] [--keep-sessions] [--revoke-api-keys]',
  options: [
    { flags: '--from <file>', help: 'The backup; - is standard input, by way of a temporary file.' },
    passphraseOption,
    identityOption,
    {
      flags: '--end-sessions',
      help: 'End sessions, mailed links, waiting mails and signing keys. This is the default.',
    },
    {
      flags: '--keep-sessions',
      help: 'Keep them: for moving a service that was stopped before the backup. Needs its SECRET_KEY.',
    },
    {
      flags: '--revoke-api-keys',
      help: 'Revoke every API key and every secret of an application. Otherwise those that were revoked after the backup are valid again.',
    },
  ],
  details: [
    'Stop every instance first. The whole backup is checked before the database is touched; then everything is restored, or nothing. A backup of an earlier version is migrated.',
  ],
  run: async (call) => (await import('../../backup/restore.ts')).restore(call),
};
