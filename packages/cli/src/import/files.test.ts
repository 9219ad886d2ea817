// The readers of files: however the text is cut into pieces, each record is one row, and no fault shows its text.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { UsageError } from '../command.ts';
import { readCsv } from './csv.ts';
import { readJsonList } from './json-list.ts';
import { mapped, readMapping } from './mapping.ts';
import { readNdjson } from './ndjson.ts';
import { valueAt } from './rows.ts';

/** Yields the text in pieces of this many characters. */
async function* inPieces(text: string, size: number): AsyncGenerator<string> {
  for (let at = 0; at < text.length; at += size) yield text.slice(at, at + size);
}

async function all(rows: AsyncIterable<unknown>): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const row of rows) found.push(row);
  return found;
}

/** Reads the text in pieces of several sizes, which must make no difference. */
async function everyPiece(text: string, read: (texts: AsyncIterable<string>) => AsyncIterable<unknown>) {
  const results = [];
  for (const size of [1, 2, 7, text.length]) results.push(await all(read(inPieces(text, size))));
  for (const result of results) assert.deepEqual(result, results[0]);
  return results[0];
}

describe('NDJSON', () => {
  test('a row for each line; broken ones are faults', async () => {
    const text = '{"a":1}\r\n\n{"a":"secret\n[1]\nnull\n{"a":2}';
    assert.deepEqual(await everyPiece(text, readNdjson), [
      { row: 1, value: { a: 1 } },
      { row: 2, fault: { field: '', code: 'unreadable', message: 'is not JSON' } },
      { row: 3, fault: { field: '', code: 'unreadable', message: 'is not a JSON object' } },
      { row: 4, fault: { field: '', code: 'unreadable', message: 'is not a JSON object' } },
      { row: 5, value: { a: 2 } },
    ]);
  });

  test('a line without an end is refused', async () => {
    await assert.rejects(all(readNdjson(inPieces('x'.repeat(1_000_002), 65_536))), /not NDJSON/);
  });
});

describe('JSON lists', () => {
  const users = (texts: AsyncIterable<string>) => readJsonList(texts, 'users');

  test('a list as the whole file', async () => {
    assert.deepEqual(await everyPiece('[ {"a":[{"b":"]}"}]}, {"a":{}} ]', users), [
      { row: 1, value: { a: [{ b: ']}' }] } },
      { row: 2, value: { a: {} } },
    ]);
  });

  test('a list under its name, and no other list', async () => {
    const text =
      '{"x":[{"n":1}],"say":"\\"users\\": [{","o":{"users":[{"n":2}]},"users":[{"users":[{"n":3}]}],"y":[{"n":4}]}';
    assert.deepEqual(await everyPiece(text, users), [{ row: 1, value: { users: [{ n: 3 }] } }]);
  });

  test('documents that follow each other', async () => {
    assert.deepEqual(await everyPiece('{"users":[{"n":1}]}\n{"users":[{"n":2}]}\n', users), [
      { row: 1, value: { n: 1 } },
      { row: 2, value: { n: 2 } },
    ]);
  });

  test('a broken object stops no other', async () => {
    assert.deepEqual(await everyPiece('[{"n":1},{n:2},{"n":3}]', users), [
      { row: 1, value: { n: 1 } },
      { row: 2, fault: { field: '', code: 'unreadable', message: 'is not JSON' } },
      { row: 3, value: { n: 3 } },
    ]);
  });

  test('a file that is cut off is refused', async () => {
    for (const text of ['[{"n":1}', '[{"n":1},{"n"', '{"users":[{"n":"'])
      await assert.rejects(all(users(inPieces(text, 3))), /cut off/);
  });

  test('a file without the list is refused', async () => {
    for (const text of ['{"people":[{"n":1}]}', '{"a":{"users":[{}]}}', ''])
      await assert.rejects(all(users(inPieces(text, 3))), /is no list and has none under "users"/);
  });

  test('an endless object is refused', async () => {
    const text = `[{"a":"${'x'.repeat(1_000_001)}`;
    await assert.rejects(all(users(inPieces(text, 65_536))), /more than 1000000/);
  });
});

describe('CSV', () => {
  test('quotes, line breaks, a byte order mark, and rows of another length', async () => {
    const text = '\ufeffa,b\r\n1,"x, ""y""\nz"\r\n2\r\n3,4,5\r\n,\r\n';
    assert.deepEqual(await everyPiece(text, readCsv), [
      { row: 1, value: { a: '1', b: 'x, "y"\nz' } },
      { row: 2, fault: { field: '', code: 'unreadable', message: 'has 1 cells, and the header has 2' } },
      { row: 3, fault: { field: '', code: 'unreadable', message: 'has 3 cells, and the header has 2' } },
      { row: 4, value: { a: '', b: '' } },
    ]);
  });

  test('two columns of one name are refused', async () => {
    await assert.rejects(all(readCsv(inPieces('a,b,a\n1,2,3\n', 3))), /two columns "a"/);
  });

  test('a file without a header is refused, and its first row is not shown', async () => {
    for (const first of ['ada@example.com,Ada', 'x,$2b$10$N9qo8uLOickgx2ZMRZoMye'])
      await assert.rejects(all(readCsv(inPieces(`${first}\nbob@example.com,Bob\n`, 5))), (error: Error) => {
        assert.match(error.message, /^the first line of the CSV has data/);
        return !error.message.includes('ada') && !error.message.includes('$2b');
      });
  });

  test('an error of the source is that of the rows', async () => {
    async function* failing(): AsyncGenerator<string> {
      yield 'a\n1\n';
      throw new Error('the disk is gone');
    }
    await assert.rejects(all(readCsv(failing())), /the disk is gone/);
  });

  test('a quote that nothing closes is refused without its text', async () => {
    await assert.rejects(all(readCsv(inPieces('a\n1\n"secret', 4))), (error: Error) => {
      assert.match(error.message, /broken after row \d \(CSV_QUOTE_NOT_CLOSED\)/);
      assert.doesNotMatch(error.message, /secret/);
      return true;
    });
  });
});

describe('--map', () => {
  const fields = ['email', 'name', 'verified'];

  test('takes fields from columns and nested objects, and the others from the format', () => {
    const reader = mapped(readMapping('email=fields.mail, verified=at', fields), () => ({
      name: 'Ada',
      email: 'x',
    }));
    assert.deepEqual(reader({ fields: { mail: 'ada@example.com' } }), {
      name: 'Ada',
      email: 'ada@example.com',
      verified: null,
    });
  });

  test('a name may contain dots', () => {
    assert.equal(valueAt({ 'a.b': { c: 1 }, a: { 'b.c': 2 } }, 'a.b.c'), 2);
    assert.equal(valueAt({ 'a.b': { c: 1 } }, 'a.b.c'), 1);
    assert.equal(valueAt({ a: 1 }, 'a.b'), undefined);
    assert.equal(valueAt({}, 'constructor.name'), undefined);
  });

  for (const text of ['email', 'email=', '=mail', 'phone=p', 'email=a,email=b', 'email=a=b'])
    test(`"${text}" is refused`, () => assert.throws(() => readMapping(text, fields), UsageError));
});
