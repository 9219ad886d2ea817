// Declares those parts of packages without types that the suites use.
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http';

  type Fields = Record<string, unknown>;
  export type Details = {
    prompt: { name: string; details: Fields };
    params: Record<string, string>;
    session?: { accountId: string };
  };
  export interface Grant {
    addOIDCScope(scope: string): void;
    addOIDCClaims(claims: readonly string[]): void;
    save(): Promise<string>;
  }
  export default class Provider {
    constructor(issuer: string, configuration: Fields);
    Grant: { new (fields: { accountId: string; clientId: string }): Grant };
    callback(): (request: IncomingMessage, response: ServerResponse) => Promise<void>;
    interactionDetails(request: IncomingMessage, response: ServerResponse): Promise<Details>;
    interactionFinished(request: IncomingMessage, response: ServerResponse, result: Fields): Promise<void>;
    on(event: string, listener: (...values: unknown[]) => void): this;
  }
}

declare module 'express-session' {
  import type { RequestHandler } from 'express';

  export default function session(options: {
    secret: string;
    resave: boolean;
    saveUninitialized: boolean;
  }): RequestHandler;
}

declare module 'passport' {
  import type { Request, RequestHandler } from 'express';

  type Done = (error: Error | null, user?: unknown) => void;
  const passport: {
    use(strategy: unknown): void;
    serializeUser(serialize: (user: unknown, done: Done) => void): void;
    deserializeUser(deserialize: (user: unknown, done: Done) => void): void;
    initialize(): RequestHandler;
    session(): RequestHandler;
    authenticate(name: string, options?: object): RequestHandler;
  };
  export type SignedIn = Request & { user?: unknown; logout(done: (error?: Error) => void): void };
  export default passport;
}

declare module 'passport-openidconnect' {
  export default class Strategy {
    constructor(options: Record<string, unknown>, verify: (...values: never[]) => void);
    _oauth2: {
      getOAuthAccessToken(
        token: string,
        parameters: Record<string, string>,
        done: (error: unknown, accessToken: string, refreshToken: string) => void,
      ): void;
    };
  }
}
