// Serves TLS with the certificate and the key in TLS_CERT_FILE and TLS_KEY_FILE, and takes over new ones without a restart.
// It must not show a byte of the key, nor drop a connection for a new certificate.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { createServer, type Server, type ServerOptions } from 'node:https';
import { resolve } from 'node:path';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import type { Logger } from '../../logging/log.ts';
import { errorCode, errorMessage } from '../../unknown-values.ts';

export type TlsFiles = { certFile: string; keyFile: string };

export type Tls = {
  /** Returns a server that always uses the latest pair. */
  createServer(options: ServerOptions, listener: RequestListener): Server;
  /** Takes over a pair that has changed. Keeps the former one, with a warning, if it cannot be used. Also runs every 20 s. */
  lookAgain(): void;
  /** `isCurrent`: whether the pair in the files is the one in use. `notAfter`: when that one expires. */
  stats(): { isCurrent: boolean; notAfter: Date };
  stop(): void;
};

export type Pair = { context: SecureContextOptions; notBefore: Date; notAfter: Date };

const LOOK_AGAIN_MS = 20_000;
/** A client that begins no handshake. Node's default is 120 s. */
const HANDSHAKE_TIMEOUT_MS = 15_000;
const OTHERS_MAY_READ = 0o004;
/** A chain has some KiB. */
const MAX_BYTES = 1_048_576;

type Options = { now?: () => Date };

/** Returns the pair, whatever its dates. Throws an Error whose message begins with a setting and says what to do. */
export function readPair({ certFile, keyFile }: TlsFiles): Pair {
  const cert = readPem('TLS_CERT_FILE', certFile);
  const key = readPem('TLS_KEY_FILE', keyFile);
  const certificate = parsed(
    `TLS_CERT_FILE (${certFile}) has no certificate in PEM`,
    () => new X509Certificate(cert),
  );
  const privateKey = parsed(`TLS_KEY_FILE (${keyFile}) has no private key in PEM without a passphrase`, () =>
    createPrivateKey(key),
  );
  if (!certificate.checkPrivateKey(privateKey))
    throw new Error(
      `TLS_KEY_FILE (${keyFile}) is not the key of the first certificate in TLS_CERT_FILE (${certFile}). Put the certificate of this service first, then the chain`,
    );
  const context: SecureContextOptions = { cert, key, minVersion: 'TLSv1.2' };
  parsed(`TLS_CERT_FILE (${certFile}) and TLS_KEY_FILE cannot be used together`, () =>
    createSecureContext(context),
  );
  return { context, notBefore: certificate.validFromDate, notAfter: certificate.validToDate };
}

/**
 * Opens the pair. One that has expired is served with a warning: clients refuse it themselves, and the start of a service must
 * not depend on a date. Throws an Error whose message begins with a setting and says what to do.
 */
export function openTls(files: TlsFiles, log: Logger, { now = () => new Date() }: Options = {}): Tls {
  const servers = new Set<Server>();
  let inUse = identityOf(files);
  let pair = readPair(files);
  for (const warning of pairWarnings(files, pair, now())) log.warn({ not_after: pair.notAfter }, warning);
  /** The last warning, which is not repeated. Null while the pair in the files is the one in use. */
  let warned: string | null = null;

  function lookAgain(): void {
    const found = identityOf(files);
    if (found === inUse) {
      warned = null;
      return;
    }
    // Also if it was refused before: it may be valid only now, or could not be read.
    try {
      const next = readPair(files);
      const problem = faultOf(next, now());
      if (problem) throw new Error(`The certificate in TLS_CERT_FILE (${files.certFile}) ${problem}`);
      for (const server of servers) server.setSecureContext(next.context);
      pair = next;
      inUse = found;
      warned = null;
      log.info({ not_after: next.notAfter }, 'the certificate of TLS_CERT_FILE was replaced');
    } catch (error) {
      const message = errorMessage(error);
      if (message === warned) return;
      warned = message;
      log.warn(
        { not_after: pair.notAfter },
        `${message}. The former certificate stays in use until a pair that fits takes its place.`,
      );
    }
  }

  const timer = setInterval(lookAgain, LOOK_AGAIN_MS).unref();
  return {
    createServer(options, listener) {
      const server = createServer(
        { ...options, ...pair.context, handshakeTimeout: HANDSHAKE_TIMEOUT_MS },
        listener,
      );
      // Before Node passes it on as a broken request, which would be answered: nobody has a key to read an answer with.
      server.prependListener('tlsClientError', (_error, socket) => socket.destroy());
      servers.add(server);
      return server;
    },
    lookAgain,
    stats: () => ({ isCurrent: warned === null, notAfter: pair.notAfter }),
    stop: () => clearInterval(timer),
  };
}

/** Returns what the operator should mend about a pair that is served nevertheless. */
export function pairWarnings(files: TlsFiles, pair: Pair, now: Date): string[] {
  const fault = faultOf(pair, now);
  const canOthersRead = (statSync(files.keyFile).mode & OTHERS_MAY_READ) !== 0;
  return [
    ...(fault === null ? [] : [`the certificate in TLS_CERT_FILE ${fault}`]),
    ...(canOthersRead
      ? [
          `TLS_KEY_FILE (${files.keyFile}) can be read by every user of the machine. Run: chmod o= ${files.keyFile}`,
        ]
      : []),
  ];
}

/** Returns why clients refuse the certificate; null if its dates are right. Continues a sentence. */
const faultOf = ({ notBefore, notAfter }: Pair, now: Date): string | null =>
  notAfter <= now
    ? `expired at ${notAfter.toISOString()}`
    : notBefore > now
      ? `is not valid before ${notBefore.toISOString()}`
      : null;

/** Differs for other files, and for another content. Follows links, as Kubernetes and certbot make them. */
const identityOf = ({ certFile, keyFile }: TlsFiles): string =>
  [certFile, keyFile]
    .map((path) => {
      try {
        const { dev, ino, size, mtimeMs } = statSync(path);
        return [dev, ino, size, mtimeMs].join(' ');
      } catch (error) {
        return errorCode(error) ?? 'unknown';
      }
    })
    .join(', ');

function readPem(name: string, path: string): Buffer {
  try {
    const facts = statSync(path);
    if (!facts.isFile() || facts.size > MAX_BYTES) throw new Error('is not a file in PEM');
    return readFileSync(path);
  } catch (error) {
    throw new Error(`${name} (${resolve(path)}) ${reasons[errorCode(error) ?? ''] ?? errorMessage(error)}`);
  }
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'does not exist',
  EACCES: 'cannot be read by this user',
};

/** Hides the cause, which may repeat a part of a file. */
function parsed<T>(problem: string, parse: () => T): T {
  try {
    return parse();
  } catch {
    throw new Error(problem);
  }
}
