// Auth0: the NDJSON of a job that exports users, and the NDJSON of password hashes that the support sends on request
// (bcrypt, joined by the id). Documentation: Bulk User Exports; Export Password Hashes and MFA Secrets.
import { canonicalEmail } from '@castellan/server/platform/security/email';
import { readNdjson } from '../ndjson.ts';
import { textAt } from '../rows.ts';
import { openText } from '../source.ts';
import { type Format, isNotBlocked } from './format.ts';

export const auth0: Format = {
  type: 'ndjson',
  key: 'users',
  credentials: 'the export of password hashes',
  async open(credentials) {
    const hashes = credentials === undefined ? new Map<unknown, string>() : await readHashes(credentials);
    return (user) => ({
      email: user.email,
      // Both exports call them differently.
      first_name: user.given_name,
      last_name: user.family_name,
      // Without a name, Auth0 writes the email.
      name: user.name === user.email ? null : user.name,
      is_active: isNotBlocked(user.blocked),
      verified: user.email_verified ?? false,
      created_at: user.created_at,
      password_hash: hashes.get(keyOf(user)) ?? textAt(user, 'passwordHash') ?? null,
    });
  },
};

/**
 * Returns what both exports call a user of a database connection: the id without `auth0|`, or the email if the id was not
 * exported. Undefined for users of other providers, who have no password.
 */
function keyOf(user: Record<string, unknown>): string | undefined {
  const id = textAt(user, '_id.$oid') ?? textAt(user, '_id') ?? textAt(user, 'user_id') ?? textAt(user, 'Id');
  if (id === undefined) return emailKey(user);
  return id.includes('|') && !id.startsWith('auth0|') ? undefined : id.slice(id.lastIndexOf('|') + 1);
}

const emailKey = (user: Record<string, unknown>): string | undefined =>
  canonicalEmail(textAt(user, 'email') ?? '') ?? undefined;

/** Returns the hashes by the ids and by the emails of their users. */
async function readHashes(path: string): Promise<Map<unknown, string>> {
  const hashes = new Map<unknown, string>();
  for await (const row of readNdjson(openText(path))) {
    if ('fault' in row) throw new Error(`--credentials: line ${row.row} ${row.fault.message}.`);
    const hash = textAt(row.value, 'passwordHash');
    if (hash === undefined) continue;
    for (const key of [keyOf(row.value), emailKey(row.value)]) if (key !== undefined) hashes.set(key, hash);
  }
  return hashes;
}
