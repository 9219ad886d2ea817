// HTTP of /api/v1/audit-logs.
import { AuditLogPage, AuditLogQuery } from '@castellan/contract/audit';
import type { FastifyRequest } from 'fastify';
import Type from 'typebox';
import type { AgedReads } from '../../platform/db/aged-reads.ts';
import { ageDescription, agedReader, readAged } from '../../platform/http/aged-reads.ts';
import {
  ExportQuery,
  type Exports,
  exportDescription,
  exportResponse,
  exportTypes,
  sendExport,
} from '../../platform/http/answers/export.ts';
import type { App } from '../../platform/http/server/server.ts';
import type { Db } from '../../schema/database.ts';
import { csvOfEntries } from './export-formats.ts';
import { entriesToExport, listEntries } from './listing.ts';

type AuditRouteDeps = {
  agedReads: AgedReads<Db>;
  exports: Exports;
  /** Returns the id of the caller. */
  callerIdOf(request: FastifyRequest): string;
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
      ...(await readAged(deps.agedReads, request, reply, (db) => listEntries({ db }, request.query))),
      message: 'Audit log, newest first.',
    }),
  });

  app.route({
    method: 'GET',
    url: '/export',
    // A HEAD request would read the whole log and return no body.
    exposeHeadRoute: false,
    config: { access: 'audit_log.read', errors: ['overloaded'] },
    schema: {
      summary: 'Export the audit log',
      description: `Newest entries first, with the same filters as the list. ${exportDescription} In CSV, \`details\` is JSON. ${ageDescription}`,
      querystring: Type.Object({
        ...Type.Omit(AuditLogQuery, ['size', 'cursor']).properties,
        ...ExportQuery.properties,
      }),
      produces: [...exportTypes],
      response: { 200: exportResponse },
    },
    handler: (request, reply) =>
      sendExport(request, reply, {
        exports: deps.exports,
        callerId: deps.callerIdOf(request),
        fileName: 'audit-log',
        source: entriesToExport(request.query, agedReader(deps.agedReads, request, reply)),
        objectOf: ({ entry }) => entry,
        csv: { columns: csvOfEntries.columns, cellsOf: ({ entry }) => csvOfEntries.cellsOf(entry) },
      }),
  });
}
