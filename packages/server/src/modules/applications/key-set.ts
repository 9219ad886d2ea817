// Which keys an application may register: public ones that are strong, in one spelling.
// It must not fetch a key set.
import { createPublicKey } from 'node:crypto';
import type { PublicKey } from '@castellan/contract/applications';
import { refusal } from './refusal.ts';

/** RFC 7518, 3.3. The upper limit keeps a verification below a few milliseconds. */
const rsaBits = { least: 2_048, most: 8_192 };
/** FIPS 186-5, A.1.1: greater than 2^16. Longer exponents than 64 bits only make verifications slow. */
const exponents = { least: 65_537n, most: 2n ** 64n };
const MAX_KID_LENGTH = 250;
/** Members of private keys (RFC 7518, 6.2.2 and 6.3.2), and of symmetric ones (6.4). */
const secretMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'];

type Kind = {
  kty: PublicKey['kty'];
  crv?: string;
  /** The required members, with their lengths in bytes where it is fixed (RFC 7518, 6.2.1.2; RFC 8037, 2). */
  members: Readonly<Partial<Record<'x' | 'y' | 'n' | 'e', number | null>>>;
  algs: readonly string[];
};
const kinds: readonly Kind[] = [
  {
    kty: 'RSA',
    members: { n: null, e: null },
    algs: ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  },
  { kty: 'EC', crv: 'P-256', members: { x: 32, y: 32 }, algs: ['ES256'] },
  { kty: 'EC', crv: 'P-384', members: { x: 48, y: 48 }, algs: ['ES384'] },
  { kty: 'EC', crv: 'P-521', members: { x: 66, y: 66 }, algs: ['ES512'] },
  { kty: 'OKP', crv: 'Ed25519', members: { x: 32 }, algs: ['EdDSA', 'Ed25519'] },
];

type Given = Readonly<Record<string, unknown>>;

/** Returns the keys with the members that a public key has. Throws `validation_failed`, which names the key. */
export function cleanKeySet({ keys }: { keys: readonly object[] }, field: string): { keys: PublicKey[] } {
  const kids = new Set<string>();
  return {
    keys: keys.map((given, index) => {
      const key = cleanKey({ ...given }, `${field}.keys.${index}`);
      if (key.kid !== undefined && kids.has(key.kid))
        throw refusal(`${field}.keys.${index}.kid`, 'duplicate', 'must name one key only');
      if (key.kid !== undefined) kids.add(key.kid);
      return key;
    }),
  };
}

/** As `cleanKeySet`, for one key. */
export function cleanKey(given: Given, field: string): PublicKey {
  if (secretMembers.some((name) => name in given))
    throw refusal(
      field,
      'secret_key',
      'must be a public key; replace the pair, because its secret part was sent',
    );
  const kind = kinds.find(({ kty, crv }) => given.kty === kty && (crv === undefined || given.crv === crv));
  if (!kind) throw notAKey(field);
  const { kty, crv, members } = kind;
  const numbers: Partial<Record<'x' | 'y' | 'n' | 'e', Buffer>> = {};
  const key: PublicKey = { kty, ...(crv === undefined ? {} : { crv }) };
  for (const name of ['n', 'e', 'x', 'y'] as const) {
    if (!(name in members)) continue;
    const bytes = bytesOf(given[name], members[name] ?? null);
    if (!bytes) throw notAKey(field);
    numbers[name] = bytes;
    key[name] = bytes.toString('base64url');
  }
  requireKey(key, field);
  if (numbers.n && numbers.e) requireStrongRsa(numbers.n, numbers.e, field);
  if (kty === 'OKP' && numbers.x && isOfSmallOrder(numbers.x)) throw notAKey(field);
  return { ...key, ...described(given, kind, field) };
}

/** Returns the bytes; undefined unless the text is their canonical base64url, of this length or without leading zeros. */
function bytesOf(text: unknown, length: number | null): Buffer | undefined {
  if (typeof text !== 'string') return undefined;
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.toString('base64url') !== text) return undefined;
  return (length === null ? bytes[0] : bytes.length === length) ? bytes : undefined;
}

const notAKey = (field: string) =>
  refusal(
    field,
    'invalid_key',
    'must be a public key: RSA, EC (P-256, P-384, P-521) or Ed25519, with its numbers in base64url',
  );

/** Throws for a point that is not on its curve. */
function requireKey(key: PublicKey, field: string): void {
  try {
    createPublicKey({ key, format: 'jwk' });
  } catch {
    throw notAKey(field);
  }
}

const numberOf = (bytes: Buffer): bigint => BigInt(`0x${bytes.toString('hex')}`);

function requireStrongRsa(n: Buffer, e: Buffer, field: string): void {
  const modulus = numberOf(n);
  const bits = modulus.toString(2).length;
  if (bits < rsaBits.least || bits > rsaBits.most)
    throw refusal(field, 'weak_key', `must have ${rsaBits.least} to ${rsaBits.most} bits`);
  const exponent = numberOf(e);
  if (exponent < exponents.least || exponent >= exponents.most || exponent % 2n === 0n || modulus % 2n === 0n)
    throw refusal(field, 'weak_key', 'must have an odd modulus and an odd exponent from 65537 on');
}

const FIELD_PRIME = 2n ** 255n - 19n; // RFC 8032, 5.1
/** The y coordinates of the points of order 1, 2, 4 and 8. With such a key, a signature fits messages that nobody signed. */
const smallOrders: ReadonlySet<bigint> = new Set([
  0n,
  1n,
  FIELD_PRIME - 1n,
  0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n,
  0x7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7n,
]);

function isOfSmallOrder(x: Buffer): boolean {
  const y = numberOf(Buffer.from(x).reverse()) & (2n ** 255n - 1n);
  return y >= FIELD_PRIME || smallOrders.has(y);
}

/** Returns what the key says about itself. */
function described(given: Given, { algs }: Kind, field: string): Pick<PublicKey, 'kid' | 'use' | 'alg'> {
  const { kid, use, alg } = given;
  if (kid !== undefined && !isKid(kid))
    throw refusal(`${field}.kid`, 'invalid_kid', `must have 1 to ${MAX_KID_LENGTH} visible ASCII characters`);
  if (use !== undefined && use !== 'sig')
    throw refusal(`${field}.use`, 'wrong_use', 'must be sig; register the key that signs');
  if (alg !== undefined && !algs.some((one) => one === alg))
    throw refusal(`${field}.alg`, 'wrong_alg', `must be ${algs.join(' or ')} for this key`);
  return {
    ...(kid === undefined ? {} : { kid }),
    ...(use === undefined ? {} : { use }),
    ...(typeof alg === 'string' ? { alg } : {}),
  };
}

const isKid = (kid: unknown): kid is string =>
  typeof kid === 'string' && kid.length <= MAX_KID_LENGTH && /^[\x21-\x7e]+$/.test(kid);
