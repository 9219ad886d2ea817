// How large a signed token would be, and what it leaves out if that is too much.
// It must not sign.
import type { ClaimMapping } from '@castellan/contract/application-claims';
import type { Row } from '../../../schema/database.ts';

/** What is told of an account: the claims of scopes, and those of mappings. */
export type ToldClaims = { [name: string]: unknown };

/** What a token may have at most, in bytes. Proxies and applications pass it on in headers of 8 KiB. */
const MAX_TOKEN_LENGTH = 6 * 1_024;

/** Header with its `kid` of 43 characters, both dots, and signature: RSA of 2,048 bits, P-256. */
const besideClaims = { RS256: 450, ES256: 194 };

/**
 * Returns the claims about an account that a token has, beside its `own` ones. If it would be larger than 6 KiB, lists and attributes are left
 * out, and texts made of lists, and a claim says so. `isOver`: something was left out.
 */
export function fittedToToken(
  {
    alg,
    own,
    mappings,
    attributes,
  }: {
    alg: Row<'applications'>['id_token_signing_alg'];
    own: object;
    mappings: readonly ClaimMapping[];
    /** The attributes of the account. */
    attributes: object;
  },
  told: ToldClaims,
): { told: ToldClaims; bytes: number; isOver: boolean } {
  const claims = Buffer.byteLength(JSON.stringify({ ...own, ...told }));
  const bytes = Math.ceil((claims * 4) / 3) + besideClaims[alg === 'ES256' ? 'ES256' : 'RS256'];
  const isList = new Set(['roles', 'groups', 'permissions', ...Object.keys(attributes)]);
  for (const { name, as } of mappings) if (as === 'list' || as === 'text') isList.add(name);
  const rest = Object.fromEntries(Object.entries(told).filter(([name]) => !isList.has(name)));
  const isOver = bytes > MAX_TOKEN_LENGTH && Object.keys(rest).length < Object.keys(told).length;
  return isOver ? { told: { ...rest, _castellan_overage: true }, bytes, isOver } : { told, bytes, isOver };
}
