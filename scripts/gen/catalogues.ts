// Writes docs/errors.md and docs/audit-actions.md from the contract, and docs/metrics.md from the definitions of metrics.
// With --check it only reports stale pages.
import { readFile, writeFile } from 'node:fs/promises';
import type { Members } from '../../packages/contract/src/audit/members.ts';
import {
  auditActionCatalogue,
  auditActions,
  boundedActions,
  failureActions,
  routineActions,
} from '../../packages/contract/src/audit.ts';
import { versionOf } from '../../packages/contract/src/events/catalogue.ts';
import { marksIn } from '../../packages/contract/src/events/personal.ts';
import { errorCatalogue } from '../../packages/contract/src/http/errors.ts';
import { definitions } from '../../packages/server/src/metrics/definitions.ts';

const cell = (text: string): string => text.replaceAll('|', '\\|');

const errorRows = Object.entries(errorCatalogue)
  .map(([code, [status, detail]]) => ({ code, status, detail }))
  .sort((a, b) => a.status - b.status || (a.code < b.code ? -1 : 1))
  .map(({ code, status, detail }) => `| ${status} | \`${code}\` | ${cell(detail)} |`);

const failures: ReadonlySet<string> = new Set(failureActions);
const bounded: ReadonlySet<string> = new Set(boundedActions);
const routine: ReadonlySet<string> = new Set(routineActions);
/** Personal ones in italics, those of `before` and `after` too. */
const memberNames = (details: Members): string =>
  [
    ...new Set(
      marksIn(details)
        .filter(([name, mark]) => mark !== null || name in details)
        .map(([name, mark]) => (mark === null ? `\`${name}\`` : `*\`${name}\`*`)),
    ),
  ].join(', ');
const auditRows = auditActions.map((action) => {
  const { text, details } = auditActionCatalogue[action];
  return `| \`${action}\` | ${failures.has(action) ? 'failure' : 'success'} | ${bounded.has(action) ? '60/minute' : 'all'} | ${routine.has(action) ? 'yes' : ''} | ${versionOf(action)} | ${memberNames(details)} | ${cell(text)} |`;
});

const metricRows = definitions.map(
  ({ name, type, labels = [], help }) =>
    `| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(', ')} | ${cell(help)} |`,
);

const pages: Record<string, string> = {
  'docs/errors.md': `# Error codes

\`\`\`json
{ "detail": "The email or password is wrong.", "code": "invalid_credentials", "request_id": "…" }
\`\`\`

Programs switch on \`code\`. The text below is the default \`detail\`; a response may contain a more specific one. The
[reference](openapi.json) lists the codes of each operation.

Generated from \`packages/contract/src/http/errors.ts\` by \`npm run gen\`.

| Status | Code | Default \`detail\` |
|---|---|---|
${errorRows.join('\n')}
`,
  'docs/audit-actions.md': `# Audit actions

\`\`\`sh
curl -s "$API/audit-logs?action=login_failed" -H "Authorization: Bearer $TOKEN"
\`\`\`

[Read the audit log](administer/audit-log.md) describes how to query it. Entries about changes contain the changed fields
in \`details.before\` and \`details.after\`. Security events have the \`resource_type\` \`security_event\`.

If one user repeats an action marked *60/minute*, 60 entries a minute are written. Without a user, the limit applies to the
email; without an email, to the network. An entry with \`details.more_left_out\` stands for that many more. The end of
another user's session is always written. \`routine=exclude\` leaves out the routine ones.

*Members* are those of \`details\`, personal data in italics, that in \`before\` and \`after\` too: an
[erasure](administer/leaving.md) replaces it. Every entry of a
request also has *\`address\`* and \`request_id\`; one of a program has \`key_id\` or \`token_id\`. A member that is added leaves the
version of an action; another meaning is a new version.

Generated from \`packages/contract/src/audit\` by \`npm run gen\`.

| Action | \`result\` | Written | Routine | Version | Members | Meaning |
|---|---|---|---|---|---|---|
${auditRows.join('\n')}
`,
  'docs/metrics.md': `# Metrics

\`\`\`sh
METRICS_ADDRESS=127.0.0.1:9464 castellan serve
curl -s http://127.0.0.1:9464/metrics
\`\`\`

[Monitor and restart](operate/monitor.md#scrape-metrics) describes how to scrape them, and the dashboard and the alerts that
come with them. Names of units end with \`_seconds\`, those of counters with \`_total\`. No label contains anything that a
client sent. Besides these, there are the metrics of the process that
[prom-client](https://github.com/siimon/prom-client#default-metrics) adds: processor time, memory, file descriptors, garbage
collection, and the delay of the event loop (\`nodejs_eventloop_lag_p99_seconds\`).

Each instance counts for itself since its start, and so does each of its workers, if it has several: then every sample has
the label \`worker\`. Those of the whole database are the same in each instance: use \`max\`, not
\`sum\`, for \`castellan_users\`, \`castellan_sessions_live\` and \`castellan_mails_waiting\`.

Generated from \`packages/server/src/metrics\` by \`npm run gen\`.

| Metric | Type | Labels | Meaning |
|---|---|---|---|
${metricRows.join('\n')}
`,
};

const isCheck = process.argv.includes('--check');
for (const [path, text] of Object.entries(pages)) {
  const file = new URL(`../../${path}`, import.meta.url);
  const present = await readFile(file, 'utf8').catch(() => '');
  if (present === text) continue;
  if (isCheck) {
    process.stderr.write(`${path} is stale: run npm run gen\n`);
    process.exitCode = 1;
  } else {
    await writeFile(file, text);
    process.stdout.write(`wrote ${path}\n`);
  }
}
