// Web apps with the libraries of strangers: a person signs in, the app refreshes, the person signs out.
import { after, test } from 'node:test';
import { freePort } from '@castellan/testing/ports';
import { listen, tryApp } from './apps.ts';
import { authJs } from './auth-js.ts';
import { expressOpenidConnect } from './express-openid-connect.ts';
import { passportOpenidconnect } from './passport-openidconnect.ts';
import { startProviders } from './providers.ts';

const apps = await Promise.all(
  [expressOpenidConnect, passportOpenidconnect, authJs].map(async (app) => ({
    app,
    origin: `http://127.0.0.1:${await freePort()}`,
  })),
);
const providers = await startProviders(
  { after },
  {
    callbacks: apps.map(({ app, origin }) => `${origin}${app.path}`),
    signedOut: apps.flatMap(({ origin }) => [origin, `${origin}/`]),
  },
);

for (const provider of providers)
  for (const { app, origin } of apps)
    test(`an app with ${app.name} signs in at ${provider.name}, refreshes and signs out`, async (t) => {
      await listen(t, Number(new URL(origin).port), app.serve(provider, origin));
      await tryApp(provider, origin);
    });
