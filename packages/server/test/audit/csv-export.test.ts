// The export of the audit log as CSV: chosen by Accept, readable by any reader of RFC 4180, harmless in a spreadsheet.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { AuditLogEntry } from '@castellan/contract/audit';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { assertRefused } from '@castellan/testing/http/fixture';

const service = await startTestService({ after }, { CORS_ORIGINS: 'https://app.example.com' });
const admin = await signIn(service, ADMIN);
const EXPORT = '/api/v1/audit-logs/export';

const exported = (query: string, accept: string | null) =>
  admin.get(`${EXPORT}?${query}`, { headers: { accept } });

/** Reads CSV by the grammar of RFC 4180. Throws for anything that the grammar does not allow. */
function readCsv(text: string): string[][] {
  const records: string[][] = [];
  let record: string[] = [];
  const field = /"((?:[^"]|"")*)"(,|\r\n)|([^",\r\n]*)(,|\r\n)/y;
  while (field.lastIndex < text.length) {
    const at = field.lastIndex;
    const found = field.exec(text);
    assert.ok(found, `no CSV at ${at}: ${JSON.stringify(text.slice(at, at + 40))}`);
    const [, quoted, afterQuoted, plain, afterPlain] = found;
    record.push(quoted === undefined ? (plain ?? '') : quoted.replaceAll('""', '"'));
    if ((afterQuoted ?? afterPlain) === ',') continue;
    records.push(record);
    record = [];
  }
  assert.deepEqual(record, [], 'the last record has a line end');
  return records;
}

async function addEntry(kind: string, fields: { name?: string | null; resource?: string; details?: object }) {
  await service.sql(
    `insert into audit_logs (id, action, resource_type, resource_id, resource_name, details)
     values (gen_random_uuid(), 'role_created', $1, $2, $3, $4)`,
    [kind, fields.resource ?? '', fields.name ?? null, JSON.stringify(fields.details ?? {})],
  );
}

const lineBreaks = `one\u0085two\u2028three\r\nfour "five", six`;

test('the rows are the entries of the NDJSON export, with details as JSON and an empty cell for null', async () => {
  await addEntry('rows', { name: null, details: { text: lineBreaks } });
  await addEntry('rows', {
    name: 'Editor',
    resource: 'r1',
    details: { before: null, after: { name: 'Editor' } },
  });
  const csv = await exported('resource_type=rows', 'text/csv');
  assert.equal(csv.status, 200, csv.text);
  assert.match(csv.headers.get('content-type') ?? '', /^text\/csv; charset=utf-8/);
  assert.equal(csv.headers.get('content-disposition'), 'attachment; filename="audit-log.csv"');
  const [columns = [], ...rows] = readCsv(csv.text);
  assert.deepEqual(columns, Object.keys(AuditLogEntry.properties));
  const lines = (await exported('resource_type=rows', null)).text.trimEnd().split('\n');
  assert.equal(rows.length, 2);
  assert.deepEqual(
    rows.map((row) =>
      Object.fromEntries(
        columns.map((name, index) => {
          const cell = row[index] ?? '';
          return [name, name === 'details' ? JSON.parse(cell) : cell === '' ? null : cell];
        }),
      ),
    ),
    lines.map((line) => {
      const { resource_id, ...entry } = JSON.parse(line);
      return { acted_by_id: null, ...entry, resource_id: resource_id === '' ? null : resource_id };
    }),
  );
  assert.doesNotMatch(csv.text, /[\u0085\u2028]/, 'no line ends that only some readers know');
});

test('a cell that a spreadsheet would run is led by an apostrophe', async () => {
  const names = ['=HYPERLINK("http://x")', '+1', '-1', '@x', '\tx', '\rx', 'plain', "'quoted"];
  for (const name of names) await addEntry('formulas', { name, resource: name });
  const [columns = [], ...rows] = readCsv((await exported('resource_type=formulas', 'text/csv')).text);
  const cells = (column: string) => rows.map((row) => row[columns.indexOf(column)]).reverse();
  const expected = names.map((name) => (/^[a-z']/.test(name) ? name : `'${name}`));
  assert.deepEqual(cells('resource_name'), expected);
  assert.deepEqual(cells('resource_id'), expected);
});

test('Accept is weighed, NDJSON is the default, and caches keep the two apart', async () => {
  const csv = /^text\/csv/;
  const ndjson = /^application\/x-ndjson/;
  for (const [accept, type] of [
    [null, ndjson],
    ['*/*', ndjson],
    ['application/json', ndjson],
    ['application/x-ndjson, text/csv', ndjson],
    ['text/csv;q=0.5, application/x-ndjson', ndjson],
    ['text/csv;q=0', ndjson],
    ['text/csv', csv],
    ['TEXT/CSV;header=present', csv],
    ['text/csv, */*;q=0.8', csv],
    ['text/*', csv],
    ['application/x-ndjson;q=0.1, text/csv;q=0.2', csv],
  ] as const) {
    const answer = await exported('resource_type=none', accept);
    assert.equal(answer.status, 200);
    assert.match(answer.headers.get('content-type') ?? '', type, `Accept: ${accept}`);
    assert.equal(answer.headers.get('vary'), 'origin, accept');
  }
});

test('an export without entries has the header row only, and a refusal is no CSV', async () => {
  const empty = await exported('resource_type=none', 'text/csv');
  assert.equal(empty.text, `${Object.keys(AuditLogEntry.properties).join(',')}\r\n`);
  const refused = await exported('from=never', 'text/csv');
  assertRefused(refused, 422, 'validation_failed');
  assert.match(refused.headers.get('content-type') ?? '', /json/);
  assert.equal(refused.headers.get('content-disposition'), null);
});

test('the header row comes once, also in an export of several batches', async () => {
  await service.sql(
    `insert into audit_logs (id, action, resource_type)
     select gen_random_uuid(), 'role_created', 'many' from generate_series(1, 450)`,
  );
  const rows = readCsv((await exported('resource_type=many', 'text/csv')).text);
  assert.equal(rows.length, 451);
  assert.equal(rows.filter(([first]) => first === 'id').length, 1);
});
