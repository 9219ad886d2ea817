// `castellan reset-second-factor`: the way back for somebody who lost their second factors, and whom nobody can help.
import { resetByCommand } from '@castellan/server/modules/users/second-factors/command-line';
import { canonicalEmail, shownEmail } from '@castellan/server/platform/security/email';
import { type Call, optionOf, UsageError } from '../command.ts';
import { confirm } from '../input/confirmation.ts';
import { onDatabase } from './database.ts';

export async function resetSecondFactor(call: Call): Promise<void> {
  const text = optionOf(call, 'email');
  if (text === undefined)
    throw new UsageError('--email is missing. See `castellan help reset-second-factor`.');
  const email = canonicalEmail(text);
  if (email === null) throw new UsageError('--email is not an email address.');
  await confirm(call, [
    `Removes the authenticator app, passkeys and recovery codes of ${shownEmail(email)}.`,
    'Every session, trusted device and mailed link of the account ends.',
  ]);
  const reset = await onDatabase(call, { existing: true }, ({ deps }) => resetByCommand(deps, email));
  if (reset === null) throw new Error(`${shownEmail(email)} has no account.`);
  call.print(
    `Sign in with the password, then with this link. It works once, until ${reset.expiresAt.toISOString()}:`,
  );
  call.print(reset.url);
}
