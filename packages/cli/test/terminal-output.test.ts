// What exports write to a terminal, which obeys control characters, and to a program, which gets the bytes as they are.
import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import { printableChunks } from '../src/api/text.ts';
import { writeToOutput } from '../src/import/export.ts';

/** Returns an output and what it has got. */
function outputOf(isTTY: boolean) {
  const got: string[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      got.push(chunk.toString());
      done();
    },
  });
  return { output: Object.assign(stream, { isTTY }), got };
}

const lines = '{"name":"a\u009b31m\u202eb\u2028"}\n{"name":"Zoë"}\n';

test('an export of records to a terminal escapes what the terminal would obey; a file and a pipe get the lines', async () => {
  const terminal = outputOf(true);
  await writeToOutput(lines, terminal.output);
  assert.equal(terminal.got.join(''), '{"name":"a\\u009b31m\\u202eb\\u2028"}\n{"name":"Zoë"}\n');
  const pipe = outputOf(false);
  await writeToOutput(lines, pipe.output);
  assert.equal(pipe.got.join(''), lines);
});

test('an export that arrives in pieces is escaped, wherever a piece ends', async () => {
  const bytes = Buffer.from('name,note\r\n"Zoë\u009b31m","a\rb"\r\n');
  for (let at = 0; at <= bytes.length; at += 1) {
    let shown = '';
    for await (const part of printableChunks([bytes.subarray(0, at), bytes.subarray(at)])) shown += part;
    assert.equal(shown, 'name,note\n"Zoë\\u009b31m","a\\u000db"\n', String(at));
  }
});
