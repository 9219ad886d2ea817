// What the token services of applications share in this process: their keys, limits and counts.
import type { Pool } from 'pg';
import type { Clock } from '../../../platform/clock.ts';
import { AppError } from '../../../platform/errors.ts';
import type { Client } from '../../../platform/http/client.ts';
import { createGate, type Gate } from '../../../platform/limits/gate.ts';
import { createLocalLimit, type LocalLimit } from '../../../platform/limits/local-limit.ts';
import { type RateLimitRule, rateLimitHeaders } from '../../../platform/limits/rate-limit.ts';
import type { Logger } from '../../../platform/logging/log.ts';
import { rateLimitAddress } from '../../../platform/security/client-address.ts';
import { deriveKey } from '../../../platform/security/sealing.ts';
import type { Db } from '../../../schema/database.ts';
import type { AuthenticatedApplication } from '../../applications/authentication.ts';
import { type AuditLog, recordBounded } from '../../audit/service.ts';
import type { GraphSource } from '../../authz/graph/graph.ts';
import { type Policy, type PolicySettings, policyOf } from '../../authz/requirements/account.ts';
import type { KeyRing } from '../../sessions/keys/ring.ts';
import { type ApplicationTokenLookup, createApplicationTokenLookup } from './token-lookup.ts';

const countedGrants = ['authorization_code', 'refresh_token', 'device_code'] as const;
export type CountedGrant = (typeof countedGrants)[number];
/** `refused`: `invalid_grant` of any reason but `reused`, which ended the grant. */
const countedResults = ['issued', 'refused', 'reused'] as const;
type CountedResult = (typeof countedResults)[number];

/** Of one process. */
export type ApplicationTokens = {
  lookup: ApplicationTokenLookup;
  refreshKey: Buffer;
  /** The purpose key of `sidOf`. */
  sidKey: Buffer;
  /** By which requirements of accounts are judged. */
  policy: Policy;
  /** Limits what one application exchanges at once. */
  gate: Gate;
  /** Counts the requests of one application. Null when the limit is off. */
  limit: LocalLimit | null;
  /** Counts the refreshes of one grant. Null when the limit is off. */
  refreshLimit: LocalLimit | null;
  count(grant: CountedGrant, result: CountedResult): void;
  /** Every grant and result, from 0 on. */
  counts(): { grant: CountedGrant; result: CountedResult; tokens: number }[];
};

export type ApplicationTokenDeps = {
  db: Db;
  log: Logger;
  clock: Clock;
  auditLog: AuditLog;
  keyRing: KeyRing;
  graphSource: GraphSource;
  /** Limits parallel exchanges of one grant, because each would hold a connection while waiting for the row lock. */
  exchangeGate: Gate;
  applicationTokens: ApplicationTokens;
  settings: { publicUrl: string; refreshReuseSeconds: number };
};

const RUNNING = 16;
const WAITING = 600;

/** `share`: the most connections that one application may use. */
export function createApplicationTokens(parts: {
  reservedPool: Pool;
  secretKey: Buffer;
  share: number;
  settings: PolicySettings & {
    rateLimitApplication: RateLimitRule | null;
    rateLimitRefresh: RateLimitRule | null;
  };
}): ApplicationTokens {
  const { rateLimitApplication, rateLimitRefresh } = parts.settings;
  const counts = countedGrants.flatMap((grant) =>
    countedResults.map((result) => ({ grant, result, tokens: 0 })),
  );
  return {
    lookup: createApplicationTokenLookup(parts.reservedPool),
    refreshKey: deriveKey(parts.secretKey, 'application refresh tokens'),
    sidKey: deriveKey(parts.secretKey, 'application sessions'),
    policy: policyOf(parts.settings),
    gate: createGate({ running: Math.min(RUNNING, parts.share), waiting: WAITING }),
    limit: rateLimitApplication && createLocalLimit(rateLimitApplication),
    refreshLimit: rateLimitRefresh && createLocalLimit(rateLimitRefresh),
    count(grant, result) {
      const counted = counts.find((one) => one.grant === grant && one.result === result);
      if (counted) counted.tokens += 1;
    },
    counts: () => counts,
  };
}

type Limited = Pick<ApplicationTokenDeps, 'auditLog' | 'applicationTokens'>;

/**
 * Counts one request of an application. Anybody can name one without a secret, so its requests are counted by network, too: nobody
 * uses up the limit of others. Throws `rate_limited` (429) beyond RATE_LIMIT_APPLICATION.
 */
export const countRequest = (
  deps: Limited,
  client: Client,
  { id, auth_method }: { id: string; auth_method?: AuthenticatedApplication['auth_method'] },
): Promise<void> =>
  countHit(deps, client, deps.applicationTokens.limit, {
    key: auth_method === 'none' ? `${id} ${rateLimitAddress(client.address)}` : id,
    applicationId: id,
    limit: 'application',
  });

/** Counts one refresh of a grant. Throws `rate_limited` (429) beyond RATE_LIMIT_REFRESH. */
export const countRefresh = (
  deps: Limited,
  client: Client,
  { grantId, applicationId }: { grantId: string; applicationId: string },
): Promise<void> =>
  countHit(deps, client, deps.applicationTokens.refreshLimit, {
    key: grantId,
    applicationId,
    limit: 'refresh',
  });

async function countHit(
  deps: Limited,
  client: Client,
  counter: LocalLimit | null,
  { key, applicationId, limit }: { key: string; applicationId: string; limit: string },
): Promise<void> {
  const result = counter?.hit(key);
  if (!result || result.allowed) return;
  if (result.firstRefusal)
    await recordBounded(deps, client, {
      action: 'rate_limited',
      actorId: null,
      resourceType: 'application',
      resourceId: applicationId,
      details: { limit, application_id: applicationId },
    });
  throw new AppError('rate_limited', {
    retryAfterSeconds: result.resetSeconds,
    headers: rateLimitHeaders(result),
  });
}
