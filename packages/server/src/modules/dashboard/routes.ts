// HTTP of /api/v1/dashboard.
import { DashboardEnvelope } from '@castellan/contract/dashboard';
import type { Db } from '../../database.ts';
import type { App } from '../../platform/http/server.ts';
import { actorOf } from '../authz/guard.ts';
import { readDashboard, readStatistics } from './service.ts';

export function dashboardRoutes(app: App, deps: { db: Db }): void {
  app.route({
    method: 'GET',
    url: '',
    config: { access: 'authenticated' },
    schema: { summary: 'Read the dashboard', response: { 200: DashboardEnvelope } },
    handler: async (request) => ({
      data: await readDashboard(deps, actorOf(request)),
      message: 'The dashboard.',
    }),
  });

  app.route({
    method: 'GET',
    url: '/stats',
    config: { access: 'authenticated', errors: ['admin_required'] },
    schema: { summary: 'Read the dashboard as an administrator', response: { 200: DashboardEnvelope } },
    handler: async (request) => ({
      data: await readStatistics(deps, actorOf(request)),
      message: 'The dashboard.',
    }),
  });
}
