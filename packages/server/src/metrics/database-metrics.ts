// Metrics of statements and connections, and the figures that only the database knows.
import type { Pool } from 'pg';
import { type Definition, labelled, type Snapshot, single } from './definition.ts';

const poolsOf = ({ deps }: Snapshot): [name: string, pool: Pool][] => [
  ['requests', deps.pool],
  ['reserved', deps.reservedPool],
];

const ofPools =
  (read: (pool: Pool) => number) =>
  (snapshot: Snapshot): Record<string, number> =>
    Object.fromEntries(poolsOf(snapshot).map(([name, pool]) => [name, read(pool)]));

const ofStatements =
  (field: 'count' | 'failures' | 'seconds') =>
  ({ tallies }: Snapshot): Record<string, number> =>
    Object.fromEntries([...tallies.statements.byLabel].map(([label, tally]) => [label, tally[field]]));

export const databaseMetrics: readonly Definition[] = [
  single(
    'gauge',
    'castellan_database_up',
    '1 if the database answered this scrape. While it is 0, the metrics of sessions, users and waiting mails are absent.',
    ({ figures }) => (figures ? 1 : 0),
  ),
  labelled(
    'counter',
    'castellan_database_statements_total',
    'SQL statements by their name, or their verb and table. Lookups that arrive together share statements.',
    { label: 'statement', read: ofStatements('count') },
  ),
  labelled('counter', 'castellan_database_statement_failures_total', 'SQL statements that failed.', {
    label: 'statement',
    read: ofStatements('failures'),
  }),
  labelled(
    'counter',
    'castellan_database_statement_seconds_total',
    'Time from sending SQL statements until their answers had come.',
    { label: 'statement', read: ofStatements('seconds') },
  ),
  {
    name: 'castellan_database_statement_duration_seconds',
    type: 'histogram',
    help: 'Time from sending an SQL statement until its answer had come, of all statements.',
    read: ({ tallies }) => [{ labels: {}, histogram: tallies.statements.durations }],
  },
  {
    name: 'castellan_database_connections',
    type: 'gauge',
    help: 'Connections to the database. The pool `reserved` is for token lookups, the graph and probes.',
    labels: ['pool', 'state'],
    read: (snapshot) =>
      poolsOf(snapshot).flatMap(([pool, { totalCount, idleCount }]) => [
        { labels: { pool, state: 'used' }, value: totalCount - idleCount },
        { labels: { pool, state: 'idle' }, value: idleCount },
      ]),
  },
  labelled('gauge', 'castellan_database_connections_max', 'Connections that the pool may open.', {
    label: 'pool',
    read: ofPools((pool) => pool.options.max),
  }),
  labelled(
    'gauge',
    'castellan_database_connection_waiters',
    'Statements and transactions that wait for a connection.',
    { label: 'pool', read: ofPools((pool) => pool.waitingCount) },
  ),
  single(
    'gauge',
    'castellan_sessions_live',
    'Live sessions of the database. Above 10,000, the number is up to 60 seconds old; absent if nobody has counted since.',
    ({ figures }) => figures?.liveSessions,
  ),
  labelled(
    'gauge',
    'castellan_users',
    'Users of the database. `second_factor`: those who have one; above 10,000, the number is up to 5 minutes old.',
    {
      label: 'state',
      read: ({ figures }) =>
        figures
          ? {
              active: figures.activeUsers,
              inactive: Math.max(0, figures.users - figures.activeUsers),
              ...(figures.factorUsers === null ? {} : { second_factor: figures.factorUsers }),
            }
          : {},
    },
  ),
  single(
    'gauge',
    'castellan_mails_waiting',
    'Mails in the outbox that were neither sent nor given up. 10,000 stands for that many or more.',
    ({ figures }) => figures?.waitingMails,
  ),
  single(
    'gauge',
    'castellan_mails_waiting_oldest_seconds',
    'Age of the oldest waiting mail; 0 if none waits.',
    ({ figures }) => figures?.oldestMailSeconds,
  ),
  labelled(
    'gauge',
    'castellan_logout_notices',
    'Logout notices to applications. `state`: waiting, which were neither sent, refused nor given up; 10,000 stands for that many or more.',
    {
      label: 'state',
      read: ({ figures }): Record<string, number> => (figures ? { waiting: figures.waitingNotices } : {}),
    },
  ),
  single(
    'gauge',
    'castellan_logout_notices_oldest_seconds',
    'Age of the oldest waiting logout notice; 0 if none waits.',
    ({ figures }) => figures?.oldestNoticeSeconds,
  ),
  {
    name: 'castellan_deliveries',
    type: 'gauge',
    help: 'Events for webhooks. `state`: waiting, or dead, which were given up and are not 30 days old; 10,000 stands for that many or more.',
    labels: ['kind', 'state'],
    read: ({ figures }) =>
      figures
        ? [
            { labels: { kind: 'webhook', state: 'waiting' }, value: figures.waitingEvents },
            { labels: { kind: 'webhook', state: 'dead' }, value: figures.deadEvents },
          ]
        : [],
  },
  labelled(
    'gauge',
    'castellan_deliveries_oldest_seconds',
    'Age of the oldest event that waits for a webhook that is not paused; 0 if none waits.',
    {
      label: 'kind',
      read: ({ figures }): Record<string, number> => (figures ? { webhook: figures.oldestEventSeconds } : {}),
    },
  ),
  single(
    'gauge',
    'castellan_audit_sink_waiting',
    'Audit entries that AUDIT_SINK has not accepted yet. 10,000 stands for that many or more. Absent without a sink.',
    ({ figures }) => figures?.queuedEntries,
  ),
  single(
    'gauge',
    'castellan_audit_sink_oldest_seconds',
    'Age of the oldest audit entry that AUDIT_SINK has not accepted yet; 0 if none waits.',
    ({ figures }) => (figures && figures.queuedEntries !== null ? figures.oldestEntrySeconds : null),
  ),
  single(
    'gauge',
    'castellan_audit_unsealed',
    'Audit entries that are in no seal yet. 10,000 stands for that many or more. Absent with AUDIT_SEALING off.',
    ({ deps, figures }) => (deps.settings.auditSealing ? figures?.unsealedEntries : null),
  ),
  single(
    'gauge',
    'castellan_audit_unsealed_oldest_seconds',
    'Age of the oldest audit entry that is in no seal yet; 0 if all are. Absent with AUDIT_SEALING off.',
    ({ deps, figures }) => (deps.settings.auditSealing ? figures?.oldestUnsealedSeconds : null),
  ),
  single(
    'gauge',
    'castellan_audit_head_age_seconds',
    'Time since the audit log was last sealed. Without entries, a seal is made every hour. Absent before the first.',
    ({ figures }) => figures?.headSeconds,
  ),
  single(
    'gauge',
    'castellan_audit_log_forks',
    'How often the sealed audit log went on in a new log: after a restore, and when the database lacked what an instance had seen.',
    ({ figures }) => figures?.logForks,
  ),
];
