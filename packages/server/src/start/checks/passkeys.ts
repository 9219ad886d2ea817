// Whether browsers can have passkeys of this address. It must not open a connection.
import { isIP } from 'node:net';

/**
 * Returns whether PUBLIC_URL can have passkeys: browsers refuse IP addresses, and http but for `localhost` and names below it.
 * Source: Web Authentication Level 3, 5.1.3 and 13.4.9; Secure Contexts, 3.1.
 */
export function passkeysAvailable({ publicUrl }: { publicUrl: string }): boolean {
  const { protocol, hostname } = new URL(publicUrl);
  if (isIP(hostname.replace(/^\[|\]$/g, '')) !== 0) return false;
  return protocol === 'https:' || hostname === 'localhost' || hostname.endsWith('.localhost');
}
