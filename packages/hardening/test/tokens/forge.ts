// The means of an attacker: a real token in parts, our public key, keys of their own, and, for tests of the allowlist,
// our private key. It must not use the service's code for signing or checking tokens.
import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign as signBytes,
} from 'node:crypto';
import type { SessionClaims, TokenKind } from '@castellan/server/platform/security/jwt';
import type { TestService } from '@castellan/testing/harness';
import { openSigningKey, readToken } from '@castellan/testing/sessions/own-tokens';

/** One real token: its three parts as text, and what is needed to make others from it. */
export type Base = {
  kind: TokenKind;
  /** JSON text. */
  header: string;
  /** JSON text. */
  payload: string;
  claims: SessionClaims;
  signature: Buffer;
  token: string;
  kid: string;
  privateKey: KeyObject;
  publicKey: KeyObject;
};

/** Keys that this deployment has never seen. */
export const stranger = {
  ed25519: generateKeyPairSync('ed25519'),
  ed448: generateKeyPairSync('ed448'),
  rsa: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  p256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  p384: generateKeyPairSync('ec', { namedCurve: 'P-384' }),
};

export const encode = (part: string | Buffer): string => Buffer.from(part).toString('base64url');

export const compact = (header: string, payload: string, signature: Buffer): string =>
  `${encode(header)}.${encode(payload)}.${encode(signature)}`;

/** Returns a token signed with Ed25519, by default with our own key. */
export function sealed(
  base: Base,
  header = base.header,
  payload = base.payload,
  key: KeyObject = base.privateKey,
): string {
  const signed = `${encode(header)}.${encode(payload)}`;
  return `${signed}.${encode(signBytes(null, Buffer.from(signed), key))}`;
}

export function maced(base: Base, hash: string, secret: string | Buffer, header: string): string {
  const signed = `${encode(header)}.${encode(base.payload)}`;
  return `${signed}.${encode(createHmac(hash, secret).update(signed).digest())}`;
}

/**
 * Returns JSON text with members replaced or added; undefined removes one. Order and spelling are those of the service.
 */
export const withMembers = (text: string, members: Record<string, unknown>): string =>
  JSON.stringify({ ...JSON.parse(text), ...members });

export async function baseOf(service: TestService, token: string): Promise<Base> {
  const { kid, privateKey } = await openSigningKey(service);
  const [header = '', payload = '', signature = ''] = token.split('.');
  const { claims } = readToken(token);
  return {
    kind: claims.type,
    header: Buffer.from(header, 'base64url').toString(),
    payload: Buffer.from(payload, 'base64url').toString(),
    claims,
    signature: Buffer.from(signature, 'base64url'),
    token,
    kid,
    privateKey,
    publicKey: createPublicKey(privateKey),
  };
}

/** Returns the token with another `jti`: signed by our key, and never issued. */
export function unlistedTwin(base: Base): Base {
  const payload = withMembers(base.payload, { jti: crypto.randomUUID() });
  const token = sealed(base, base.header, payload);
  const signature = Buffer.from(token.slice(token.lastIndexOf('.') + 1), 'base64url');
  return { ...base, payload, token, signature, claims: JSON.parse(payload) };
}

/** Returns a public key from 32 bytes that need not be a valid point (RFC 8410). */
export const rawPublicKey = (bytes: Buffer): KeyObject =>
  createPublicKey({
    key: Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), bytes]),
    format: 'der',
    type: 'spki',
  });

/** Returns the Ed25519 key of a 32-byte seed that anyone can guess. */
export const seededKey = (seed: Buffer): KeyObject =>
  createPrivateKey({
    key: Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed]),
    format: 'der',
    type: 'pkcs8',
  });
