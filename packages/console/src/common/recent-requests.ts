// The last requests that the pages sent, for people who want to send the same from a shell.
// It must not keep a secret: passwords, tokens and codes are replaced before anything is kept.

/** Stands for a value that is not kept. */
export class Secret {
  readonly field: string;

  constructor(field: string) {
    this.field = field;
  }
}

export type SentRequest = {
  /** The path of the page that sent it. */
  page: string;
  method: string;
  url: string;
  /** Of the headers, the one that changes what a write does. */
  ifMatch: string | null;
  /** JSON, with `Secret` in place of secrets; undefined without a body. */
  body: unknown;
};

/** Enough for what a page reads at once. */
const MOST = 60;

const SECRET_FIELD = /password|secret|token|(^|_)(code|key|otp|pin)$/i;
/** API keys, wherever they are. */
const SECRET_TEXT = /castellan_(?:pat_)?[A-Za-z0-9]{12}_\w+/;

/** Returns a copy of the value with `Secret` in place of texts that are or look like secrets. */
export function withoutSecrets(value: unknown, field = ''): unknown {
  if (typeof value === 'string')
    return SECRET_FIELD.test(field) || SECRET_TEXT.test(value) ? new Secret(field || 'secret') : value;
  if (Array.isArray(value)) return value.map((one) => withoutSecrets(one, field));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withoutSecrets(one, name)]));
}

const sent: SentRequest[] = [];

/** Returns a `fetch` that remembers what it sends. */
export function remembering(
  fetch: typeof globalThis.fetch,
  pageOf: () => string = () => location.pathname,
): typeof globalThis.fetch {
  return (input, init) => {
    const { method = 'GET', headers, body } = init ?? {};
    const url = String(input instanceof Request ? input.url : input);
    // Sign-ins, refreshes and passwords are nothing to repeat. Nothing about the person's own sessions is secret.
    if (!/\/api\/v1\/(auth\/(?!sessions)|oauth\/)/.test(url) && !SECRET_TEXT.test(url)) {
      const value = typeof body === 'string' && body.startsWith('{') ? JSON.parse(body) : undefined;
      const ifMatch = new Headers(headers).get('if-match');
      sent.push({ page: pageOf(), method, url, ifMatch, body: withoutSecrets(value) });
      if (sent.length > MOST) sent.shift();
    }
    return fetch(input, init);
  };
}

/** Returns the requests, the latest first. */
export const recentRequests = (): readonly SentRequest[] => sent.toReversed();
