// An app on Express with express-openid-connect, of Auth0.
import express from 'express';
import openid from 'express-openid-connect';
import type { App } from './apps.ts';

export const expressOpenidConnect: App = {
  name: 'express-openid-connect',
  path: '/callback',
  serve(provider, origin) {
    const app = express();
    app.use(
      openid.auth({
        issuerBaseURL: provider.issuer,
        baseURL: origin,
        clientID: provider.application.client_id,
        clientSecret: provider.application.client_secret,
        secret: 'a secret of the app, of at least 32 characters',
        authRequired: false,
        idpLogout: true,
        authorizationParams: {
          response_type: 'code',
          scope: 'openid profile email offline_access',
          prompt: 'consent',
        },
      }),
    );
    app.get('/', (_request, response) => void response.send('front page'));
    app.get('/me', (request, response) => void response.send(request.oidc.user?.email ?? 'nobody'));
    app.get('/refresh', async (request, response) => {
      const before = request.oidc.accessToken;
      const after = await before?.refresh();
      response.send(after && after.access_token !== before?.access_token ? 'refreshed' : 'the same');
    });
    return app;
  },
};
