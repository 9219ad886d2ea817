// HTTP of logout notices, under /api/v1/applications.
import { ApplicationParams } from '@castellan/contract/applications';
import { LogoutNoticePage, LogoutNoticeQuery } from '@castellan/contract/logout-notices';
import type { App } from '../../../platform/http/server/server.ts';
import type { Db } from '../../../schema/database.ts';
import { listNotices } from './service.ts';

export function logoutNoticeRoutes(app: App, deps: { db: Db }): void {
  app.route({
    method: 'GET',
    url: '/:application_id/logout-notices',
    config: { access: 'application.read', errors: ['application_not_found'] },
    schema: {
      summary: 'List the logout notices to an application',
      description:
        'Which ended sessions the application was told of, and what it answered, newest first. Those that are settled are listed ' +
        'for a week.',
      params: ApplicationParams,
      querystring: LogoutNoticeQuery,
      response: { 200: LogoutNoticePage },
    },
    handler: async (request) => listNotices(deps, request.params.application_id, request.query),
  });
}
