// Signs events as Castellan does, for tests of what receives them. It must not send.
import type { CastellanEvent } from '../webhooks.ts';

/** A secret for tests. No Castellan makes it. */
export const TEST_WEBHOOK_SECRET = 'whsec_dGhpcyBzZWNyZXQgaXMgb25seSBmb3IgdGVzdHM=';

/** What a test says of an event. `data` has what is given, and otherwise what an event of a new record would have. */
export type SampleEvent = {
  type: string;
  timestamp?: string;
  data?: Partial<CastellanEvent['data']>;
};

export type SignedEvent = {
  event: CastellanEvent;
  headers: {
    'content-type': string;
    'webhook-id': string;
    'webhook-timestamp': string;
    'webhook-signature': string;
  };
  body: string;
};

let sequence = 0;

/**
 * Returns an event with its body and headers, to be passed to the handler of a webhook. `secrets`: each signs. `id`: of the message;
 * pass that of an earlier one for an event that comes again. `at`: when it is sent, in ms since 1970.
 */
export async function signWebhook(
  { type, timestamp, data = {} }: SampleEvent,
  {
    secrets = TEST_WEBHOOK_SECRET,
    id,
    at = Date.now(),
  }: { secrets?: string | readonly string[]; id?: string; at?: number } = {},
): Promise<SignedEvent> {
  sequence += 1;
  const event: CastellanEvent = {
    type,
    timestamp: timestamp ?? new Date(at).toISOString(),
    data: {
      id: crypto.randomUUID(),
      version: 1,
      sequence,
      replay: false,
      actor: null,
      resource: { type: type.split('_')[0] ?? type, id: crypto.randomUUID() },
      details: {},
      ...data,
    },
  };
  const body = JSON.stringify(event);
  const message = id ?? `msg_test_${event.data.id.replaceAll('-', '')}`;
  const seconds = String(Math.floor(at / 1_000));
  const signatures = await Promise.all(
    [secrets].flat().map((secret) => signatureOf(secret, `${message}.${seconds}.${body}`)),
  );
  return {
    event,
    body,
    headers: {
      'content-type': 'application/json',
      'webhook-id': message,
      'webhook-timestamp': seconds,
      'webhook-signature': signatures.join(' '),
    },
  };
}

/** Throws for a secret that is not `whsec_` and Base64. */
async function signatureOf(secret: string, text: string): Promise<string> {
  if (!secret.startsWith('whsec_')) throw new TypeError('A secret of a webhook begins with whsec_.');
  const bytes = Uint8Array.from(atob(secret.slice('whsec_'.length)), (one) => one.charCodeAt(0));
  const key = await crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  const signature = await crypto.subtle.sign('HMAC', key, new TextEncoder().encode(text));
  return `v1,${btoa(String.fromCharCode(...new Uint8Array(signature)))}`;
}
