// Which addresses a webhook may have. Names are judged when they are connected to, by platform/outbound.
// It must not resolve a name.
import { isIP } from 'node:net';
import { refusalOf } from '../../platform/outbound/destinations.ts';
import type { AddressRanges } from '../../platform/security/address-ranges.ts';
import { refusal } from './refusal.ts';

const MAX_LENGTH = 2_000;
/** `https://@host` and `https://:@host`, of which a URL keeps nothing. */
const EMPTY_USER_INFO = /^[^:]*:[/\\]*:?@/;

const fault = (code: string, message: string) => refusal('url', code, message, 'invalid_webhook_url');

/**
 * Returns the address as it is stored and sent to. Throws `invalid_webhook_url` (422): no https address, with a user name or a
 * fragment, too long, or one that is refused whatever answers there.
 */
export function cleanAddress(text: string, deny: AddressRanges): string {
  const given = text.trim();
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.hostname === '')
    throw fault('invalid_url', 'must be a whole address, such as https://billing.example.com/castellan');
  if (url.username !== '' || url.password !== '' || EMPTY_USER_INFO.test(given))
    throw fault('user_info', 'must not contain a user name or a password');
  if (url.hash !== '' || given.includes('#')) throw fault('fragment', 'must not have a fragment');
  if (url.href.length > MAX_LENGTH) throw fault('too_long', `must have at most ${MAX_LENGTH} characters`);
  const isPlain = url.protocol === 'http:';
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const why = isIP(host) === 0 ? null : refusalOf(host, { isPlain, plain: 'private', deny });
  if (why === 'not_https')
    throw fault(
      'not_https',
      'must begin with https://; http is for this machine and for addresses of private networks',
    );
  if (why !== null)
    throw fault(
      'refused_address',
      'is an address that Castellan does not connect to: link-local, multicast, or in OUTBOUND_DENY',
    );
  return url.href;
}
