// Sends records to an HTTP endpoint, signed as Standard Webhooks describes (https://www.standardwebhooks.com).
// It must not follow a redirect, nor read more of an answer than its status.
import { createHash, createHmac } from 'node:crypto';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { jsonLine } from '../../../platform/logging/json-line.ts';
import { SEND_TIMEOUT_MS, type Sink, SinkError } from './sink.ts';

type WebhookOptions = {
  url: string;
  /** The type of the event, such as `audit.entries`. */
  type: string;
  /** Each signs, so that a receiver knows one of them while secrets are exchanged. */
  secrets: readonly Buffer[];
  /** Certificates to trust besides the system's, for tests. */
  ca?: string;
};

const MAX_RETRY_AFTER_MS = 3_600_000;

export const createWebhookSink = ({ url, type, secrets, ca }: WebhookOptions): Sink => ({
  async send(records) {
    const body = jsonLine({
      type,
      timestamp: new Date().toISOString(),
      data: { entries: records.map(({ content }) => content) },
    });
    // The same for a repeated batch, so that receivers recognize it.
    const digest = createHash('sha256').update(records.map(({ id }) => id).join());
    const id = `msg_${digest.digest('base64url').slice(0, 27)}`;
    const seconds = String(Math.floor(Date.now() / 1_000));
    const signatures = secrets.map(
      (secret) => `v1,${createHmac('sha256', secret).update(`${id}.${seconds}.${body}`).digest('base64')}`,
    );
    const { status, retryAfter } = await post(url, body, ca, {
      'content-type': 'application/json',
      'user-agent': 'castellan',
      'webhook-id': id,
      'webhook-timestamp': seconds,
      'webhook-signature': signatures.join(' '),
    });
    if (status >= 200 && status < 300) return;
    throw new SinkError(`the receiver answered ${status}`, {
      retryAfterMs: retryAfterMs(retryAfter),
      isTooLarge: status === 413,
    });
  },
});

function post(
  url: string,
  body: string,
  ca: string | undefined,
  headers: Record<string, string>,
): Promise<{ status: number; retryAfter: string | undefined }> {
  const options = {
    method: 'POST',
    headers: { ...headers, 'content-length': Buffer.byteLength(body) },
    signal: AbortSignal.timeout(SEND_TIMEOUT_MS),
  };
  return new Promise((resolve, reject) => {
    const sent = url.startsWith('https:')
      ? requestHttps(url, { ...options, ...(ca === undefined ? {} : { ca }), rejectUnauthorized: true })
      : requestHttp(url, options);
    // The end of an answer that was not read is an error too.
    sent.on('error', reject);
    // A receiver that changes the protocol (101) ends the request without a response or an error.
    sent.once('close', () => reject(new SinkError('the receiver did not answer the request')));
    sent.once('response', (response) => {
      resolve({ status: response.statusCode ?? 0, retryAfter: response.headers['retry-after'] });
      // The body does not matter, and must not be waited for.
      response.on('error', () => {}).destroy();
    });
    sent.end(body);
  });
}

/** Reads Retry-After (RFC 9110, 10.2.3): seconds or a date. At most an hour. */
function retryAfterMs(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(0, ms), MAX_RETRY_AFTER_MS);
}
