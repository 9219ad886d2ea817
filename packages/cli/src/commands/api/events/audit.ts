// `castellan audit …`: who did what.
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import type { AuditLogEntry, InputOf } from '@castellan/sdk';
import { type Api, apiOptions, overApi } from '../../../api/connection.ts';
import { userId } from '../../../api/names.ts';
import { type Column, listing, listOptions, tableOf } from '../../../api/output.ts';
import { jsonText, printableChunks, printableLines } from '../../../api/text.ts';
import { type CommandGroup, given, listOf, type Option, optionOf, UsageError } from '../../../command.ts';

type Query = NonNullable<InputOf<'GET /api/v1/audit-logs'>['query']>;

const filterOptions: readonly Option[] = [
  { flags: '--actor <user>', help: 'By this user (email or id), or this service account (id).' },
  {
    flags: '--action <action>',
    help: 'Only this action. Repeatable. docs/audit-actions.md lists them.',
    list: true,
  },
  { flags: '--resource-type <type>', help: 'About this kind of record.' },
  { flags: '--resource <id>', help: 'About the record with this id.' },
  { flags: '--address <address>', help: 'From this IP address or network.' },
  {
    flags: '--routine <exclude>',
    help: 'Leave out refreshes of sessions and sign-ins of service accounts.',
    choices: ['exclude'],
  },
];
const periodOptions: readonly Option[] = [
  { flags: '--from <time>', help: 'Not before this time, such as 2026-11-01T00:00:00Z.' },
  { flags: '--to <time>', help: 'Not after this time.' },
];

async function filterOf(api: Api): Promise<Query> {
  const { call } = api;
  const actor = optionOf(call, 'actor');
  const action = listOf(call, 'action');
  return given({
    actor_id: actor === undefined ? undefined : await userId(api, actor),
    action: action.length === 0 ? undefined : action,
    resource_type: optionOf(call, 'resource-type'),
    resource_id: optionOf(call, 'resource'),
    address: optionOf(call, 'address'),
    routine: optionOf(call, 'routine'),
    from: optionOf(call, 'from'),
    to: optionOf(call, 'to'),
  }) as Query;
}

const columns: readonly Column<AuditLogEntry>[] = [
  ['TIME', ({ timestamp }) => timestamp],
  ['ACTION', ({ action }) => action],
  ['ACTOR', ({ actor_email, actor_name, actor_id }) => actor_email ?? actor_name ?? actor_id],
  [
    'ABOUT',
    ({ resource_type, resource_name, resource_id }) => `${resource_type} ${resource_name ?? resource_id}`,
  ],
];

/** Entries of one moment may be written a little later than others: this much is read again. */
const OVERLAP_MS = 5_000;
const MAX_REMEMBERED = 20_000;

/** Prints new entries, oldest first, until it is stopped. */
async function tail(api: Api): Promise<void> {
  const seconds = Number(optionOf(api.call, 'every') ?? 2);
  if (!(seconds >= 1 && seconds <= 3_600))
    throw new UsageError('--every must be a number of seconds from 1 to 3600.');
  const filter = await filterOf(api);
  const seen = new Set<string>();
  const printRows = api.call.values.json === true ? jsonLines(api) : tableOf(api, columns);
  let from: string | undefined;
  while (!process.stdout.destroyed) {
    const fresh: AuditLogEntry[] = [];
    // At first, one page: what happened lately.
    for await (const { items } of api.client.pages('/api/v1/audit-logs', {
      query: { ...filter, ...given({ from }), size: from === undefined ? 20 : 100 },
    })) {
      fresh.push(...items.filter(({ id }) => !seen.has(id)));
      if (from === undefined) break;
    }
    fresh.reverse();
    for (const { id } of fresh) seen.add(id);
    for (const id of seen) {
      if (seen.size <= MAX_REMEMBERED) break;
      seen.delete(id);
    }
    if (fresh.length > 0) printRows(fresh);
    const last = fresh.at(-1)?.timestamp;
    // The times of the service, not those of this machine.
    if (last !== undefined) from = new Date(Date.parse(last) - OVERLAP_MS).toISOString();
    await wait(seconds * 1_000);
  }
}

const jsonLines =
  ({ call }: Api) =>
  (items: readonly AuditLogEntry[]): void =>
    call.print(items.map((item) => jsonText(item)).join('\n'));

/** Copies the export as the service sends it, as fast as the reader takes it. */
async function exportEntries(api: Api): Promise<void> {
  const isCsv = optionOf(api.call, 'format') === 'csv';
  const bom = api.call.values.bom === true ? true : undefined;
  const evidence = api.call.values.evidence === true ? true : undefined;
  if (bom && !isCsv) throw new UsageError('--bom needs --format csv: NDJSON has no byte order mark.');
  const response = await api.client.get('/api/v1/audit-logs/export', {
    query: { ...(await filterOf(api)), ...given({ bom, evidence }) },
    headers: { accept: isCsv ? 'text/csv' : 'application/x-ndjson' },
    timeoutMs: Number.POSITIVE_INFINITY,
  });
  const body = response.body ?? [];
  for await (const chunk of process.stdout.isTTY ? printableChunks(body) : body) {
    if (process.stdout.destroyed) return;
    if (!process.stdout.write(chunk))
      await Promise.race([once(process.stdout, 'drain'), once(process.stdout, 'close')]);
  }
}

/** Prints the note as it is, so that it can be kept. */
async function printHead(api: Api): Promise<void> {
  const text = optionOf(api.call, 'size');
  const size = text === undefined ? undefined : Number(text);
  if (size !== undefined && !(Number.isSafeInteger(size) && size >= 1))
    throw new UsageError('--size must be a number of seals, 1 or more.');
  const answer = await api.client.get('/api/v1/audit-logs/head', { query: given({ size }) });
  api.call.print(printableLines((await answer.text()).trimEnd()));
}

const verifyOptions: readonly Option[] = [
  { flags: '--export <file>', help: 'An export with evidence.' },
  { flags: '--database', help: 'Read the database of the settings instead.' },
  {
    flags: '--heads <file>',
    help: 'A file of heads that you kept elsewhere. Repeatable. Without one, nothing is shown against the operator.',
    list: true,
  },
  {
    flags: '--key <key>',
    help: 'A key that you trust, from `castellan audit key`. Repeatable. Default: those that the export names.',
    list: true,
  },
  { flags: '--json', help: 'Print the verdict as JSON.' },
];

export const declaration: CommandGroup = {
  commands: {
    list: {
      summary: 'List audit entries, newest first.',
      options: [...filterOptions, ...periodOptions, ...listOptions, ...apiOptions],
      run: listing({
        path: '/api/v1/audit-logs',
        input: async (api) => ({ query: await filterOf(api) }),
        columns,
      }),
    },
    tail: {
      summary: 'Print the latest audit entries, and new ones as they are written.',
      options: [
        ...filterOptions,
        { flags: '--every <seconds>', help: 'How often to look. Default: 2.' },
        ...apiOptions,
      ],
      details: ['With --json, one JSON object a line (NDJSON). Stop it with Ctrl-C.'],
      run: overApi(tail),
    },
    export: {
      summary: 'Write all matching audit entries to standard output.',
      options: [
        ...filterOptions,
        ...periodOptions,
        { flags: '--format <format>', help: 'Default: ndjson.', choices: ['ndjson', 'csv'] },
        {
          flags: '--bom',
          help: 'Begin CSV with a byte order mark, without which some spreadsheets misread UTF-8.',
        },
        {
          flags: '--evidence',
          help: 'The whole log with its seals, for `castellan audit verify --export`. It takes no filter.',
        },
        ...apiOptions.filter(({ flags }) => flags !== '--json'),
      ],
      run: overApi(exportEntries),
    },
    head: {
      summary:
        'Print the signed head of the audit log. Keep it where those who operate the service cannot change it.',
      options: [
        { flags: '--size <seals>', help: 'The head that the log had with so many seals.' },
        ...apiOptions.filter(({ flags }) => flags !== '--json'),
      ],
      details: [
        '`castellan audit head >> heads.txt` every hour makes a file for `castellan audit verify --heads`.',
      ],
      run: overApi(printHead),
    },
    key: {
      summary: 'Show the keys that sign the heads of the audit log, or replace the one that signs.',
      options: [
        {
          flags: '--rotate',
          help: 'Make a new key. A seal of the log says so, and the head with it is signed by both keys.',
        },
      ],
      details: ['Runs on the machine of the service, on its database.'],
      run: async (call) => (await import('../../../local/audit-key.ts')).auditKey(call),
    },
    verify: {
      summary: 'Verify that the audit log is what was sealed: an export, or the database.',
      options: verifyOptions,
      details: [
        'It needs no service. Exit code 0: whole. 1: altered, and where. 2: wrong use, or nothing that can be read. 3: nothing is altered, but seals were lost, entries wait for their seal, no head was given, or nothing was ever sealed. See docs/evidence.md.',
      ],
      run: async (call) => (await import('../../../evidence/verify-log.ts')).verifyLog(call),
    },
  },
};
