// An app on Express with Passport and passport-openidconnect, of Jared Hanson.
// The strategy neither refreshes nor signs out at the provider. The app does it as other strategies do, by its OAuth client, and by the
// address that the standard names.
import express from 'express';
import session from 'express-session';
import passport, { type SignedIn } from 'passport';
import Strategy from 'passport-openidconnect';
import type { App } from './apps.ts';

type User = { email: string | undefined; idToken: string; refreshToken: string };
type Profile = { emails?: { value: string }[] };
type Done = (error: Error | null, user?: unknown) => void;

export const passportOpenidconnect: App = {
  name: 'passport-openidconnect',
  path: '/callback',
  serve(provider, origin) {
    const oauth = `${provider.issuer}${provider.name === 'Castellan' ? '/api/v1/oauth' : ''}`;
    const isOurs = provider.name === 'Castellan';
    const strategy = new Strategy(
      {
        issuer: provider.issuer,
        authorizationURL: `${oauth}/${isOurs ? 'authorize' : 'auth'}`,
        tokenURL: `${oauth}/token`,
        userInfoURL: `${oauth}/${isOurs ? 'userinfo' : 'me'}`,
        clientID: provider.application.client_id,
        clientSecret: provider.application.client_secret,
        callbackURL: `${origin}/callback`,
        scope: ['profile', 'email', 'offline_access'],
        prompt: 'consent',
      },
      (
        _issuer: string,
        profile: Profile,
        _context: object,
        idToken: string,
        _accessToken: string,
        refreshToken: string,
        done: Done,
      ) => done(null, { email: profile.emails?.[0]?.value, idToken, refreshToken }),
    );
    passport.use(strategy);
    passport.serializeUser((user, done) => done(null, user));
    passport.deserializeUser((user, done) => done(null, user));

    const app = express();
    app.use(session({ secret: 'a secret of the app', resave: false, saveUninitialized: false }));
    app.use(passport.initialize(), passport.session());
    app.get('/', (_request, response) => void response.send('front page'));
    app.get('/login', passport.authenticate('openidconnect'));
    app.get('/callback', passport.authenticate('openidconnect', { successRedirect: '/' }));
    const userOf = (request: object) => (request as SignedIn).user as User | undefined;
    app.get('/me', (request, response) => void response.send(userOf(request)?.email ?? 'nobody'));
    app.get('/refresh', (request, response) => {
      strategy._oauth2.getOAuthAccessToken(
        userOf(request)?.refreshToken ?? '',
        { grant_type: 'refresh_token' },
        (error, token) => void response.send(token ? 'refreshed' : JSON.stringify(error)),
      );
    });
    app.get('/logout', (request, response, next) => {
      const parameters = new URLSearchParams({
        id_token_hint: userOf(request)?.idToken ?? '',
        post_logout_redirect_uri: origin,
      });
      (request as unknown as SignedIn).logout((error) =>
        error
          ? next(error)
          : response.redirect(`${oauth}/${isOurs ? 'logout' : 'session/end'}?${parameters}`),
      );
    });
    return app;
  },
};
