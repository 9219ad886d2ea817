// Reads the evidence of the audit log: proofs, the signed head, and when a new log began.
import type { AuditLogEntry, EntryProof } from '@castellan/sdk';
import { call, reading } from '../api.ts';
import { canHash, checkProof, type ProofChecks } from './proof.ts';

export type CheckedProof = {
  proof: EntryProof /** Null where the browser cannot hash. */;
  checks: ProofChecks | null;
};

/** The proof of an entry, and what this browser finds of it. */
export const checkedProofOf = (id: string) => ({
  queryKey: ['GET /api/v1/audit-logs/{audit_log_id}/proof', id, 'checked'],
  queryFn: async ({ signal }: { signal: AbortSignal }): Promise<CheckedProof> => {
    const path = { audit_log_id: id };
    const { data: proof } = await call('GET /api/v1/audit-logs/{audit_log_id}/proof', { path, signal });
    return { proof, checks: canHash() ? await checkProof(proof) : null };
  },
});

/** The signed head that the log had with so many seals, as text. */
export const headOf = (origin: string, size: number) => ({
  queryKey: ['GET /api/v1/audit-logs/head', origin, size],
  queryFn: async ({ signal }: { signal: AbortSignal }): Promise<string> => {
    const query = { log: origin.slice(origin.lastIndexOf('/') + 1), size };
    return (await call('GET /api/v1/audit-logs/head', { query, signal })).text();
  },
});

const MOST_FORKS = 20;

/** The latest times that the sealed log went on in a new one. */
export const latestForks = () => ({
  ...reading('GET /api/v1/audit-logs', { query: { action: ['audit_log_forked'], size: MOST_FORKS } }),
  select: ({ data }: { data: AuditLogEntry[] }): AuditLogEntry[] => data,
});
