// `castellan reset-keys`: replaces the signing keys after the SECRET_KEY that encrypted them was lost.
import { suspendUnreadable } from '@castellan/server/modules/factors/unreadable';
import { resetSigningKeys } from '@castellan/server/modules/sessions/keys/revocation';
import type { Call } from '../command.ts';
import { confirm } from '../input/confirmation.ts';
import { onDatabase } from './database.ts';
import { migrateDatabase } from './migrate.ts';
import { endSessions } from './rotate-keys.ts';

const consequences = [
  'Migrates the schema. Replaces all signing keys, also those for applications, by new ones, encrypted with the current SECRET_KEY.',
  'Every session ends. If SECRET_KEY has changed, open pages need a new CSRF token, and requests that are',
  'repeated with their Idempotency-Key are refused. Authenticator apps that an earlier SECRET_KEY sealed are suspended.',
  'Secrets of identity providers and webhooks that it sealed no longer work: `castellan doctor` names them.',
  'Accounts, passwords, passkeys, recovery codes, roles and mailed links stay.',
];

// Asks before it opens the database, because that may create a secret key.
export async function resetKeys(call: Call): Promise<void> {
  await confirm(call, consequences);
  await onDatabase(call, { existing: true, anySecretKey: true }, async (foundation) => {
    // A restored backup may have an earlier schema. The service cannot migrate it, because it refuses these keys.
    await migrateDatabase(call, foundation, { anySecretKey: true });
    const { deps, secretKey } = foundation;
    const { keyId, revoked } = await resetSigningKeys({ ...deps, secretKey });
    call.print(`Key ${keyId} signs. Revoked: ${revoked.join(', ') || 'none'}.`);
    await endSessions(call, deps);
    const suspended = await suspendUnreadable(deps);
    if (suspended > 0)
      call.print(
        `Authenticator apps that no longer work: ${suspended}. They are suspended: their users sign in with a recovery code or a passkey, or you reset their factors.`,
      );
    call.print('Restart every instance with this SECRET_KEY.');
  });
}
