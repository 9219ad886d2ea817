// Keycloak: `kc.sh export` of a realm with its users. Documentation: Keycloak Server, Importing and exporting realms;
// UserRepresentation and CredentialRepresentation of the Admin REST API.
import { pbkdf2Hash } from '@castellan/server/modules/transfer/service';
import { objectIn, textAt, valueAt } from '../rows.ts';
import { type Format, since, uuidOnly } from './format.ts';

export const keycloak: Format = {
  type: 'json',
  key: 'users',
  open: async () => (user) => ({
    id: uuidOnly(user.id),
    email: user.email,
    first_name: user.firstName,
    last_name: user.lastName,
    is_active: user.enabled ?? true,
    verified: user.emailVerified ?? false,
    must_change_password: hasAction(user, 'UPDATE_PASSWORD'),
    language: languageOf(user),
    created_at: since(user.createdTimestamp),
    password_hash: passwordOf(user),
  }),
};

const hasAction = ({ requiredActions }: Record<string, unknown>, action: string): boolean =>
  Array.isArray(requiredActions) && requiredActions.includes(action);

function languageOf(user: Record<string, unknown>): string | null {
  const locale = valueAt(user, 'attributes.locale');
  return Array.isArray(locale) && typeof locale[0] === 'string' ? locale[0] : null;
}

function passwordOf({ credentials }: Record<string, unknown>): string | null {
  const password = Array.isArray(credentials)
    ? credentials.find((one) => textAt(one, 'type') === 'password')
    : undefined;
  if (password === undefined) return null;
  const about = objectIn(valueAt(password, 'credentialData'));
  const secret = objectIn(valueAt(password, 'secretData'));
  const salt = textAt(secret, 'salt');
  const output = textAt(secret, 'value');
  const algorithm = textAt(about, 'algorithm');
  const iterations = Number(valueAt(about, 'hashIterations'));
  // An own provider of hashes: refused as unknown, because its name is no spelling of a hash.
  if (salt === undefined || output === undefined) return `keycloak:${algorithm ?? 'unknown'}`;
  if (algorithm === 'argon2') return argon2Hash(about, iterations, salt, output);
  const digest = digests.get(algorithm);
  if (digest === undefined) return `keycloak:${algorithm ?? 'unknown'}`;
  return pbkdf2Hash({
    digest,
    iterations,
    salt: Buffer.from(salt, 'base64'),
    output: Buffer.from(output, 'base64'),
  });
}

const digests: ReadonlyMap<unknown, string> = new Map([
  ['pbkdf2', 'sha1'],
  ['pbkdf2-sha256', 'sha256'],
  ['pbkdf2-sha512', 'sha512'],
]);

/** Each parameter of Keycloak is a list with one text. */
function argon2Hash(about: unknown, passes: number, salt: string, output: string): string {
  const parameter = (name: string): string => {
    const list = valueAt(valueAt(about, 'additionalParameters'), name);
    return Array.isArray(list) ? String(list[0]) : '';
  };
  const version = parameter('version') === '1.0' ? 16 : 19;
  const unpadded = (text: string): string => text.replace(/=+$/, '');
  return `$argon2${parameter('type')}$v=${version}$m=${parameter('memory')},t=${passes},p=${parameter('parallelism')}$${unpadded(salt)}$${unpadded(output)}`;
}
