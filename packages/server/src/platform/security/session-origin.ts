// Decides by VALIDATE_TOKEN_IP whether a client may use a session from where it is. It changes nothing.
import { isSameFamily, networkOf } from './client-address.ts';

export type OriginSettings = { validateTokenIp: boolean | 'by-family' };
type Origins = { origin_address: string | null; other_origin_address: string | null };
type Address = { address: string };

/** Returns the origin of the session whose network the client must be in and is not; null if it may be where it is. */
export function strayedFrom(settings: OriginSettings, { address }: Address, session: Origins): string | null {
  const origin = originFor(settings, address, session);
  return origin !== null && networkOf(origin) !== networkOf(address) ? origin : null;
}

/** Returns the address whose network the client must be in; null if it may be in any. */
function originFor({ validateTokenIp }: OriginSettings, address: string, session: Origins): string | null {
  const { origin_address: origin, other_origin_address: other } = session;
  if (!validateTokenIp || origin === null) return null;
  return validateTokenIp === true || isSameFamily(origin, address) ? origin : other;
}

/** Whether the session has an origin, but none of the client's address family, and may have one of each. */
export const isFirstOfFamily = (
  { validateTokenIp }: OriginSettings,
  { address }: Address,
  { origin_address, other_origin_address }: Origins,
): boolean =>
  validateTokenIp === 'by-family' &&
  origin_address !== null &&
  other_origin_address === null &&
  !isSameFamily(origin_address, address);
