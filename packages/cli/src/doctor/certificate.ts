// Looks at the certificate that the service serves by itself: whether the key fits, how long it is valid, and for which host.
import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { readPair } from '@castellan/server/platform/http/server/tls';
import type { Settings } from '@castellan/server/settings';
import { bad, ok, type Report, warn } from './finding.ts';

const DAY_MS = 86_400_000;
/** Issuers that renew by themselves do so 30 days before the end; 14 leave time for people to act. */
const FEW_DAYS = 14;

export async function lookAtCertificate(
  { tls, publicUrl }: Pick<Settings, 'tls' | 'publicUrl'>,
  now = new Date(),
): Promise<Report[]> {
  if (tls === null) return [];
  const { context, notBefore, notAfter } = readPair(tls);
  const days = Math.floor((notAfter.getTime() - now.getTime()) / DAY_MS);
  const end = `expires in ${days} days, at ${notAfter.toISOString()}`;
  const advice = 'Renew the certificate; the service takes over new files within a minute.';
  const { hostname } = new URL(publicUrl);
  const host = hostname.replace(/^\[|\]$/g, '');
  const certificate = new X509Certificate(String(context.cert));
  const isForHost = (isIP(host) ? certificate.checkIP(host) : certificate.checkHost(host)) !== undefined;
  return [
    notAfter <= now
      ? bad(`the certificate in TLS_CERT_FILE expired at ${notAfter.toISOString()}`, advice)
      : notBefore > now
        ? bad(`the certificate in TLS_CERT_FILE is not valid before ${notBefore.toISOString()}`, advice)
        : days < FEW_DAYS
          ? warn(`the certificate in TLS_CERT_FILE ${end}`, advice)
          : ok(`the certificate in TLS_CERT_FILE ${end}`),
    isForHost
      ? ok(`the certificate is for the host of PUBLIC_URL, ${host}`)
      : warn(
          `the certificate in TLS_CERT_FILE is not for the host of PUBLIC_URL, ${host}`,
          'Get one for this host, unless a proxy that checks no name is in front.',
        ),
  ];
}
