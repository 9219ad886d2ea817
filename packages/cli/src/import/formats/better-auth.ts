// better-auth: the table user as NDJSON, JSON or CSV, and the table account, which has the passwords.
// Its documentation: Database, Core Schema. The columns may also be in snake_case.

import { textAt, valueAt } from '../rows.ts';
import { openRows } from '../source.ts';
import { type Format, isNotBlocked, since, uuidOnly } from './format.ts';

export const betterAuth: Format = {
  type: 'json',
  key: 'user',
  credentials: 'the table account',
  async open(credentials) {
    const hashes = credentials === undefined ? new Map<string, string>() : await readHashes(credentials);
    return (user) => ({
      id: uuidOnly(user.id),
      email: user.email,
      name: user.name,
      is_active: isNotBlocked(user.banned),
      verified: user.emailVerified ?? user.email_verified ?? false,
      created_at: since(user.createdAt ?? user.created_at),
      password_hash: hashes.get(String(user.id)) ?? null,
    });
  },
};

async function readHashes(path: string): Promise<Map<string, string>> {
  const hashes = new Map<string, string>();
  for await (const row of openRows(path, { type: 'json', key: 'account' })) {
    if ('fault' in row) throw new Error(`--credentials: row ${row.row} ${row.fault.message}.`);
    const password = textAt(row.value, 'password');
    const owner = valueAt(row.value, 'userId') ?? valueAt(row.value, 'user_id');
    const provider = textAt(row.value, 'providerId') ?? textAt(row.value, 'provider_id');
    if (password !== undefined && owner !== undefined && provider === 'credential')
      hashes.set(String(owner), password);
  }
  return hashes;
}
