// HTTP of /api/v1/dashboard.
import {
  ActivityEnvelope,
  ActivityQuery,
  AttentionEnvelope,
  DashboardEnvelope,
} from '@castellan/contract/dashboard';
import type { AgedReads } from '../../platform/db/aged-reads.ts';
import { ageDescription, readAged } from '../../platform/http/aged-reads.ts';
import type { App } from '../../platform/http/server/server.ts';
import type { Db } from '../../schema/database.ts';
import { callerOf } from '../authz/caller.ts';
import {
  type AttentionDeps,
  type KeptUnused,
  readActivityOf,
  readAttention,
  readDashboard,
  readStatistics,
} from './service.ts';

type DashboardDeps = { agedReads: AgedReads<Db> } & Pick<AttentionDeps, 'settings'>;

export function dashboardRoutes(app: App, deps: DashboardDeps): void {
  const keptUnused: KeptUnused = { latest: null };

  app.route({
    method: 'GET',
    url: '',
    config: { access: 'authenticated' },
    schema: {
      summary: 'Read the dashboard',
      description: ageDescription,
      response: { 200: DashboardEnvelope },
    },
    handler: async (request, reply) => ({
      data: await readAged(deps.agedReads, request, reply, (db) => readDashboard({ db }, callerOf(request))),
      message: 'The dashboard.',
    }),
  });

  app.route({
    method: 'GET',
    url: '/stats',
    config: { access: 'authenticated', errors: ['admin_required'] },
    schema: {
      summary: 'Read the dashboard as an administrator',
      description: ageDescription,
      response: { 200: DashboardEnvelope },
    },
    handler: async (request, reply) => ({
      data: await readAged(deps.agedReads, request, reply, (db) => readStatistics({ db }, callerOf(request))),
      message: 'The dashboard.',
    }),
  });

  app.route({
    method: 'GET',
    url: '/activity',
    config: { access: 'authenticated', errors: ['admin_required'] },
    schema: {
      summary: 'Count sign-ins and registrations by day',
      description: `The latest days of UTC, today last, days without an event included. The numbers are exact, also of days whose audit entries are no longer kept. Events that the audit log only counts are included within a minute. ${ageDescription}`,
      querystring: ActivityQuery,
      response: { 200: ActivityEnvelope },
    },
    handler: async (request, reply) => ({
      data: await readAged(deps.agedReads, request, reply, (db) =>
        readActivityOf({ db }, callerOf(request), request.query.days),
      ),
      message: 'Activity by day, today last.',
    }),
  });

  app.route({
    method: 'GET',
    url: '/attention',
    config: { access: 'authenticated', errors: ['admin_required'] },
    schema: {
      summary: 'Count what deserves attention',
      description: `Each item has the list that shows exactly the counted records. \`users_without_required_factor\` is left out while nothing requires a second factor. ${ageDescription}`,
      response: { 200: AttentionEnvelope },
    },
    handler: async (request, reply) => ({
      data: {
        items: await readAged(deps.agedReads, request, reply, (db) =>
          readAttention({ db, keptUnused, settings: deps.settings }, callerOf(request)),
        ),
      },
      message: 'What deserves attention.',
    }),
  });
}
