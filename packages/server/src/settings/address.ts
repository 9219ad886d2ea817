// Settings: where the service listens, where people reach it, and its processes.
import { address, integer, optional, setting, text } from '../platform/config/config.ts';
import { type AddressRanges, parseRanges } from '../platform/security/address-ranges.ts';
import { parseTrustedProxies, type TrustedProxies } from '../platform/security/client-address.ts';
import { readPublicUrl } from '../start/checks/public-url.ts';
import { MAX_WORKERS } from '../start/checks/shares.ts';

export const addressSettings = {
  host: setting('HOST', address, 'IP address to listen on. `0.0.0.0` or `::` for every interface.', {
    default: '127.0.0.1',
  }),
  port: setting('PORT', integer(0, 65_535), 'Port to listen on. 0 selects a free port.', { default: '8000' }),
  publicUrl: setting(
    'PUBLIC_URL',
    optional(readPublicUrl),
    'URL at which people reach the service, with the path that it is mounted below, if any. It is the base of mailed links and the issuer (`iss`) of tokens.',
    { shown: 'http://localhost:PORT' },
  ),
  tlsCertFile: setting(
    'TLS_CERT_FILE',
    optional(text),
    'Path of the certificate in PEM, then its chain. With it, the service speaks TLS 1.2 and 1.3 itself, and only that. Read again within a minute of a change. See docs/operate/install.md.',
    { shown: 'none' },
  ),
  tlsKeyFile: setting(
    'TLS_KEY_FILE',
    optional(text),
    'Path of the private key of `TLS_CERT_FILE` in PEM, without a passphrase.',
    { shown: 'none' },
  ),
  trustedProxies: setting(
    'TRUSTED_PROXIES',
    (value: string): TrustedProxies => parseTrustedProxies(value),
    'IP addresses or CIDR ranges of proxies, comma-separated. `X-Forwarded-For` and `X-Real-IP` are believed only from these. `*` and `/0` are refused.',
    { default: '', shown: 'none' },
  ),
  outboundDeny: setting(
    'OUTBOUND_DENY',
    (value: string): AddressRanges => parseRanges(value),
    'IP addresses or CIDR ranges, comma-separated, that Castellan never connects to for an address in a record, such as the logout address of an application or a webhook. Link-local, multicast and unspecified addresses, and those of tunnels, are always refused.',
    { default: '', shown: 'none' },
  ),
  workers: setting(
    'WORKERS',
    optional(integer(1, MAX_WORKERS)),
    'Number of processes that serve requests. They share the port, the connections and the log of the instance. Several need Linux.',
    { shown: 'with `DATABASE_URL` the number of cores, at most 8; otherwise 1' },
  ),
  shutdownGraceSeconds: setting(
    'SHUTDOWN_GRACE_SECONDS',
    optional(integer(0, 600)),
    'How long an instance that shuts down keeps answering requests after `/health/ready` starts to fail, in seconds. Set it longer than the load balancer takes to notice.',
    { shown: '0 at a terminal, otherwise 5' },
  ),
};
