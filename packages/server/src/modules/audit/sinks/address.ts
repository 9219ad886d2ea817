// Reads the address of a sink, and the secrets that sign what it gets. It must not connect.
import { BlockList, isIPv6 } from 'node:net';

export type SinkAddress =
  | { kind: 'stdout' }
  | { kind: 'syslog'; host: string; port: number }
  | { kind: 'webhook'; url: string };

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8);
loopback.addAddress('::1', 'ipv6');

const isLoopback = (host: string): boolean =>
  host === 'localhost' || loopback.check(host, isIPv6(host) ? 'ipv6' : 'ipv4');

/** The registered port of syslog over TLS (RFC 5425). */
const SYSLOG_TLS_PORT = 6_514;

/** Reads `stdout`, `syslog+tls://host:6514` or `https://…`. The error repeats nothing, because URLs contain passwords. */
export function parseSinkAddress(text: string): SinkAddress {
  if (text === 'stdout') return { kind: 'stdout' };
  const parsed = URL.parse(text);
  const url = parsed && !parsed.hash && !parsed.username && !parsed.password ? parsed : null;
  const host = url?.hostname.replace(/^\[|\]$/g, '') ?? '';
  if (url?.protocol === 'syslog+tls:' && host !== '' && /^\/?$/.test(url.pathname) && !url.search)
    return { kind: 'syslog', host, port: url.port === '' ? SYSLOG_TLS_PORT : Number(url.port) };
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(host)))
    return { kind: 'webhook', url: url.href };
  throw new Error(
    'is neither stdout nor an address such as syslog+tls://logs.example.com:6514 or https://siem.example.com/castellan (without user and password; http only to this machine)',
  );
}

const MIN_SECRET_BYTES = 32;

/** Reads `whsec_` and base64, comma-separated. The error repeats nothing. */
export function parseSinkSecret(text: string): Buffer {
  const [, encoded] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(text) ?? [];
  const secret = Buffer.from(encoded ?? '', 'base64');
  if (secret.length < MIN_SECRET_BYTES)
    throw new Error(
      'must be whsec_ and 32 bytes or more in base64; generate one with: echo "whsec_$(openssl rand -base64 32)"',
    );
  return secret;
}
