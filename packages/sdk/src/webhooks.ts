// Verifies events that webhooks deliver: Standard Webhooks 1.0, signature v1. It must not send anything, nor keep which events it saw.

/** How far the time of a message may be off, in seconds: the tolerance that Standard Webhooks recommends. */
const TOLERANCE_SECONDS = 300;
const PREFIX = 'whsec_';

export type WebhookErrorCode =
  | 'secret_invalid'
  | 'header_missing'
  | 'timestamp_invalid'
  | 'timestamp_off'
  | 'signature_mismatch'
  | 'body_invalid';

/** Why a message is not taken. Answer it with 400; only `secret_invalid` is a mistake of the receiver. */
export class WebhookError extends Error {
  override readonly name = 'WebhookError';
  readonly code: WebhookErrorCode;
  constructor(code: WebhookErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** An event as Castellan sends it. `GET /api/v1/webhooks/events` has the JSON Schema of each type. */
export type CastellanEvent = {
  type: string;
  timestamp: string;
  data: {
    id: string;
    version: number;
    sequence: number;
    replay: boolean;
    test?: true;
    actor: {
      type: 'user' | 'service_account';
      id: string;
      name?: string | null;
      email?: string | null;
    } | null;
    acted_by_id?: string;
    resource: { type: string; id: string; name?: string | null };
    details: Record<string, unknown>;
  };
};

/** Headers of a request: those of fetch, or those of Node. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Returns the event of a message. `rawBody` is the body as it arrived: a parsed one has other bytes. `secrets`: one or several, as
 * `whsec_…`; a message that any of them signed is taken. Throws `WebhookError` for any other message, and for one whose time is more than
 * five minutes off. An event may come again: its header `webhook-id` is the same each time.
 */
export async function verifyWebhook(
  rawBody: string | Uint8Array,
  headers: WebhookHeaders,
  secrets: string | readonly string[],
): Promise<CastellanEvent> {
  const id = headerOf(headers, 'webhook-id');
  const timestamp = headerOf(headers, 'webhook-timestamp');
  const signatures = headerOf(headers, 'webhook-signature');
  requireRecent(timestamp);
  const keys = [secrets].flat().map(keyOf);
  if (keys.length === 0) throw new WebhookError('secret_invalid', 'Pass the secret of the webhook.');
  const body = typeof rawBody === 'string' ? new TextEncoder().encode(rawBody) : rawBody;
  const signed = concat(new TextEncoder().encode(`${id}.${timestamp}.`), body);
  if (!(await isSigned(signed, signatures, keys)))
    throw new WebhookError(
      'signature_mismatch',
      'No signature of the message is by one of the secrets. Check the secret, and that the body is passed as it arrived.',
    );
  return eventOf(body);
}

/** Not instanceof: the Headers of a framework may be another class. */
const isHeaders = (headers: WebhookHeaders): headers is Headers => typeof headers.get === 'function';

function headerOf(headers: WebhookHeaders, name: string): string {
  const value = isHeaders(headers)
    ? headers.get(name)
    : Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  if (typeof value === 'string' && value !== '') return value;
  throw new WebhookError('header_missing', `The header ${name} is missing, or there are several.`);
}

function requireRecent(timestamp: string): void {
  if (!/^\d{1,12}$/.test(timestamp))
    throw new WebhookError('timestamp_invalid', 'The header webhook-timestamp is no time in seconds.');
  const off = Math.abs(Date.now() / 1_000 - Number(timestamp));
  if (off > TOLERANCE_SECONDS)
    throw new WebhookError(
      'timestamp_off',
      `The time of the message is ${Math.round(off)} seconds off, at most ${TOLERANCE_SECONDS}: check the clock.`,
    );
}

function keyOf(secret: string): Uint8Array<ArrayBuffer> {
  const key = secret.startsWith(PREFIX) ? bytesOf(secret.slice(PREFIX.length)) : null;
  if (key && key.length > 0) return key;
  throw new WebhookError('secret_invalid', 'A secret is whsec_ and Base64, as the webhook showed it.');
}

/** Null: not Base64. */
function bytesOf(base64: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}

function concat(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(first.length + second.length);
  all.set(first);
  all.set(second, first.length);
  return all;
}

/** Compares in constant time: `verify` of Web Crypto does. Signatures of other versions are passed over. */
async function isSigned(
  signed: Uint8Array<ArrayBuffer>,
  signatures: string,
  keys: readonly Uint8Array<ArrayBuffer>[],
): Promise<boolean> {
  const given = signatures
    .split(' ')
    .flatMap((one) => (one.startsWith('v1,') ? [bytesOf(one.slice(3))] : []));
  for (const bytes of keys) {
    const key = await crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, [
      'verify',
    ]);
    for (const signature of given)
      if (signature && (await crypto.subtle.verify('HMAC', key, signature, signed))) return true;
  }
  return false;
}

function eventOf(body: Uint8Array): CastellanEvent {
  try {
    const event: CastellanEvent = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
    if (typeof event?.type === 'string' && typeof event.data === 'object' && event.data !== null)
      return event;
  } catch {
    // Reported below.
  }
  throw new WebhookError('body_invalid', 'The message is signed, and is no event.');
}
