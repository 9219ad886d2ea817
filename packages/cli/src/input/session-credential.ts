// Sends changes with the access token of somebody's session, which need a CSRF token besides.
// It must not keep the token: a command has it for as long as it runs.

/** An access token is a JWT; API keys and personal access tokens begin with their own prefix. */
export const isAccessToken = (key: string): boolean => key.startsWith('eyJ');

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Returns a `fetch` that adds a CSRF token, and the cookie that it belongs to, to requests that change something. It asks
 * the Castellan at `url` for both, once. If it gets no token, requests go without, and the refusal says so.
 */
export function fetchWithCsrf(url: string): typeof fetch {
  let proof: Promise<Record<string, string>> | undefined;
  return async (input, init) => {
    const method = (init?.method ?? (input instanceof Request ? input.method : 'GET')).toUpperCase();
    if (safeMethods.has(method)) return fetch(input, init);
    proof ??= csrfProof(`${url.replace(/\/+$/, '')}/api/v1/auth/csrf-token`, init?.signal ?? null);
    const headers = new Headers(init?.headers ?? (input instanceof Request ? input.headers : undefined));
    for (const [name, value] of Object.entries(await proof)) headers.set(name, value);
    return fetch(input, { ...init, headers });
  };
}

async function csrfProof(url: string, signal: AbortSignal | null): Promise<Record<string, string>> {
  const answer = await fetch(url, { signal });
  if (!answer.ok) return {};
  const { data } = (await answer.json()) as { data: { csrf_token: string } };
  const cookies = answer.headers.getSetCookie().map((cookie) => cookie.split(';')[0]);
  return { cookie: cookies.join('; '), 'x-csrf-token': data.csrf_token };
}
