// Reads when a service account began to read the change feed.
import type { AuditLogEntry } from '@castellan/sdk';
import { reading } from '../api.ts';
import { openingsIn } from './openings.ts';

const MOST_OPENINGS = 100;

/** The latest times that a service account began to read the change feed. */
export const latestOpenings = (accountId: string) => ({
  ...reading('GET /api/v1/audit-logs', {
    query: { actor_id: accountId, action: ['feed_opened'], size: MOST_OPENINGS },
  }),
  select: ({ data }: { data: AuditLogEntry[] }) => openingsIn(data, MOST_OPENINGS),
});
