// Decides by which names metrics may be asked for. A page of another site can point its own name at this machine (DNS
// rebinding) and read what it gets; the browser then sends that name. It must not look a name up.
import { isIP } from 'node:net';

/** Returns the host of a Host header in its canonical form, without port and final dot; null if it has none. */
const hostOf = (header: string): string | null =>
  /[\s/?#@\\]/.test(header) ? null : (URL.parse(`http://${header}`)?.hostname.replace(/\.$/, '') ?? null);

/** Reads a host name of METRICS_HOSTS. The error's message continues a sentence that begins with the setting's name. */
export function parseMetricsHost(text: string): string {
  const host = /[:[\]]/.test(text) ? null : hostOf(text);
  if (!host)
    throw new Error(`has "${text}"; write host names such as metrics.example.com, without scheme and port`);
  return host;
}

/**
 * Returns whether a Host header names this service: `hosts`, an IP address, or a name without a dot, such as `localhost` and
 * those of containers, which no other site can have. Browsers always send a Host header, so that none is fine.
 */
export function isOwnHost(header: string | undefined, hosts: readonly string[]): boolean {
  if (header === undefined) return true;
  const host = hostOf(header);
  if (!host) return false;
  return !host.includes('.') || isIP(host.replace(/^\[|\]$/g, '')) !== 0 || hosts.includes(host);
}
