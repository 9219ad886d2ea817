// Logto: the table users as CSV or JSON. Documentation: User migration; github.com/logto-io/logto, tables/users.sql.
import { pbkdf2Hash } from '@castellan/server/modules/transfer/service';
import { objectIn, textAt } from '../rows.ts';
import { type Format, isNotBlocked, since } from './format.ts';

export const logto: Format = {
  type: 'csv',
  key: 'users',
  open: async () => (user) => {
    const profile = objectIn(user.profile);
    return {
      email: user.primary_email ?? user.primaryEmail,
      first_name: textAt(profile, 'givenName'),
      last_name: textAt(profile, 'familyName'),
      name: user.name,
      is_active: isNotBlocked(user.is_suspended ?? user.isSuspended),
      // Logto stores only addresses that were confirmed, or that an administrator entered.
      verified: true,
      created_at: since(user.created_at ?? user.createdAt),
      password_hash: passwordOf(user),
    };
  },
};

function passwordOf(user: Record<string, unknown>): string | null {
  const hash = textAt(user, 'password_encrypted') ?? textAt(user, 'passwordEncrypted');
  if (hash === undefined) return null;
  const method = textAt(user, 'password_encryption_method') ?? textAt(user, 'passwordEncryptionMethod') ?? '';
  if (/^(?:Argon2(?:i|d|id)|Bcrypt)$/i.test(method)) return hash;
  if (method === 'Legacy') return legacyHash(hash);
  // MD5, SHA1 and SHA256 without salt: refused as unknown, because the method is no spelling of a hash.
  return `logto:${method}`;
}

/** `["pbkdf2", ["<salt>", "<iterations>", "<bytes>", "<digest>", "@"], "<output in hexadecimal digits>"]` */
function legacyHash(text: string): string {
  try {
    const [algorithm, [salt, iterations, , digest], output] = JSON.parse(text);
    if (algorithm === 'pbkdf2' && typeof salt === 'string' && typeof output === 'string')
      return pbkdf2Hash({ digest, iterations, salt: Buffer.from(salt), output: Buffer.from(output, 'hex') });
  } catch {
    // Refused below.
  }
  return 'logto:Legacy';
}
