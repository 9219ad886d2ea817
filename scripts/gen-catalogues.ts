// Writes docs/errors.md and docs/audit-actions.md from the contract. With --check it only tells whether they are stale.
import { readFile, writeFile } from 'node:fs/promises';
import { auditActionCatalogue, failureActions } from '../packages/contract/src/audit.ts';
import { errorCatalogue } from '../packages/contract/src/errors.ts';

const cell = (text: string): string => text.replaceAll('|', '\\|');

const errorRows = Object.entries(errorCatalogue)
  .map(([code, [status, detail]]) => ({ code, status, detail }))
  .sort((a, b) => a.status - b.status || (a.code < b.code ? -1 : 1))
  .map(({ code, status, detail }) => `| ${status} | \`${code}\` | ${cell(detail)} |`);

const failures: ReadonlySet<string> = new Set(failureActions);
const auditRows = Object.entries(auditActionCatalogue).map(
  ([action, meaning]) =>
    `| \`${action}\` | ${failures.has(action) ? 'failure' : 'success'} | ${cell(meaning)} |`,
);

const pages: Record<string, string> = {
  'docs/errors.md': `# Error codes

Generated from \`packages/contract/src/errors.ts\` by \`npm run gen\`. Programs switch on \`code\`; the sentence is the
default and may be more telling in an answer. Which operation answers which code stands in the [reference](openapi.json).

| Status | Code | Sentence |
|---|---|---|
${errorRows.join('\n')}
`,
  'docs/audit-actions.md': `# Audit actions

Generated from \`packages/contract/src/audit.ts\` by \`npm run gen\`. Entries of changes hold the fields that differ in
\`details.before\` and \`details.after\`; security events have \`resource_type\` \`security_event\`. How to read the log:
[model.md](model.md#the-audit-log).

| Action | \`result\` | Meaning |
|---|---|---|
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
