// `castellan create-superuser`: creates the first account, or restores access when no superuser can sign in.
import { createSuperuser, promoteToSuperuser } from '@castellan/server/modules/users/superuser';
import { canonicalEmail, shownEmail } from '@castellan/server/platform/security/email';
import { type Call, UsageError } from '../command.ts';
import { readPassword } from '../input/password-input.ts';
import { onDatabase } from './database.ts';

export async function createSuperuserCommand(call: Call): Promise<void> {
  const email = canonicalEmail(required(call, 'email'));
  if (email === null) throw new UsageError('--email is not an email address.');
  await (call.values.promote === true ? promote(call, email) : create(call, email));
}

async function create(call: Call, email: string): Promise<void> {
  const names = { first_name: required(call, 'first-name'), last_name: given(call, 'last-name') };
  const password = await readPassword(process.stdin, process.stderr);
  await onDatabase(call, { existing: true }, async ({ deps }) => {
    await createSuperuser(deps, { email, ...names, password }).catch((error: { code?: string }) => {
      if (error.code !== 'email_taken') throw error;
      throw new Error(`${shownEmail(email)} already has an account. Make it a superuser with --promote.`);
    });
  });
  call.print(`Superuser ${shownEmail(email)} created.`);
}

async function promote(call: Call, email: string): Promise<void> {
  if (call.values['first-name'] !== undefined || call.values['last-name'] !== undefined)
    throw new UsageError('--promote does not change names: leave out --first-name and --last-name.');
  const changed = await onDatabase(call, { existing: true }, ({ deps }) => promoteToSuperuser(deps, email));
  if (changed === null)
    throw new Error(
      `${shownEmail(email)} has no account. To create one, leave out --promote and give the names.`,
    );
  const shown = shownEmail(email);
  call.print(changed ? `${shown} is now a superuser.` : `${shown} is already a superuser.`);
}

const missing = (name: string): UsageError =>
  new UsageError(`--${name} is missing. See \`castellan help create-superuser\`.`);

/** Returns the value of an option, which may be empty. Throws if the option is missing. */
function given(call: Call, name: string): string {
  const value = call.values[name];
  if (typeof value !== 'string') throw missing(name);
  return value;
}

function required(call: Call, name: string): string {
  const value = given(call, name);
  if (value.trim() === '') throw missing(name);
  return value;
}
