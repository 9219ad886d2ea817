// How openid-client asks a provider: by the rules of outbound requests, with bounded answers.
import type { CustomFetch } from 'openid-client';
import { askOutside, OutboundError, type OutboundSettings } from '../../../platform/outbound/request.ts';

export type AskingSettings = OutboundSettings & { publicUrl: string };

/** Origins and what is asked instead, for tests: Google and others have fixed addresses. */
export type ProviderAddresses = ReadonlyMap<string, string>;

/** Answers of token endpoints, by the PKCE verifier of the sign-in. */
export type TokenAnswers = Map<string, Response | null>;

const MAX_BYTES = 1024 * 1024;
/** What openid-client and the checks read. */
const headersRead = ['content-type', 'date', 'www-authenticate', 'retry-after'];
/** A Response of these has no body. */
const withoutBody: ReadonlySet<number> = new Set([204, 205, 304]);

/** Whether a provider may be asked over http: where people reach this service over http, too. Then only on this machine. */
export const allowsHttp = ({ publicUrl }: AskingSettings): boolean => publicUrl.startsWith('http:');

/**
 * Returns the `fetch` of openid-client. It rejects with OutboundError. A code counts once, so the answer of the token endpoint
 * to a verifier in `answers` is kept there, and given again to the next request with the same verifier.
 */
export function createAsk(
  settings: AskingSettings,
  addresses: ProviderAddresses,
  answers: TokenAnswers,
): CustomFetch {
  async function ask(url: string, { method, headers, body }: Parameters<CustomFetch>[1]): Promise<Response> {
    const address = new URL(url);
    const instead = addresses.get(address.origin);
    if (instead === undefined && address.protocol === 'http:' && !allowsHttp(settings))
      throw new OutboundError('not_https');
    const answer = await askOutside(settings, {
      url: instead === undefined ? url : `${instead}${address.pathname}${address.search}`,
      method: method === 'POST' ? 'POST' : 'GET',
      headers: { ...headers, 'user-agent': 'castellan' },
      ...(body instanceof URLSearchParams ? { body: body.toString() } : {}),
      plain: 'loopback',
      maxBytes: MAX_BYTES,
    });
    // Response takes no other status. No standard has one.
    if (answer.status < 200 || answer.status > 599) throw new OutboundError('no_answer');
    const read = headersRead.flatMap((name): [string, string][] => {
      const value = answer.headers[name];
      return typeof value === 'string' ? [[name, value]] : [];
    });
    return new Response(withoutBody.has(answer.status) ? null : answer.body, {
      status: answer.status,
      headers: read,
    });
  }

  return async (url, options) => {
    const verifier = options.body instanceof URLSearchParams ? options.body.get('code_verifier') : null;
    if (verifier === null || !answers.has(verifier)) return ask(url, options);
    const kept = answers.get(verifier);
    if (kept) return kept.clone();
    const answer = await ask(url, options);
    answers.set(verifier, answer.clone());
    return answer;
  };
}
