// HTTP of the evidence under /api/v1/audit-logs.
import {
  AuditEntryParams,
  ConsistencyEnvelope,
  ConsistencyQuery,
  EntryProofEnvelope,
  HeadQuery,
  SealsEnvelope,
  SealsQuery,
} from '@castellan/contract/evidence';
import Type from 'typebox';
import type { App } from '../../platform/http/server/server.ts';
import { consistencyOf, headAt, type ProofDeps, proofOfEntry, sealsAfter } from './proofs.ts';

export type EvidenceRouteDeps = { evidence: ProofDeps };

export function evidenceRoutes(app: App, { evidence }: EvidenceRouteDeps): void {
  app.route({
    method: 'GET',
    url: '/head',
    config: { access: 'audit_log.read', errors: ['not_sealed', 'seal_log_not_found'] },
    schema: {
      summary: 'Read the signed head of the audit log',
      description:
        'A checkpoint as C2SP tlog-checkpoint describes it: the origin, how many seals the log has, the root of their hash tree, and an Ed25519 signature. Keep it: anyone who has it can detect every later change of what it covers.',
      querystring: HeadQuery,
      produces: ['text/plain'],
      response: { 200: { content: { 'text/plain': { schema: Type.String() } } } },
    },
    handler: async (request, reply) => {
      const checkpoint = await headAt(evidence, request.query);
      return reply.type('text/plain; charset=utf-8').send(checkpoint);
    },
  });

  app.route({
    method: 'GET',
    url: '/seals',
    config: { access: 'audit_log.read', errors: ['not_sealed', 'seal_log_not_found'] },
    schema: {
      summary: 'Read the seals of the audit log',
      description:
        'In order, from the first one, or after a number. A page shorter than `limit` is the last.',
      querystring: SealsQuery,
      response: { 200: SealsEnvelope },
    },
    handler: async (request) => ({
      data: await sealsAfter(evidence.db, request.query),
      message: 'Seals of the audit log, oldest first.',
    }),
  });

  app.route({
    method: 'GET',
    url: '/consistency',
    config: { access: 'audit_log.read', errors: ['not_sealed', 'seal_log_not_found'] },
    schema: {
      summary: 'Prove that an earlier head is the beginning of a later one',
      description: 'The proof of RFC 6962, 2.1.2, between the heads with `from` and with `to` seals.',
      querystring: ConsistencyQuery,
      response: { 200: ConsistencyEnvelope },
    },
    handler: async (request) => ({
      data: await consistencyOf(evidence.db, request.query),
      message: 'The later head continues the earlier one.',
    }),
  });

  app.route({
    method: 'GET',
    url: '/:audit_log_id/proof',
    config: {
      access: 'audit_log.read',
      errors: ['audit_entry_not_found', 'entry_removed', 'not_sealed'],
    },
    schema: {
      summary: 'Prove that an entry is in the sealed audit log',
      description:
        'The entry as its leaf has it, the path from it to the root of its seal, and from the seal to the root of the signed head. An entry is sealed within some ten seconds; until then it is 409 `not_sealed`. So is one whose seal no longer is what was sealed, which `detail` says.',
      params: AuditEntryParams,
      response: { 200: EntryProofEnvelope },
    },
    handler: async (request) => ({
      data: await proofOfEntry(evidence, request.params.audit_log_id),
      message: 'The entry is in the sealed audit log.',
    }),
  });
}
