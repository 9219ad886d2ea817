// HTTP of /api/v1/dashboard.
import {
  ActivityEnvelope,
  ActivityQuery,
  AttentionEnvelope,
  DashboardEnvelope,
} from '@castellan/contract/dashboard';
import type { App } from '../../platform/http/server.ts';
import type { Db } from '../../schema/database.ts';
import { callerOf } from '../authz/caller.ts';
import { readActivityOf, readAttention, readDashboard, readStatistics } from './service.ts';

type DashboardDeps = { db: Db; settings: { unverifiedAccountHours: number } };

export function dashboardRoutes(app: App, deps: DashboardDeps): void {
  app.route({
    method: 'GET',
    url: '',
    config: { access: 'authenticated' },
    schema: { summary: 'Read the dashboard', response: { 200: DashboardEnvelope } },
    handler: async (request) => ({
      data: await readDashboard(deps, callerOf(request)),
      message: 'The dashboard.',
    }),
  });

  app.route({
    method: 'GET',
    url: '/stats',
    config: { access: 'authenticated', errors: ['admin_required'] },
    schema: { summary: 'Read the dashboard as an administrator', response: { 200: DashboardEnvelope } },
    handler: async (request) => ({
      data: await readStatistics(deps, callerOf(request)),
      message: 'The dashboard.',
    }),
  });

  app.route({
    method: 'GET',
    url: '/activity',
    config: { access: 'authenticated', errors: ['admin_required'] },
    schema: {
      summary: 'Count sign-ins and registrations by day',
      description:
        'The latest days of UTC, today last, days without an event included. The numbers are exact, also of days whose audit entries are no longer kept. Events that the audit log only counts are included within a minute.',
      querystring: ActivityQuery,
      response: { 200: ActivityEnvelope },
    },
    handler: async (request) => ({
      data: await readActivityOf(deps, callerOf(request), request.query.days),
      message: 'Activity by day, today last.',
    }),
  });

  app.route({
    method: 'GET',
    url: '/attention',
    config: { access: 'authenticated', errors: ['admin_required'] },
    schema: {
      summary: 'Count what deserves attention',
      description: 'Each item has the list that shows exactly the counted records.',
      response: { 200: AttentionEnvelope },
    },
    handler: async (request) => ({
      data: { items: await readAttention(deps, callerOf(request)) },
      message: 'What deserves attention.',
    }),
  });
}
