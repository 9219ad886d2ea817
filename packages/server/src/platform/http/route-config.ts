// What a route declares beside its schema. The types reach every `app.route` call; the hooks read the values.
import type { ErrorCode } from '@castellan/contract/errors';
import type { Access } from '@castellan/contract/permissions';
import type { FastifyContextConfig } from 'fastify';
import type { RateLimitRule } from '../limits/rate-limit.ts';
import type { Client } from './client.ts';

export type DeclaredRoute = {
  method: string;
  url: string;
  takesBody: boolean;
  config: FastifyContextConfig;
};

declare module 'fastify' {
  interface FastifyInstance {
    /** Every method and path that is registered, with what it declares. */
    declaredRoutes: readonly DeclaredRoute[];
  }
  interface FastifyContextConfig {
    /** Who may call. A route without it does not register. */
    access?: Access;
    /** Codes this operation answers beyond those that its access, method and body imply. For the reference. */
    errors?: readonly ErrorCode[];
    /** Fixed window per client address; null when switched off. */
    limit?: { name: string; rule: RateLimitRule | null };
    /** What a missing field or a wrong value costs here. Default: validation_failed (422). */
    invalidInput?: 'invalid_input' | 'validation_failed';
    /** False only for operations that accept no cookie at all. */
    csrf?: boolean;
    /** Cookies that the operation reads if they come, and sets or clears. For the reference. */
    cookies?: { reads?: readonly string[]; sets?: readonly string[] };
  }
  interface FastifyRequest {
    client: Client;
    /** The code that the request was refused with, for the access log. */
    refusal: ErrorCode | null;
  }
}
