// Metrics of what an instance does besides answering: hashing, the graph, mails, jobs, the audit log.
import { createHash } from 'node:crypto';
import { auditStats } from '../modules/audit/service.ts';
import { type Definition, labelled, single } from './definition.ts';

// 48 bits, which a float64 holds exactly.
const numberOf = (stamp: string): number => createHash('sha256').update(stamp).digest().readUIntBE(0, 6);

export const workMetrics: readonly Definition[] = [
  single(
    'gauge',
    'castellan_ready',
    '1 if the instance serves requests: database, schema and keys are in place.',
    ({ deps }) => (deps.readiness.ready && !deps.readiness.stopping ? 1 : 0),
  ),
  labelled('counter', 'castellan_password_hashes_total', 'Finished password hashes.', {
    label: 'operation',
    read: ({ deps }) => {
      const { hashes, verifications } = deps.hasher.stats();
      return { hash: hashes, verify: verifications };
    },
  }),
  single(
    'gauge',
    'castellan_password_hashes_waiting',
    'Calls that wait for their turn to hash.',
    ({ deps }) => deps.hasher.stats().queued,
  ),
  single(
    'gauge',
    'castellan_password_hashes_running',
    'Hashes that are being computed.',
    ({ deps }) => deps.hasher.stats().running,
  ),
  single(
    'counter',
    'castellan_password_hash_refusals_total',
    'Calls refused because the queue was full or their turn came too late.',
    ({ deps }) => deps.hasher.totals().refused,
  ),
  single(
    'counter',
    'castellan_password_hash_wait_seconds_total',
    'Time that calls waited for their turn to hash.',
    ({ deps }) => deps.hasher.totals().waitSeconds,
  ),
  single(
    'counter',
    'castellan_password_hash_seconds_total',
    'Time in which hashes were computed.',
    ({ deps }) => deps.hasher.totals().workSeconds,
  ),
  single(
    'gauge',
    'castellan_tls_certificate_expiry_timestamp_seconds',
    'When the certificate that the service uses expires. Without TLS_CERT_FILE, there is no sample.',
    ({ deps }) => deps.tls && deps.tls.stats().notAfter.getTime() / 1_000,
  ),
  single(
    'gauge',
    'castellan_tls_certificate_current',
    '1 if the pair in TLS_CERT_FILE and TLS_KEY_FILE is the one in use; 0 if it was replaced by one that cannot be used. Without TLS_CERT_FILE, there is no sample.',
    ({ deps }) => deps.tls && (deps.tls.stats().isCurrent ? 1 : 0),
  ),
  single(
    'gauge',
    'castellan_breach_file_current',
    '1 if the file at PASSWORD_BREACH_FILE is the one in use and can be read; 0 if it is gone, damaged or unreadable.',
    ({ deps }) => deps.breachFile && (deps.breachFile.stats().isCurrent ? 1 : 0),
  ),
  labelled('counter', 'castellan_breach_checks_total', 'Look-ups of new passwords in PASSWORD_BREACH_FILE.', {
    label: 'result',
    read: ({ deps }) => {
      if (deps.breachFile === null) return {};
      const { found, absent, failed } = deps.breachFile.stats();
      return { found, absent, failed };
    },
  }),
  {
    name: 'castellan_second_factor_checks_total',
    type: 'counter',
    help: 'Checked second factors, in sign-ins and confirmations. `result`: accepted, wrong, used or locked.',
    labels: ['method', 'result'],
    read: ({ deps }) =>
      deps.factorChecks
        .all()
        .map(({ method, result, checks }) => ({ labels: { method, result }, value: checks })),
  },
  {
    name: 'castellan_authorizations_total',
    type: 'counter',
    help: 'Answers to authorization requests of applications. `result`: code, page, refused, or error_page, which nobody could be sent back from.',
    labels: ['result'],
    read: ({ deps }) =>
      deps.authorizations
        .counts()
        .map(({ result, authorizations }) => ({ labels: { result }, value: authorizations })),
  },
  {
    name: 'castellan_provider_sign_ins_total',
    type: 'counter',
    help: 'Ends of sign-ins by identity providers. `result`: signed_in, second_factor, connected, pending (the person has to do something first), refused (no account may sign in with it), denied (there), expired, unavailable, unacceptable, or limited.',
    labels: ['result'],
    read: ({ deps }) =>
      deps.providerSignIns.counts().map(({ result, signIns }) => ({ labels: { result }, value: signIns })),
  },
  {
    name: 'castellan_application_tokens_total',
    type: 'counter',
    help: 'Exchanges for the tokens of applications. `result`: issued, refused, or reused, which ended what the application had.',
    labels: ['grant', 'result'],
    read: ({ deps }) =>
      deps.applicationTokens
        .counts()
        .map(({ grant, result, tokens }) => ({ labels: { grant, result }, value: tokens })),
  },
  single(
    'gauge',
    'castellan_graph_version',
    'A number that stands for the state of the graph of roles and permissions in memory. It has no order: instances with the same number have the same graph.',
    ({ deps }) => {
      const { graph } = deps.graphSource.stats();
      return graph && numberOf(graph.stamp);
    },
  ),
  single(
    'gauge',
    'castellan_graph_roles',
    'Roles in memory.',
    ({ deps }) => deps.graphSource.stats().graph?.roles.size,
  ),
  labelled(
    'counter',
    'castellan_graph_renewals_total',
    'Reads of the graph after a change: of everything (`all`), of what changed (`changed`), or `failed`.',
    { label: 'extent', read: ({ deps }) => deps.graphSource.stats().renewals },
  ),
  single(
    'counter',
    'castellan_graph_renewal_seconds_total',
    'Time in which the graph was read.',
    ({ deps }) => deps.graphSource.stats().seconds,
  ),
  labelled(
    'counter',
    'castellan_mail_attempts_total',
    'Attempts of this instance to send a mail, by their end.',
    {
      label: 'result',
      read: ({ deps }) => {
        const { sent, retried, dead } = deps.outbox.stats();
        return { sent, retried, given_up: dead };
      },
    },
  ),
  labelled(
    'counter',
    'castellan_logout_notice_attempts_total',
    'Attempts of this instance to send a logout notice to an application, by their end. `failed`: it is not sent again.',
    {
      label: 'result',
      read: ({ deps }) => {
        const { sent, retried, dead } = deps.noticeWorker.stats();
        return { sent, retried, failed: dead };
      },
    },
  ),
  {
    name: 'castellan_job_runs_total',
    type: 'counter',
    help: 'Runs of periodic jobs in this instance. Each slot runs in one instance.',
    labels: ['job_name', 'result'],
    read: ({ jobs }) =>
      jobs.flatMap(({ name, succeeded, failed }) => [
        { labels: { job_name: name, result: 'succeeded' }, value: succeeded },
        { labels: { job_name: name, result: 'failed' }, value: failed },
      ]),
  },
  labelled(
    'gauge',
    'castellan_job_last_success_timestamp_seconds',
    'When a periodic job last succeeded in this instance. Ask for the maximum over all instances.',
    {
      label: 'job_name',
      read: ({ jobs }) =>
        Object.fromEntries(
          jobs.flatMap(({ name, lastSuccessAt }) => (lastSuccessAt === null ? [] : [[name, lastSuccessAt]])),
        ),
    },
  ),
  single(
    'gauge',
    'castellan_audit_entries_waiting',
    'Audit entries in memory that are not written yet.',
    ({ deps }) => auditStats(deps.auditLog).waiting,
  ),
  single(
    'counter',
    'castellan_audit_entries_lost_total',
    'Audit entries that could not be written. The log names each.',
    ({ deps }) => auditStats(deps.auditLog).lost,
  ),
  single(
    'counter',
    'castellan_audit_sink_entries_total',
    'Audit entries that AUDIT_SINK accepted from this instance. One instance sends at a time.',
    ({ deps }) => deps.sinkWorker?.stats().sent,
  ),
  single(
    'counter',
    'castellan_audit_sink_failures_total',
    'Attempts of this instance that AUDIT_SINK did not accept.',
    ({ deps }) => deps.sinkWorker?.stats().failures,
  ),
  single(
    'gauge',
    'castellan_feed_streams',
    'Streams of the change feed that are open in this instance. With FEED=false, there is no sample.',
    ({ deps }) => deps.feed?.stats().streams,
  ),
  single(
    'gauge',
    'castellan_feed_lag_seconds',
    'How long ago everything that had changed was last known to be read. While nobody reads the feed, there is no sample.',
    ({ deps }) => deps.feed?.stats().lagSeconds,
  ),
  labelled(
    'counter',
    'castellan_feed_resets_total',
    'How often readers of this instance had to forget what they kept: their cursor was too old or unknown (`unknown_cursor`), the database went on from another state (`other_history`), they took too little (`behind`), or the feed was off (`off`).',
    { label: 'reason', read: ({ deps }) => deps.feed?.stats().resets ?? {} },
  ),
];
