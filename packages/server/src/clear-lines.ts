// Which of the configured connections leave this machine without encryption, as sentences for the operator.
// It connects to nothing: a server may still insist on TLS by itself.
import ipaddr from 'ipaddr.js';
import pg from 'pg';

type Lines = { databaseUrl?: string | undefined; smtpUrl?: string | undefined };

/** Empty when every connection is encrypted, or stays on the machine. */
export function clearLines({ databaseUrl, smtpUrl }: Lines): string[] {
  const warnings: string[] = [];
  if (databaseUrl !== undefined) {
    if (isClear(databaseUrl))
      warnings.push(
        'DATABASE_URL names another machine and asks for no TLS: password hashes and sessions go over the line in clear. Add ?sslmode=verify-full, unless something else encrypts that line.',
      );
  }
  if (smtpUrl !== undefined) {
    const { protocol, hostname, searchParams } = new URL(smtpUrl);
    if (protocol === 'smtp:' && !staysHere(hostname) && searchParams.get('requireTLS') !== 'true')
      warnings.push(
        'SMTP_URL names another machine and does not insist on TLS: whoever is on the line can take STARTTLS away, and read the password and the links in mails. Add ?requireTLS=true, or use smtps://.',
      );
  }
  return warnings;
}

/** What the driver makes of it, `host` and every `sslmode` included; nothing is connected. */
function isClear(databaseUrl: string): boolean {
  try {
    const { host, ssl } = new pg.Client({ connectionString: databaseUrl });
    return !ssl && !staysHere(host);
  } catch {
    // A certificate that cannot be read, for one: connecting fails, and says so.
    return false;
  }
}

/** Loopback, or the path of a Unix socket. */
function staysHere(host: string): boolean {
  if (host === '' || host === 'localhost' || host.startsWith('/')) return true;
  const bare = host.replace(/^\[|\]$/g, '');
  return ipaddr.isValid(bare) && ipaddr.process(bare).range() === 'loopback';
}
