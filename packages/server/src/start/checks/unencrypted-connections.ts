// Warns of configured connections that leave this machine without encryption, in sentences for the operator.
// It opens no connection, so it does not know whether a server enforces TLS.
import ipaddr from 'ipaddr.js';
import pg from 'pg';

type Connections = {
  databaseUrl?: string | undefined;
  databaseReplicaUrl?: string | undefined;
  smtpUrl?: string | undefined;
};

/** Returns the warnings; empty if every connection is encrypted or stays on this machine. */
export function unencryptedConnections({ databaseUrl, databaseReplicaUrl, smtpUrl }: Connections): string[] {
  const warnings: string[] = [];
  if (databaseUrl !== undefined && isClear(databaseUrl))
    warnings.push(
      'DATABASE_URL names another machine without TLS: password hashes and sessions are sent unencrypted. Add ?sslmode=verify-full, unless something else encrypts the connection.',
    );
  if (databaseReplicaUrl !== undefined && isClear(databaseReplicaUrl))
    warnings.push(
      'DATABASE_REPLICA_URL names another machine without TLS: the audit log is sent unencrypted. Add ?sslmode=verify-full, unless something else encrypts the connection.',
    );
  if (smtpUrl !== undefined) {
    const { protocol, hostname, searchParams } = new URL(smtpUrl);
    if (protocol === 'smtp:' && !isThisMachine(hostname) && searchParams.get('requireTLS') !== 'true')
      warnings.push(
        'SMTP_URL names another machine and does not require TLS: an attacker on the network can remove STARTTLS and read the password and mailed links. Add ?requireTLS=true, or use smtps://.',
      );
  }
  return warnings;
}

/** Whether the connection is unencrypted, as the driver reads the URL with all its options. Opens no connection. */
function isClear(databaseUrl: string): boolean {
  try {
    const { host, ssl } = new pg.Client({ connectionString: databaseUrl });
    return !ssl && !isThisMachine(host);
  } catch {
    // For example a certificate file that cannot be read: connecting fails with its own message.
    return false;
  }
}

/** Whether the host is loopback or the path of a Unix socket. */
function isThisMachine(host: string): boolean {
  if (host === '' || host === 'localhost' || host.startsWith('/')) return true;
  const bare = host.replace(/^\[|\]$/g, '');
  return ipaddr.isValid(bare) && ipaddr.process(bare).range() === 'loopback';
}
