// An app with Auth.js (@auth/core), of the makers of NextAuth. It refreshes as its documentation says, in the callback of its token,
// and signs out at the provider by the address that the standard names.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Auth, type AuthConfig } from '@auth/core';
import type { Provider } from '../providers/provider.ts';
import type { App } from './apps.ts';

const PROVIDER = 'provider';

export const authJs: App = {
  name: '@auth/core',
  path: `/auth/callback/${PROVIDER}`,
  serve(provider, origin) {
    // The app keeps what the sessions of Auth.js do not show.
    const kept = new Map<string, { idToken: string; refreshToken: string }>();
    const config: AuthConfig = {
      basePath: '/auth',
      secret: 'a secret of the app, of at least 32 characters',
      trustHost: true,
      providers: [
        {
          id: PROVIDER,
          name: provider.name,
          type: 'oidc',
          issuer: provider.issuer,
          clientId: provider.application.client_id,
          clientSecret: provider.application.client_secret,
          checks: ['pkce', 'state', 'nonce'],
          authorization: { params: { scope: 'openid profile email offline_access', prompt: 'consent' } },
        },
      ],
      callbacks: {
        jwt({ token, account, profile }) {
          if (account?.id_token && account.refresh_token)
            kept.set(String(profile?.email), {
              idToken: account.id_token,
              refreshToken: account.refresh_token,
            });
          return token;
        },
      },
    };
    /** Calls Auth.js as the browser does, in the middle of a request. */
    const call = async (request: IncomingMessage, path: string, form?: Record<string, string>) =>
      Auth(
        new Request(`${origin}${path}`, {
          method: form ? 'POST' : 'GET',
          headers: { cookie: request.headers.cookie ?? '' },
          ...(form ? { body: new URLSearchParams(form) } : {}),
        }),
        config,
      );
    /** Posts a form with the token of Auth.js against forged requests, and the cookie of that token. */
    const post = async (request: IncomingMessage, path: string): Promise<Response> => {
      const answer = await call(request, '/auth/csrf');
      const { csrfToken } = await answer.json();
      const cookies = answer.headers.getSetCookie().map((one) => one.split(';')[0]);
      const headers = { cookie: [request.headers.cookie, ...cookies].filter(Boolean).join('; ') };
      return call({ headers } as IncomingMessage, path, { csrfToken, callbackUrl: origin });
    };
    const emailOf = async (request: IncomingMessage): Promise<string | undefined> =>
      (await (await call(request, '/auth/session')).json())?.user?.email;

    const pages: Record<string, (request: IncomingMessage) => Promise<Response>> = {
      '/': async () => new Response('front page'),
      '/login': (request) => post(request, `/auth/signin/${PROVIDER}`),
      '/me': async (request) => new Response((await emailOf(request)) ?? 'nobody'),
      '/refresh': async (request) => {
        const { refreshToken = '' } = kept.get((await emailOf(request)) ?? '') ?? {};
        return new Response((await refresh(provider, refreshToken)) ? 'refreshed' : 'refused');
      },
      '/logout': async (request) => {
        const { idToken = '' } = kept.get((await emailOf(request)) ?? '') ?? {};
        const { headers } = await post(request, '/auth/signout');
        const address = new URL((await endpointsOf(provider)).end_session_endpoint);
        address.search = String(
          new URLSearchParams({ id_token_hint: idToken, post_logout_redirect_uri: `${origin}/` }),
        );
        headers.set('location', address.href);
        return new Response(null, { status: 302, headers });
      },
    };
    return (request, response) => {
      const { pathname } = new URL(request.url ?? '/', origin);
      const page = pages[pathname] ?? ((one: IncomingMessage) => call(one, one.url ?? '/'));
      page(request).then(
        (answer) => forward(answer, response),
        (error: Error) => response.writeHead(500).end(error.stack),
      );
    };
  },
};

const endpointsOf = async (provider: Provider) =>
  (await fetch(`${provider.issuer}/.well-known/openid-configuration`)).json();

async function refresh(provider: Provider, refreshToken: string): Promise<boolean> {
  const { client_id, client_secret } = provider.application;
  const answer = await fetch((await endpointsOf(provider)).token_endpoint, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${client_id}:${client_secret}`).toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'refresh_token', refresh_token: refreshToken }),
  });
  return answer.status === 200 && typeof (await answer.json()).access_token === 'string';
}

async function forward(answer: Response, response: ServerResponse): Promise<void> {
  const cookies = answer.headers.getSetCookie();
  const location = answer.headers.get('location');
  response.writeHead(answer.status, {
    ...(cookies.length > 0 ? { 'set-cookie': cookies } : {}),
    ...(location ? { location } : {}),
  });
  response.end(await answer.text());
}
