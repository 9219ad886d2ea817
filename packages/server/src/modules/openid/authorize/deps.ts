// What authorization requests share in this process: their limit and their counts.

import { AppError } from '../../../platform/errors.ts';
import type { Client } from '../../../platform/http/client.ts';
import type { Gate } from '../../../platform/limits/gate.ts';
import { createLocalLimit, type LocalLimit } from '../../../platform/limits/local-limit.ts';
import { type RateLimitRule, rateLimitHeaders } from '../../../platform/limits/rate-limit.ts';
import { rateLimitAddress } from '../../../platform/security/client-address.ts';
import type { Db } from '../../../schema/database.ts';
import { recordBounded } from '../../audit/service.ts';
import type { GraphSource } from '../../authz/graph/graph.ts';
import type { PolicySettings } from '../../authz/requirements/account.ts';
import type { SessionDeps } from '../../sessions/service.ts';

/** `page`: the person has to do something. `refused`: the application was told. `error_page`: nobody can be told. */
const results = ['code', 'page', 'refused', 'error_page'] as const;
type Result = (typeof results)[number];

/** Of one process. */
export type Authorizations = {
  /** Counts requests by browser session, else by address. Null when the limit is off. */
  limit: LocalLimit | null;
  count(result: Result): void;
  /** Every result, from 0 on. */
  counts(): { result: Result; authorizations: number }[];
};

export function createAuthorizations(settings: { rateLimitAuthorize: RateLimitRule | null }): Authorizations {
  const counts = results.map((result) => ({ result, authorizations: 0 }));
  return {
    limit: settings.rateLimitAuthorize && createLocalLimit(settings.rateLimitAuthorize),
    count(result) {
      const counted = counts.find((one) => one.result === result);
      if (counted) counted.authorizations += 1;
    },
    counts: () => counts,
  };
}

export type AuthorizeDeps = SessionDeps & {
  db: Db;
  authorizations: Authorizations;
  graphSource: GraphSource;
  turns: { reads: Gate };
  applicationTokens: { sidKey: Buffer };
  settings: PolicySettings & { publicUrl: string; consentDays: number; stepUpMaxAgeMinutes: number };
};

/** A request of a stranger counts once for each of these, because it is kept for a while. */
const COUNTED_BYTES = 4_096;

/**
 * Counts one request. `kept`: what is kept of it if nobody is signed in. Throws `rate_limited` (429) beyond RATE_LIMIT_AUTHORIZE.
 */
export async function countAuthorization(
  deps: Pick<AuthorizeDeps, 'auditLog' | 'authorizations'>,
  client: Client,
  session: { session_id: string; user_id: string } | null,
  kept?: object,
): Promise<void> {
  const key = session ? `session ${session.session_id}` : addressKey(client);
  const bytes = session || !kept ? 0 : Buffer.byteLength(JSON.stringify(kept));
  const result = deps.authorizations.limit?.hit(key, Math.max(1, Math.ceil(bytes / COUNTED_BYTES)));
  if (!result || result.allowed) return;
  if (result.firstRefusal)
    await recordBounded(deps, client, {
      action: 'rate_limited',
      actorId: session?.user_id ?? null,
      details: { limit: 'authorize' },
    });
  throw tooMany(result);
}

/** Refuses a request without a browser session before any statement. */
export function refuseCounted(
  { authorizations }: Pick<AuthorizeDeps, 'authorizations'>,
  client: Client,
): void {
  const result = authorizations.limit?.refusal(addressKey(client));
  if (result) throw tooMany(result);
}

const addressKey = (client: Client): string => `address ${rateLimitAddress(client.address)}`;

const tooMany = (result: Parameters<typeof rateLimitHeaders>[0]): AppError =>
  new AppError('rate_limited', {
    retryAfterSeconds: result.resetSeconds,
    headers: rateLimitHeaders(result),
  });
