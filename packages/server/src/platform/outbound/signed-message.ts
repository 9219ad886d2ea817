// Signs messages to receivers of others as Standard Webhooks describes (https://www.standardwebhooks.com), and reads when a receiver
// wants the next one. It must not send.
import { createHmac } from 'node:crypto';

/** Returns the headers of a message. Each secret signs, so that a receiver knows one of them while secrets are exchanged. */
export function signedHeaders(
  id: string,
  body: string,
  secrets: readonly Buffer[],
  now: number = Date.now(),
): Record<string, string> {
  const seconds = String(Math.floor(now / 1_000));
  const signatures = secrets.map(
    (secret) => `v1,${createHmac('sha256', secret).update(`${id}.${seconds}.${body}`).digest('base64')}`,
  );
  return {
    'content-type': 'application/json',
    'user-agent': 'castellan',
    'webhook-id': id,
    'webhook-timestamp': seconds,
    'webhook-signature': signatures.join(' '),
  };
}

const MAX_RETRY_AFTER_MS = 3_600_000;

/** Reads Retry-After (RFC 9110, 10.2.3): seconds or a date. Returns milliseconds, at most an hour. */
export function readRetryAfter(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(0, ms), MAX_RETRY_AFTER_MS);
}
