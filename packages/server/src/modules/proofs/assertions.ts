// Verifies the signed assertions by which applications authenticate themselves (RFC 7523; OpenID Connect Core, 9).
// It must not tell the sender what is wrong with one.
import type { PublicKey } from '@castellan/contract/applications';
import type { Db } from '../../schema/database.ts';
import type { Assertions } from '../applications/authentication.ts';
import type { KeySources } from './key-sources.ts';
import { canSign, isSignedBy, type ReadProof, readProof } from './signed-text.ts';
import { useProof } from './used-proofs.ts';

/** Seconds that an assertion may end ahead of now. */
const MAX_AHEAD = 600;
/** Seconds that a clock may differ. */
const SKEW = 60;
/** An assertion without a type is common. The type of a proof for another purpose is refused. */
const types: ReadonlySet<unknown> = new Set([undefined, 'jwt', 'client-authentication+jwt']);

type Deps = { db: Db; keySources: KeySources; settings: { publicUrl: string } };
type Asking = Parameters<Assertions['faultOf']>[1];

export const createAssertions = (deps: Deps): Assertions => ({
  issuerOf(text) {
    const issuer = readProof(text)?.claims.iss;
    return typeof issuer === 'string' ? issuer : undefined;
  },

  async faultOf(text, application) {
    const proof = readProof(text);
    if (!proof) return 'form';
    const { claims } = proof;
    const { typ } = proof.header;
    if (!types.has(typeof typ === 'string' ? typ.toLowerCase() : typ)) return 'form';
    if (claims.iss !== application.client_id || claims.sub !== application.client_id) return 'issuer';
    if (!isMeant(claims.aud, deps.settings)) return 'audience';
    const endsAt = endIn(claims, application.now.getTime() / 1_000);
    if (endsAt === undefined) return 'time';
    const { jti } = claims;
    if (typeof jti !== 'string' || jti === '') return 'form';
    if (!(await isSigned(deps, text, proof, application))) return 'signature';
    const isNew = await useProof(deps.db, { kind: 'assertion', id: application.id }, { jti, endsAt });
    return isNew ? null : 'used';
  },
});

/** What programs call this service in an assertion: the issuer, the token endpoint (RFC 7523, 3), or where they push (RFC 9126, 2). */
const ownPaths = ['', '/api/v1/oauth/token', '/api/v1/oauth/par'];

/** A list of several audiences would let another of them send it here (RFC 7523, 3, as corrected). */
function isMeant(aud: unknown, { publicUrl }: { publicUrl: string }): boolean {
  const [only, ...others]: unknown[] = Array.isArray(aud) ? aud : [aud];
  return others.length === 0 && ownPaths.some((path) => only === `${publicUrl}${path}`);
}

const isTime = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);

/** Returns when the assertion ends, in seconds since 1970; undefined if it does not count now. */
function endIn({ exp, iat, nbf }: ReadProof['claims'], now: number): number | undefined {
  if (!isTime(exp) || exp <= now || exp > now + MAX_AHEAD) return undefined;
  if (iat !== undefined && !(isTime(iat) && Math.abs(now - iat) <= SKEW)) return undefined;
  if (nbf !== undefined && !(isTime(nbf) && nbf <= now + SKEW)) return undefined;
  return exp;
}

async function isSigned(deps: Deps, text: string, proof: ReadProof, application: Asking): Promise<boolean> {
  const { kid } = proof.header;
  if (kid !== undefined && typeof kid !== 'string') return false;
  const isCandidate = (key: PublicKey): boolean =>
    (kid === undefined || key.kid === kid) && canSign(key, proof.alg);
  const isSignedByOne = async (keys: readonly PublicKey[]): Promise<boolean> => {
    for (const key of keys.filter(isCandidate)) if (await isSignedBy(text, key, proof.alg)) return true;
    return false;
  };

  const { id, jwks, jwks_url } = application;
  if (jwks_url === null) return isSignedByOne(jwks?.keys ?? []);
  const kept = await deps.keySources({ id, jwks_url }, (keys) => keys.some(isCandidate));
  if (await isSignedByOne(kept)) return true;
  if (kid !== undefined) return false;
  // Without a name, only the signature shows that the key is a new one.
  const read = await deps.keySources({ id, jwks_url }, () => false);
  return read !== kept && isSignedByOne(read);
}
