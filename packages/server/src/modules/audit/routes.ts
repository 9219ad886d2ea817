// HTTP of /api/v1/audit-logs.
import { AuditLogPage, AuditLogQuery } from '@castellan/contract/audit';
import type { FastifyRequest } from 'fastify';
import Type from 'typebox';
import type { AgedReads } from '../../platform/db/aged-reads.ts';
import { AppError } from '../../platform/errors.ts';
import { preferredType } from '../../platform/http/accept.ts';
import { ageDescription, agedReader, readAged } from '../../platform/http/aged-reads.ts';
import {
  ExportQuery,
  type ExportSource,
  type Exports,
  exportDescription,
  exportResponse,
  exportTypes,
  sendExport,
} from '../../platform/http/answers/export.ts';
import type { App } from '../../platform/http/server/server.ts';
import type { Db } from '../../schema/database.ts';
import { csvOfEntries } from './export-formats.ts';
import { entriesToExport, listEntries, type SealingOf } from './listing.ts';

type AuditRouteDeps = {
  agedReads: AgedReads<Db>;
  exports: Exports;
  /** Returns the id of the caller. */
  callerIdOf(request: FastifyRequest): string;
  sealingOf: SealingOf;
  /** Returns the lines of the export with evidence. */
  evidenceToExport(run: <T>(read: (db: Db) => Promise<T>) => Promise<T>): ExportSource<object>;
};

export function auditRoutes(app: App, deps: AuditRouteDeps): void {
  app.route({
    method: 'GET',
    url: '',
    config: { access: 'audit_log.read' },
    schema: {
      summary: 'Read the audit log',
      description: `Newest entries first. \`next_cursor\` is the start of the next page. ${ageDescription}`,
      querystring: AuditLogQuery,
      response: { 200: AuditLogPage },
    },
    handler: async (request, reply) => ({
      ...(await readAged(deps.agedReads, request, reply, (db) =>
        listEntries({ db, sealingOf: deps.sealingOf }, request.query),
      )),
      message: 'Audit log, newest first.',
    }),
  });

  app.route({
    method: 'GET',
    url: '/export',
    // A HEAD request would read the whole log and return no body.
    exposeHeadRoute: false,
    config: { access: 'audit_log.read', errors: ['overloaded', 'not_sealed'] },
    schema: {
      summary: 'Export the audit log',
      description: `Newest entries first, with the same filters as the list. ${exportDescription} In CSV, \`details\` is JSON. ${ageDescription}`,
      querystring: Type.Object({
        ...Type.Omit(AuditLogQuery, ['size', 'cursor', 'sealing']).properties,
        ...ExportQuery.properties,
        evidence: Type.Optional(
          Type.Boolean({
            description:
              'Exports the whole log with its evidence instead, as NDJSON: the logs, seal by seal the entries with what their leaves hash, and the signed heads. Takes no filter.',
          }),
        ),
      }),
      produces: [...exportTypes],
      response: { 200: exportResponse },
    },
    handler: (request, reply) => {
      const { evidence, ...query } = request.query;
      const shared = { exports: deps.exports, callerId: deps.callerIdOf(request) };
      if (evidence) {
        requireNoFilter(query, preferredType(exportTypes, request.headers.accept));
        return sendExport(request, reply, {
          ...shared,
          fileName: 'audit-evidence',
          source: deps.evidenceToExport(agedReader(deps.agedReads, request, reply)),
          objectOf: (line) => line,
          csv: { columns: [], cellsOf: () => [] },
        });
      }
      return sendExport(request, reply, {
        ...shared,
        fileName: 'audit-log',
        source: entriesToExport(query, agedReader(deps.agedReads, request, reply)),
        objectOf: ({ entry }) => entry,
        csv: { columns: csvOfEntries.columns, cellsOf: ({ entry }) => csvOfEntries.cellsOf(entry) },
      });
    },
  });
}

/** Throws `validation_failed` (422) for a filter, or for CSV: a part of the log proves nothing, and cells hash to nothing. */
function requireNoFilter(query: object, type: string): void {
  const [field] = Object.keys(query);
  if (field === undefined && type !== 'text/csv') return;
  const message =
    field === undefined ? 'is exported as NDJSON only' : 'covers the whole log: leave out the filters';
  throw new AppError('validation_failed', {
    detail: `query.evidence ${message}.`,
    errors: [
      { field: field === undefined ? 'query.evidence' : `query.${field}`, code: 'not_allowed', message },
    ],
  });
}
