// The client of a page on which somebody acts as another user: one access token, which nothing renews.
// It must not know the session of the browser: it neither reads nor changes what the tabs share, nor uses the refresh cookie.
import { readBaseUrl } from './calls/call.ts';
import { type BrowserClient, type BrowserOptions, createClientIn } from './client.ts';
import { hostEnvironment, type Store } from './environment.ts';

const EXCHANGE = '/api/v1/auth/new_access_token';

const answer = (status: number, body: object): Response =>
  new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json' } });

/**
 * Returns a client that sends every request with this token: the `access_token` that `POST /api/v1/users/{user_id}/act-as` has returned.
 * When the service refuses the token, its session ends with the event `session_ended`, and later requests fail with 401. It never goes on as
 * the person whose session the browser has. Throws a TypeError if an option is not valid.
 */
export function createActingClient(options: BrowserOptions, accessToken: string): BrowserClient {
  const host = hostEnvironment(false);
  const send = options.fetch ?? host.fetch;
  let isTaken = false;
  /** Gives the token in the place of the refresh cookie, once. */
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    if (!url.endsWith(EXCHANGE)) return send(input, init);
    if (isTaken)
      return answer(401, { code: 'refresh_token_invalid', detail: 'Nobody acts as this user now.' });
    isTaken = true;
    return answer(200, { data: { access_token: accessToken, token_type: 'bearer' }, message: '' });
  };
  const storage = memoryWith(`castellan:${readBaseUrl(options.baseUrl)}:session`, 'acting');
  return createClientIn({ ...host, storage, locks: null, openChannel: null }, { ...options, fetch });
}

/** Returns a storage of this page alone, with one value: that there is a session. */
function memoryWith(name: string, value: string): Store {
  const values = new Map([[name, value]]);
  return {
    getItem: (one) => values.get(one) ?? null,
    setItem: (one, text) => void values.set(one, text),
    removeItem: (one) => void values.delete(one),
  };
}
