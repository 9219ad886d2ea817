// Firebase: `firebase auth:export users.json`, and the hash parameters of the project as the console shows them.
// Documentation: Firebase CLI, auth:import and auth:export.
import { readFile } from 'node:fs/promises';
import { UsageError } from '../../command.ts';
import { textAt } from '../rows.ts';
import { type Format, isNotBlocked, since } from './format.ts';

export const firebase: Format = {
  type: 'json',
  key: 'users',
  credentials: 'the hash parameters that the console shows (hash_config)',
  async open(credentials) {
    const prefix =
      credentials === undefined ? undefined : readParameters(await readFile(credentials, 'utf8'));
    return (user) => ({
      email: user.email,
      name: user.displayName,
      is_active: isNotBlocked(user.disabled),
      verified: user.emailVerified ?? false,
      created_at: since(user.createdAt),
      password_hash: passwordOf(user, prefix),
    });
  },
};

function passwordOf(user: Record<string, unknown>, prefix: string | undefined): string | null {
  const output = textAt(user, 'passwordHash');
  const salt = textAt(user, 'salt');
  if (prefix === undefined || output === undefined || salt === undefined) return null;
  return `${prefix}$${toBase64(salt)}$${toBase64(output)}`;
}

// The export writes base64url, the console base64.
const toBase64 = (text: string): string => text.replaceAll('-', '+').replaceAll('_', '/');

/** Returns the start of every hash. Reads the text of the console and the same as JSON. */
function readParameters(text: string): string {
  const parameter = (name: string): string => {
    const [, value] = new RegExp(`"?${name}"?\\s*:\\s*"?([A-Za-z0-9+/=_-]*)"?`).exec(text) ?? [];
    if (value === undefined)
      throw new UsageError(`--credentials has no "${name}": copy the hash parameters from the console.`);
    return value;
  };
  if (parameter('algorithm') !== 'SCRYPT')
    throw new UsageError('--credentials names another algorithm than SCRYPT, which cannot be verified.');
  return `$fbscrypt$v=1,n=${parameter('mem_cost')},r=${parameter('rounds')},p=1,ss=${toBase64(parameter('base64_salt_separator'))},sk=${toBase64(parameter('base64_signer_key'))}`;
}
