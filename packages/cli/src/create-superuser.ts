// `castellan create-superuser`: the way in when nobody else can open it.
import { createSuperuser, promoteToSuperuser } from '@castellan/server/modules/users/superuser';
import { canonicalEmail } from '@castellan/server/platform/security/email';
import { type Call, UsageError } from './command.ts';
import { onDatabase } from './database.ts';
import { readPassword } from './password-input.ts';

export async function createSuperuserCommand(call: Call): Promise<void> {
  const email = canonicalEmail(required(call, 'email'));
  if (email === null) throw new UsageError('--email is no e-mail address.');
  await (call.values.promote === true ? promote(call, email) : create(call, email));
}

async function create(call: Call, email: string): Promise<void> {
  const names = { first_name: required(call, 'first-name'), last_name: required(call, 'last-name') };
  const password = await readPassword(process.stdin, process.stderr);
  await onDatabase(call, { existing: true }, async ({ deps }) => {
    await createSuperuser(deps, { email, ...names, password }).catch((error: { code?: string }) => {
      if (error.code !== 'email_taken') throw error;
      throw new Error(`${email} has an account already. Make that one a superuser with --promote.`);
    });
  });
  call.print(`Superuser ${email} made.`);
}

async function promote(call: Call, email: string): Promise<void> {
  if (call.values['first-name'] !== undefined || call.values['last-name'] !== undefined)
    throw new UsageError('--promote changes no name: leave --first-name and --last-name out.');
  const changed = await onDatabase(call, { existing: true }, ({ deps }) => promoteToSuperuser(deps, email));
  if (changed === null)
    throw new Error(`${email} has no account. Leave --promote out to make one, and give its names.`);
  call.print(changed ? `${email} is a superuser now.` : `${email} is a superuser already.`);
}

function required(call: Call, name: string): string {
  const value = call.values[name];
  if (typeof value !== 'string' || value.trim() === '')
    throw new UsageError(`--${name} is missing. See \`castellan help create-superuser\`.`);
  return value;
}
