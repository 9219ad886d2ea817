// Tests that lines end at line feeds alone, wherever the chunks end.
import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { linesOf } from './lines.ts';

async function read(chunks: (Buffer | string)[]): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of linesOf(Readable.from(chunks))) lines.push(line);
  return lines;
}

test('a line ends at a line feed, and at no other character', async () => {
  const text = 'a\u2028b\u2029c\u0085d\r\n\ne\rf';
  assert.deepEqual(await read([text]), ['a\u2028b\u2029c\u0085d', '', 'e\rf']);
  assert.deepEqual(await read(['a\n']), ['a']);
  assert.deepEqual(await read([]), []);
});

test('chunks may end within a character or a line end', async () => {
  const bytes = Buffer.from('grün\r\n😀\n');
  for (let at = 0; at <= bytes.length; at += 1)
    assert.deepEqual(await read([bytes.subarray(0, at), bytes.subarray(at)]), ['grün', '😀'], String(at));
});
