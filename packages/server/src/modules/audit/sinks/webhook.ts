// Sends records to an HTTP endpoint, signed as Standard Webhooks describes (https://www.standardwebhooks.com).
// It must not follow a redirect, nor read more of an answer than its status.
import { createHash } from 'node:crypto';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { jsonLine } from '../../../platform/logging/json-line.ts';
import { readRetryAfter, signedHeaders } from '../../../platform/outbound/signed-message.ts';
import { HEAD_TYPE, SEND_TIMEOUT_MS, type Sink, SinkError } from './sink.ts';

type WebhookOptions = {
  url: string;
  /** The type of the message with records, such as `audit.entries`. */
  type: string;
  /** Each signs, so that a receiver knows one of them while secrets are exchanged. */
  secrets: readonly Buffer[];
  /** Certificates to trust besides the system's, for tests. */
  ca?: string;
};

export function createWebhookSink({ url, type, secrets, ca }: WebhookOptions): Sink {
  /** `key` is the same for a repeated message, so that receivers recognize it. */
  async function sendMessage(message: { type: string; data: object }, key: string): Promise<void> {
    const { data } = message;
    const body = jsonLine({ type: message.type, timestamp: new Date().toISOString(), data });
    const id = `msg_${createHash('sha256').update(key).digest('base64url').slice(0, 27)}`;
    const { status, retryAfter } = await post(url, body, ca, signedHeaders(id, body, secrets));
    if (status >= 200 && status < 300) return;
    throw new SinkError(`the receiver answered ${status}`, {
      retryAfterMs: readRetryAfter(retryAfter),
      isTooLarge: status === 413,
    });
  }
  return {
    send: (records) => {
      const data = { entries: records.map(({ content }) => content) };
      return sendMessage({ type, data }, records.map(({ id }) => id).join());
    },
    sendHead: (head) => sendMessage({ type: HEAD_TYPE, data: head }, head.checkpoint),
  };
}

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
