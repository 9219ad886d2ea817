// Reads and verifies JWTs that others signed (RFC 7515, RFC 7519). Reading is strict, so that no two readers understand one text
// differently. It must not decide whose key counts.
import type { PublicKey } from '@castellan/contract/applications';
import { isObject } from '../../platform/unknown-values.ts';
import { hasRepeatedMember } from './repeated-members.ts';

/** Signature algorithms of proofs, as discovery names them, by what can verify them. */
export const proofAlgorithms = ['ES256', 'EdDSA', 'RS256', 'PS256'] as const;
export type ProofAlgorithm = (typeof proofAlgorithms)[number];
/** The other name of an algorithm (RFC 9864): libraries send either. */
const renamed: Partial<Record<ProofAlgorithm, string>> = { EdDSA: 'Ed25519' };

/** A JWT of which nothing is verified. */
export type ReadProof = {
  alg: ProofAlgorithm;
  header: Readonly<Record<string, unknown>>;
  claims: Readonly<Record<string, unknown>>;
};

/** Longest text that is read, in characters. Proofs have some hundreds. */
const MAX_LENGTH = 8_192;
const COMPACT = /^([\w-]+)\.([\w-]+)\.[\w-]+$/;

/** Returns undefined for everything that is not a signed JWT with one of the algorithms, or has a critical extension. */
export function readProof(text: string): ReadProof | undefined {
  const [, first = '', second = ''] = text.length > MAX_LENGTH ? [] : (COMPACT.exec(text) ?? []);
  const header = objectIn(first);
  const claims = objectIn(second);
  const alg = proofAlgorithms.find((one) => namesOf(one).some((name) => name === header?.alg));
  // No extension is known here (RFC 7515, 4.1.11).
  if (!header || !claims || !alg || 'crit' in header || 'b64' in header) return undefined;
  return { alg, header, claims };
}

const namesOf = (alg: ProofAlgorithm): string[] => (renamed[alg] === undefined ? [alg] : [alg, renamed[alg]]);

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Returns the object of a part; undefined unless it is canonical base64url of a JSON object that names each member once. */
function objectIn(part: string): Readonly<Record<string, unknown>> | undefined {
  const bytes = Buffer.from(part, 'base64url');
  if (bytes.toString('base64url') !== part) return undefined;
  try {
    const text = utf8.decode(bytes);
    const value: unknown = JSON.parse(text);
    return isObject(value) && !hasRepeatedMember(text) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Returns whether a key can have made signatures with the algorithm. */
export function canSign(key: PublicKey, alg: ProofAlgorithm): boolean {
  // Its own `alg` may have the other name of the algorithm.
  if (key.kty === 'OKP') return alg === 'EdDSA' && key.crv === 'Ed25519';
  if (key.alg !== undefined && key.alg !== alg) return false;
  if (key.kty === 'EC') return alg === 'ES256' && key.crv === 'P-256';
  return key.kty === 'RSA' && (alg === 'RS256' || alg === 'PS256');
}

/** Returns the members that make the key (RFC 7638, 3.2), without what it says about itself. */
function numbersOf({ kty, crv, n, e, x, y }: PublicKey): { kty: string } & Record<string, string> {
  const others = Object.entries({ crv, n, e, x, y }).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  return { kty, ...Object.fromEntries(others) };
}

/** Returns whether the text is signed by the key. */
export async function isSignedBy(text: string, key: PublicKey, alg: ProofAlgorithm): Promise<boolean> {
  if (!canSign(key, alg)) return false;
  // Loaded when the first proof arrives: no start pays for it.
  const { compactVerify } = await import('jose');
  try {
    await compactVerify(text, numbersOf(key), { algorithms: namesOf(alg) });
    return true;
  } catch {
    return false;
  }
}
