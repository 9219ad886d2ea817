// `castellan import roles` and `castellan import groups`: read a file of roles or role groups and write them to the database.
import { importRecords } from '@castellan/server/modules/transfer/service';
import type { Call } from '../command.ts';
import { onOwnConnection } from './long-work.ts';
import { requiredOption, summarize, textOption, typeOption } from './options.ts';
import { createReport, reportToOutput } from './report.ts';
import { openRows } from './source.ts';

export async function importRecordsCommand(call: Call, kind: 'roles' | 'groups'): Promise<void> {
  const from = requiredOption(call, 'from');
  const path = textOption(call, 'report');
  const rows = openRows(from, { type: 'ndjson', key: kind }, typeOption(call));
  await onOwnConnection(call, async (deps) => {
    const report =
      path === undefined ? reportToOutput() : await createReport(path, { import: kind, from, options: '' });
    const began = performance.now();
    try {
      const options = {
        dryRun: call.values['dry-run'] === true,
        createPermissions: call.values['create-permissions'] === true,
        privileged: call.values.privileged === true,
      };
      await report.write(await importRecords(deps, kind, rows, options));
    } finally {
      await report.close();
    }
    summarize(call, report.counts, { report: path, seconds: (performance.now() - began) / 1_000 });
  });
}
