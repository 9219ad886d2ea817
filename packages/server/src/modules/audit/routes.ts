// HTTP of /api/v1/audit-logs.
import { Readable } from 'node:stream';
import { AuditLogPage, AuditLogQuery } from '@castellan/contract/audit';
import Type from 'typebox';
import type { Db } from '../../database.ts';
import type { App } from '../../platform/http/server.ts';
import { listEntries, openExport } from './listing.ts';

export function auditRoutes(app: App, deps: { db: Db }): void {
  app.route({
    method: 'GET',
    url: '',
    config: { access: 'audit_log.read' },
    schema: {
      summary: 'Read the audit log',
      description: 'Newest first; the next page begins at `next_cursor`.',
      querystring: AuditLogQuery,
      response: { 200: AuditLogPage },
    },
    handler: async (request) => ({
      ...(await listEntries(deps, request.query)),
      message: 'Audit log, newest first.',
    }),
  });

  app.route({
    method: 'GET',
    url: '/export',
    // It would read the whole log to answer nothing.
    exposeHeadRoute: false,
    config: { access: 'audit_log.read' },
    schema: {
      summary: 'Export the audit log',
      description: 'One JSON text a line (NDJSON), newest first, with the filters of the list.',
      querystring: Type.Omit(AuditLogQuery, ['size', 'cursor']),
      produces: ['application/x-ndjson'],
      response: { 200: { content: { 'application/x-ndjson': { schema: Type.String() } } } },
    },
    handler: async (request, reply) => {
      const lines = await openExport(deps, request.query);
      reply.header('content-disposition', 'attachment; filename="audit-log.ndjson"');
      return reply.type('application/x-ndjson').send(
        // The declared answer is text; a stream of it is sent as it comes, one batch ahead of a slow reader, not 16.
        Readable.from(lines, { highWaterMark: 1 }) as never,
      );
    },
  });
}
