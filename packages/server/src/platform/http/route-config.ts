// What a route declares beside its schema. The types reach every `app.route` call; the hooks read the values.
import type { ErrorCode } from '@castellan/contract/errors';
import type { Access } from '@castellan/contract/permissions';
import type { RateLimitRule } from '../limits/rate-limit.ts';
import type { Client } from './client.ts';

declare module 'fastify' {
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
  }
  interface FastifyRequest {
    client: Client;
  }
}
