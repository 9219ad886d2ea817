// Writes docs/errors.md and docs/audit-actions.md from the contract. With --check it only reports stale pages.
import { readFile, writeFile } from 'node:fs/promises';
import { auditActionCatalogue, boundedActions, failureActions } from '../packages/contract/src/audit.ts';
import { errorCatalogue } from '../packages/contract/src/errors.ts';

const cell = (text: string): string => text.replaceAll('|', '\\|');

const errorRows = Object.entries(errorCatalogue)
  .map(([code, [status, detail]]) => ({ code, status, detail }))
  .sort((a, b) => a.status - b.status || (a.code < b.code ? -1 : 1))
  .map(({ code, status, detail }) => `| ${status} | \`${code}\` | ${cell(detail)} |`);

const failures: ReadonlySet<string> = new Set(failureActions);
const bounded: ReadonlySet<string> = new Set(boundedActions);
const auditRows = Object.entries(auditActionCatalogue).map(
  ([action, { text }]) =>
    `| \`${action}\` | ${failures.has(action) ? 'failure' : 'success'} | ${bounded.has(action) ? '60/minute' : 'all'} | ${cell(text)} |`,
);

const pages: Record<string, string> = {
  'docs/errors.md': `# Error codes

\`\`\`json
{ "detail": "The email or password is wrong.", "code": "invalid_credentials", "request_id": "…" }
\`\`\`

Programs switch on \`code\`. The text below is the default \`detail\`; a response may contain a more specific one. The
[reference](openapi.json) lists the codes of each operation.

Generated from \`packages/contract/src/errors.ts\` by \`npm run gen\`.

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
another user's session is always written.

Generated from \`packages/contract/src/audit.ts\` by \`npm run gen\`.

| Action | \`result\` | Written | Meaning |
|---|---|---|---|
${auditRows.join('\n')}
`,
};

const isCheck = process.argv.includes('--check');
for (const [path, text] of Object.entries(pages)) {
  const file = new URL(`../${path}`, import.meta.url);
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
