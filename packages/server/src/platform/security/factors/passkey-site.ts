// Where passkeys work: the RP ID and the origins that they are bound to, from the address of the service.
// It must not know an account.
import { isIP } from 'node:net';

export type PasskeySettings = {
  publicUrl: string;
  /** Undefined: the host of `publicUrl`. */
  passkeyRpId?: string | undefined;
  passkeyOrigins: readonly string[];
  passkeyFormerRpIds: readonly string[];
};

export type PasskeySite = {
  /** The domain that new passkeys are bound to. */
  rpId: string;
  /** Domains that passkeys were bound to before, and still work with. */
  formerRpIds: readonly string[];
  /** The pages that may use passkeys. */
  origins: readonly string[];
  /** Whether browsers make and use passkeys at this address. */
  isFit: boolean;
  /** Whether the RP ID covers the host of `publicUrl`. Otherwise browsers ask the RP ID's host for the origins. */
  coversHost: boolean;
  /** Whether somebody may ask this service for the origins (Web Authentication Level 3, section 5.11). */
  publishesOrigins: boolean;
};

export function passkeySiteOf(settings: PasskeySettings): PasskeySite {
  const { origin, hostname } = new URL(settings.publicUrl);
  const rpId = settings.passkeyRpId ?? hostname;
  const formerRpIds = settings.passkeyFormerRpIds.filter((one) => one !== rpId);
  return {
    rpId,
    formerRpIds,
    origins: [...new Set([origin, ...settings.passkeyOrigins])],
    isFit: isFitForPasskeys(settings.publicUrl),
    // Nobody owns a domain of one label, so it covers no other host.
    coversHost: hostname === rpId || (rpId.includes('.') && hostname.endsWith(`.${rpId}`)),
    // A former domain answers browsers with what this service publishes.
    publishesOrigins: rpId !== hostname || formerRpIds.length > 0 || settings.passkeyOrigins.length > 0,
  };
}

/** Returns the RP IDs whose passkeys can be used here, the present one first; none where browsers use no passkeys. */
export const usableRpIds = ({ rpId, formerRpIds, isFit }: PasskeySite): readonly string[] =>
  isFit ? [rpId, ...formerRpIds] : [];

/** Whether a passkey of this RP ID can be used here. */
export const isUsableRpId = (site: PasskeySite, rpId: string): boolean => usableRpIds(site).includes(rpId);

/** Browsers offer passkeys to secure contexts only, and to hosts with a name (Web Authentication Level 3, section 5.1.3). */
function isFitForPasskeys(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return hasName(hostname) && (protocol === 'https:' || isLocalName(hostname));
}

const hasName = (hostname: string): boolean =>
  hostname !== '' && isIP(hostname.replace(/^\[|\]$/g, '')) === 0;
const isLocalName = (hostname: string): boolean =>
  hostname === 'localhost' || hostname.endsWith('.localhost');

/** Returns the domain in lower case and ASCII. Throws an Error whose message continues a sentence that begins with the name. */
export function readRpId(value: string): string {
  const hostname = /^[^\s/\\?#@:[\]%]+$/.test(value) ? URL.parse(`https://${value}`)?.hostname : undefined;
  if (hostname === undefined || !hasName(hostname) || hostname.endsWith('.'))
    throw new Error(
      `is "${value}"; write a domain such as example.com, without scheme, port and path. An IP address cannot have passkeys`,
    );
  return hostname;
}

/** Returns the origin as browsers write it. Throws as `readRpId` does. */
export function readPasskeyOrigin(value: string): string {
  const url = URL.parse(value);
  const isOrigin = url !== null && /^https?:\/\/[^/?#@\s]+\/?$/i.test(value) && isFitForPasskeys(value);
  if (!isOrigin)
    throw new Error(
      `has "${value}"; write origins such as https://app.example.com: scheme, host and port only, https unless the host is localhost, and no IP address`,
    );
  return url.origin;
}
