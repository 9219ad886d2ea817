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
