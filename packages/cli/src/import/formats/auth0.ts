// Auth0: the NDJSON of a job that exports users, and the NDJSON of password hashes that the support sends on request
// (bcrypt, joined by the id). Documentation: Bulk User Exports; Export Password Hashes and MFA Secrets.
import { readNdjson } from '../ndjson.ts';
import { textAt, valueAt } from '../rows.ts';
import { openText } from '../source.ts';
import type { Format } from './format.ts';

export const auth0: Format = {
  type: 'ndjson',
  key: 'users',
  credentials: 'the export of password hashes',
  async open(credentials) {
    const hashes = credentials === undefined ? new Map<string, string>() : await readHashes(credentials);
    return (user) => ({
      email: user.email,
      // Both exports call them differently.
      first_name: user.given_name,
      last_name: user.family_name,
      // Without a name, Auth0 writes the email.
      name: user.name === user.email ? null : user.name,
      is_active: user.blocked !== true,
      verified: user.email_verified ?? false,
      created_at: user.created_at,
      password_hash: hashes.get(keyOf(user)) ?? textAt(user, 'passwordHash') ?? null,
    });
  },
};

/** The id of a database user, without `auth0|` or `Username-Password-Authentication|`. */
function keyOf(user: Record<string, unknown>): string {
  const id =
    textAt(user, '_id.$oid') ?? textAt(user, '_id') ?? textAt(user, 'user_id') ?? textAt(user, 'Id') ?? '';
  return id.slice(id.lastIndexOf('|') + 1);
}

async function readHashes(path: string): Promise<Map<string, string>> {
  const hashes = new Map<string, string>();
  for await (const row of readNdjson(openText(path))) {
    if ('fault' in row) throw new Error(`--credentials: line ${row.row} ${row.fault.message}.`);
    const hash = valueAt(row.value, 'passwordHash');
    if (typeof hash === 'string') hashes.set(keyOf(row.value), hash);
  }
  return hashes;
}
