// Reads METRICS_ADDRESS. It must not listen.
import { BlockList, isIP, isIPv6 } from 'node:net';

/** Where metrics are served. `host` undefined: every interface. */
export type MetricsAddress = { port: number; host: string | undefined } | { path: string };

// sun_path of unix(7) has 108 bytes, the last of which is NUL.
const MAX_PATH_BYTES = 107;
const MAX_PORT = 65_535;

/**
 * Reads `127.0.0.1:9464`, `[::1]:9464`, `localhost:9464`, `:9464` or `unix:/run/castellan/metrics.sock`. The error's
 * message continues a sentence that begins with the setting's name.
 */
export function parseMetricsAddress(text: string): MetricsAddress {
  const [, path] = /^unix:(\/.+)$/.exec(text) ?? [];
  if (path !== undefined) {
    if (Buffer.byteLength(path) > MAX_PATH_BYTES)
      throw new Error(`names a socket whose path has more than ${MAX_PATH_BYTES} bytes; use a shorter one`);
    return { path };
  }
  const [, ipv6, other, digits] = /^(?:\[([^\]]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  const isHost =
    ipv6 === undefined ? other === '' || other === 'localhost' || isIP(other ?? '') === 4 : isIPv6(ipv6);
  if (digits === undefined || port < 1 || port > MAX_PORT || !isHost)
    throw new Error(
      `is "${text}"; write an IP address and a port such as 127.0.0.1:9464, a port such as :9464, or unix:/path/of/socket`,
    );
  return { port, host: ipv6 ?? (other === '' ? undefined : other) };
}

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8);
loopback.addAddress('::1', 'ipv6');

/** Returns whether only programs of this machine reach the address. */
export function isReachedLocally(address: MetricsAddress): boolean {
  if ('path' in address || address.host === 'localhost') return true;
  const { host } = address;
  return host !== undefined && loopback.check(host, isIPv6(host) ? 'ipv6' : 'ipv4');
}

/** Returns the address for people. */
export const describeAddress = (address: MetricsAddress): string => {
  if ('path' in address) return `unix:${address.path}`;
  const { host = '', port } = address;
  return `${isIPv6(host) ? `[${host}]` : host}:${port}`;
};
